import { expect, test } from 'vitest'
import type { Config } from '../../../src/daemon/config/config.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'

function parsed(...serve: readonly string[]): Config['serve'] | string[] {
  const lines = [
    'sources: [{ id: a, url: https://git.example.com/a.git }]',
    'serve:',
    ...serve.map((line) => `  ${line}`),
  ]
  const config = parseConfig(lines.join('\n'), 'skillsyncd.yaml', environmentOf({}, '/home/ada'))
  return Array.isArray(config) ? config.map(({ key, message }) => `${key}: ${message}`) : config.serve
}

test.each(['https://login.example.com', 'http://127.0.0.1:8080/realms/x', 'http://[::1]:8080', 'http://localhost'])(
  'an issuer of tokens is asked over https, or on this machine: %s',
  (issuer) => {
    expect(parsed(`oauth: { issuer: '${issuer}' }`)).toMatchObject({
      oauth: { issuer, audience: undefined, scopes: [] },
    })
  },
)

test.each([
  ['http://login.example.com', 'must be an https address, unless it is on this machine'],
  ['http://127.0.0.1.example.com', 'must be an https address, unless it is on this machine'],
  ['https://login.example.com/?tenant=a', 'must not have a query or a fragment'],
  ['https://login.example.com:99999', 'has a port that is not a number up to 65535'],
  ['https://login example.com', 'has a space in its host'],
  ['ftp://login.example.com', 'must be an http(s) address without a user name or a password'],
])('an issuer is refused whose keys could be changed on their way, or that can be none: %s', (issuer, why) => {
  expect(parsed(`oauth: { issuer: '${issuer}' }`)).toEqual([`serve.oauth.issuer: ${why}`])
})

test('a scope that could not stand in a header is refused', () => {
  expect(parsed("oauth: { issuer: 'https://a.example', scopes: ['a\"b'] }")).toEqual([
    'serve.oauth.scopes[0]: must be a scope: without spaces, quotes and backslashes',
  ])
})

test('the page is a client of the issuer that asks for what opens the page, or for the scopes of the configuration', () => {
  const http = "http: { public_url: 'https://skills.example.com' }"
  const issuer = "issuer: 'https://login.example.com'"

  const usual = parsed(http, `oauth: { ${issuer}, page: { client_id: skills } }`)
  const own = parsed(http, `oauth: { ${issuer}, scopes: [skills.read], page: { client_id: skills } }`)
  const said = parsed(
    http,
    `oauth: { ${issuer}, page: { client_id: skills, scopes: ['api://hub/read'], session: 8h } }`,
  )

  const client = { clientId: 'skills', clientSecret: undefined, scopes: ['page'], sessionMs: undefined }
  expect(usual).toMatchObject({ oauth: { page: client } })
  expect(own).toMatchObject({ oauth: { page: { ...client, scopes: ['skills.read'] } } })
  expect(said).toMatchObject({ oauth: { page: { ...client, scopes: ['api://hub/read'], sessionMs: 28_800_000 } } })
})

test.each([
  [undefined, 'serve.oauth.page: needs `serve.http.public_url`, below which the issuer sends people back'],
  [
    'http://skills.example.com',
    'serve.http.public_url: must be an https address beside `serve.oauth.page`, unless it is on this machine',
  ],
  [
    'https://skills.example.com/?a=b',
    'serve.http.public_url: must not have a query or a fragment beside `serve.oauth.page`',
  ],
])('sign-in is refused without an address that is safe to send a person back to: %s', (publicUrl, why) => {
  const http = publicUrl === undefined ? [] : [`http: { public_url: '${publicUrl}' }`]

  expect(parsed(...http, "oauth: { issuer: 'https://a.example', page: { client_id: skills } }")).toEqual([why])
})

