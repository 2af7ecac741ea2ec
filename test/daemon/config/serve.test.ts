import { expect, test } from 'vitest'
import { parseConfig } from '../../../src/daemon/config/config.ts'
import type { Config } from '../../../src/daemon/config/config.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'

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
  ['ftp://login.example.com', 'must be an http(s) address without a user name or a password'],
])('an issuer is refused whose keys could be changed on their way, or that can be none: %s', (issuer, why) => {
  expect(parsed(`oauth: { issuer: '${issuer}' }`)).toEqual([`serve.oauth.issuer: ${why}`])
})

test('a scope that could not stand in a header is refused', () => {
  expect(parsed("oauth: { issuer: 'https://a.example', scopes: ['a\"b'] }")).toEqual([
    'serve.oauth.scopes[0]: must be a scope: without spaces, quotes and backslashes',
  ])
})