test('sign-in to a page that is not served, or is public, is refused, and so are a secret in the file and a session of a day', () => {
  const start = "http: { public_url: 'http://127.0.0.1:8741' }"
  const oauth = (page: string): string => `oauth: { issuer: 'https://a.example', page: { client_id: a${page} } }`

  expect(parsed(start, oauth(''))).toMatchObject({ oauth: { page: { clientId: 'a' } } })
  expect(parsed(start, 'forms: [default, -page]', oauth(''))).toEqual([
    'serve.oauth.page: is for the page, which `serve.forms` leaves out; change one of the two',
  ])
  expect(parsed(start, 'public: [well-known, page]', oauth(''))).toEqual([
    'serve.oauth.page: is for the page, which `serve.public` shows to all; remove one of the two',
  ])
  expect(parsed(start, 'public: [well-known]', oauth(''))).toMatchObject({ oauth: { page: { clientId: 'a' } } })
  expect(parsed(start, oauth(', client_secret: hunter2'))).toEqual([
    expect.stringMatching(/^serve\.oauth\.page\.client_secret: a secret must not be written here/),
  ])
  expect(parsed(start, oauth(', session: 24h'))).toEqual(['serve.oauth.page.session: must be 12h at most'])
})

test('the list of forms is what is served, and default stands for the usual ones', () => {
  const formsOf = (list: string): unknown => {
    const serve = parsed(list === '' ? 'ttl: 1m' : `forms: ${list}`)
    return Array.isArray(serve) ? serve : [...serve.forms]
  }
  const usual = ['tools', 'search', 'paths', 'prompts', 'index', 'contract', 'page', 'well-known', 'metrics']

  expect(formsOf('')).toEqual(usual)
  expect(formsOf('[default]')).toEqual(usual)
  expect(formsOf('[]')).toEqual([])
  expect(formsOf('[tools, archives]')).toEqual(['tools', 'archives'])
  expect(formsOf('[default, archives, -page]')).toEqual([...usual.filter((form) => form !== 'page'), 'archives'])
  expect(formsOf('[-metrics, -page, default]')).toEqual([...usual.slice(0, 6), 'well-known'])
  expect(formsOf('[default, -tools]')).toEqual(usual.filter((form) => form !== 'tools' && form !== 'paths'))
  expect(formsOf('[default, -tools, -page]')).toEqual(['prompts', 'index', 'contract', 'well-known', 'metrics'])
  expect(formsOf('[page, search, skill-prompts, paths]')).toEqual(['search', 'paths', 'page', 'skill-prompts'])
  expect(parsed('forms: [default]')).toMatchObject({ needsMetrics: false })
  expect(parsed('forms: [tools, metrics]')).toMatchObject({ needsMetrics: true })
})

test.each([
  ['[default, well_known]', 'serve.forms[1]: is not a form; did you mean `well-known`?'],
  ['[default, -pages]', 'serve.forms[1]: is not a form; did you mean `-page`?'],
  ['[defaults]', 'serve.forms[0]: is not a form; did you mean `default`?'],
  ['[default, 7]', expect.stringMatching(/^serve\.forms\[1\]: must be default, or of tools, .*, such as -page$/)],
  ['[default, [page]]', 'serve.forms[1]: is not a form; did you mean `page`?'],
  ["['']", 'serve.forms[0]: names no form'],
  ['[default, -files]', 'serve.forms[1]: takes away what `default` does not have; leave it out'],
  [
    '[-default, tools]',
    'serve.forms[0]: takes nothing away: leave `default` out, or take away each form, such as -page',
  ],
  ['[search, prompts]', 'serve.forms[0]: needs `tools` or `page` in the list'],
  ['[default, paths, -tools]', 'serve.forms[1]: needs `tools` or `skill-prompts` in the list'],
  ['[index-templates]', 'serve.forms[0]: needs `index` in the list'],
  ['[default, -index, index-templates]', 'serve.forms[2]: needs `index` in the list'],
  [
    '[-page]',
    'serve.forms[0]: takes away what `default` has; write [default, -page], or the list of all forms that you want',
  ],
  ['[default, page, -page]', 'serve.forms[2]: takes away what the list names; keep one of the two'],
  ['{ page: false }', 'serve.forms: must be a list, with a dash and a space before each entry'],
])('a list of forms with a wrong word says the right one: %s', (list, why) => {
  expect(parsed(`forms: ${list}`)).toEqual([why])
})
