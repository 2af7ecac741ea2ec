import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parse as parseYaml, stringify } from 'yaml'
import { sourceIdFor } from '../../../src/daemon/config/command-line-config.ts'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { findConfig } from '../../../src/daemon/config/find-config.ts'
import { ConfigError, type ConfigDiagnostic } from '../../../src/daemon/config/rules/config-error.ts'
import type { WholeConfig } from '../../../src/daemon/configuration.ts'
import { configOfSources, parseConfig, readConfig } from '../../../src/daemon/configuration.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const ENVIRONMENT = environmentOf({}, '/home/ada')
const EXAMPLE = fileURLToPath(new URL('../../../config/skillsyncd.yaml', import.meta.url))

function parse(text: string): WholeConfig {
  const config = parseConfig(text, '/etc/skillsyncd/skillsyncd.yaml', ENVIRONMENT)
  if (Array.isArray(config)) throw new Error(config.map(({ key, message }) => `${key}: ${message}`).join('\n'))
  return config
}

/** The problems, as `line:column key: message`. */
function problems(text: string): string[] {
  const config = parseConfig(text, 'skillsyncd.yaml', ENVIRONMENT)
  if (!Array.isArray(config)) throw new Error('The configuration was taken')
  return config.map(({ line, column, key, message }) => `${line}:${column} ${key}: ${message}`)
}

test('a source needs an id and an address; all else has the defaults of the design', () => {
  const config = parse('sources: [{ id: team, url: https://git.example.com/skills.git }]')

  expect(config.sources).toEqual([
    {
      source: {
        kind: 'git',
        id: 'team',
        url: 'https://git.example.com/skills.git',
        backend: 'auto',
        ref: undefined,
        update: 'auto',
        brakes: 'hold',
        root: '',
        include: ['**'],
        exclude: [],
        unlisted: [],
        names: 'remap',
        nested: 'as-skills',
        onBroken: 'keep',
        lfs: 'leave-out',
        hiddenUnicode: 'deceptive',
        contract: 'offer',
        docs: undefined,
        marketplace: false,
        schedule: { kind: 'every', periodMs: 300_000 },
      },
      access: { kind: 'none' },
      signed: undefined,
      required: false,
      maxAgeMs: undefined,
      ca: undefined,
      proxy: { kind: 'variables' },
    },
  ])
  expect(config.serve).toEqual({
    http: { host: '127.0.0.1', port: 8741, allowedHosts: [], allowedOrigins: [], trustedProxies: [] },
    web: { wellKnown: true, page: { title: 'Agent Skills' }, open: new Set() },
    oauth: undefined,
    ttlMs: 60_000,
    instructions: undefined,
    forms: new Set(['tools', 'search', 'paths', 'prompts', 'index', 'contract', 'page', 'well-known', 'metrics']),
    archives: [],
    needsMetrics: false,
    templates: [],
    toolWaitMs: 2_000,
  })
  expect(config.state).toBe('/home/ada/.local/state/skillsyncd')
  expect(config.retention).toEqual({ generations: 3, youngerThanMs: 86_400_000, bytes: 2 ** 33 })
  expect(config.limits.fetches).toEqual({ concurrency: 4, perHost: 2 })
  expect(config.limits.fetch).toMatchObject({ connectMs: 10_000, idleMs: 30_000, totalMs: 600_000, packBytes: 2 ** 31 })
  expect(config.limits.http).toMatchObject({ bodyBytes: 2 ** 20, connections: 10_000, sessionIdleMs: 2_592_000_000 })
})

test.each([
  [
    '{ id: crew, include: [{ tag: pdf }] }, { id: crew, include: [{ name: a }] }',
    'packs[1].id: is also the id of packs[0]',
  ],
  ['{ id: Our Crew, include: [{ tag: pdf }] }', 'packs[0].id: must '],
  ['{ id: crew, include: [] }', 'packs[0].include: must not be empty'],
  ['{ id: crew }', 'packs[0].include: is missing'],
  ['{ id: crew, include: [{ tags: pdf }] }', 'packs[0].include[0].tags: '],
  ['{ id: crew, include: [{ tag: }] }', 'packs[0].include[0].tag: is empty'],
])(
  'a pack that nobody could ask for, or that holds nothing by mistake, is refused with its place: %s',
  (packs, why) => {
    const found = problems(`sources: [{ id: team, url: https://git.example.com/skills.git }]\npacks: [${packs}]`)

    expect(found).toEqual([expect.stringMatching(/^2:\d+ /)])
    expect(found[0]).toContain(why)
  },
)

test.each([
  ['', '{ plugin: x }', 'include'],
  ['marketplace: false', '{ source: team, plugin: x }', 'include'],
  ['marketplace: true', '{ source: other, plugin: x }', 'include'],
  ['marketplace: true, enabled: false', '{ plugin: x }', 'include'],
  ['', '{ plugin: x }', 'exclude'],
])('a choice by plugin needs a source whose marketplace is read: {%s}, %s of %s', (keys, choice, list) => {
  const packs = list === 'include' ? `include: [${choice}]` : `include: [{}], exclude: [${choice}]`
  const of = (source: string) =>
    `sources: [{ id: team, url: https://x.example/y, ${source} }, { id: b, url: https://y.example/y }]\npacks: [{ id: p, ${packs.replace('other', 'b')} }]`

  expect(problems(of(keys))).toEqual([
    expect.stringContaining(`packs[0].${list}[0].plugin: needs a source with \`marketplace: true\``),
  ])
})

test.each(['marketplace: true }]', '}]\ndefaults: [{ match: https://x.example/, marketplace: true }]'])(
  'a source has its marketplace read by its own key or by the defaults: %s',
  (rest) => {
    const config = parse(
      `packs: [{ id: p, include: [{ plugin: x }] }]\nsources: [{ id: team, url: https://x.example/y, ${rest}`,
    )

    expect(config.sources[0]?.source.marketplace).toBe(true)
  },
)

test('a server has no marketplace, whatever the defaults say', () => {
  const defaults = 'defaults: [{ match: https://x.example/, marketplace: true }]'

  expect(parse(`sources: [{ id: a, mcp: https://x.example/mcp }]\n${defaults}`).sources[0]?.source.marketplace).toBe(
    false,
  )
  expect(problems('sources: [{ id: a, mcp: https://x.example/mcp, marketplace: true }]')).toEqual([
    expect.stringContaining('marketplace: goes with `url` and `path` alone'),
  ])
})

test('a pack has what is said of it, and excludes nothing if nothing else is said', () => {
  const config = parse(`
sources: [{ id: team, url: https://git.example.com/skills.git }]
packs:
  - { id: crew, description: For the crew, include: [{ source: t*, tag: pdf }, { path: a/**, name: b }] }`)

  expect(config.packs).toEqual([
    {
      id: 'crew',
      description: 'For the crew',
      include: [
        { source: 't*', tag: 'pdf' },
        { path: 'a/**', name: 'b' },
      ],
      exclude: [],
    },
  ])
})

test('a folder that the daemon keeps is that of an agent, or the one at a path', () => {
  const source = 'sources: [{ id: team, url: https://git.example.com/skills.git }]\n'

  const config = parse(`${source}links: [codex, { agent: cursor, copy: true }, { to: ~/host }, { to: skills }]`)

  expect(parse(source).links).toEqual([])
  expect(config.links).toEqual([
    { agent: 'codex', copies: false },
    { agent: 'cursor', copies: true },
    { to: '/home/ada/host', copies: false },
    { to: '/etc/skillsyncd/skills', copies: false },
  ])
})

test.each([
  'emacs',
  '{ agent: emacs }',
  '{ copy: true }',
  '{ agent: codex, to: /srv }',
  '{ to: /srv, form: links }',
  '1',
])('the entry %s of `links` is refused with what it can be', (entry) => {
  const told = problems(`sources: [{ id: team, url: https://git.example.com/skills.git }]\nlinks: [${entry}]`)

  expect(told).toHaveLength(1)
  expect(told[0]).toMatch(/^2:\d+ links\[0\]/)
})

test('the example to copy is a configuration, and so it is with all that is commented out', async () => {
  const text = await readFile(EXAMPLE, 'utf8')
  const opened = text.replaceAll(/^( *)#(?! \S)/gm, '$1')

  const config = parse(opened)

  expect(parse(text).sources.map(({ source }) => source.id)).toEqual(['anthropic'])
  expect(config.sources[0]).toMatchObject({ required: true, signed: { require: 'commit' } })
  expect(config.limits).toEqual(parse(text).limits)
  expect(config.retention).toEqual(parse(text).retention)
  expect(config.publications).toMatchObject([{ branch: 'main', pack: undefined }])
  expect(config.gate).toMatchObject({ asked: { kind: 'program' }, timeoutMs: 10_000, onFailure: 'refuse' })
  expect(config.packs).toMatchObject([{ id: 'web', include: [{ path: 'web/**' }, { tag: 'accessibility' }] }])
  expect(config.serve.operations).toEqual({ host: '127.0.0.1', port: 8742 })
  expect(config.serve.web.open).toEqual(new Set(['well-known', 'marketplace', 'metrics']))
  expect(config.serve.oauth?.audience).toBe('api://skills')
  expect(config.serve.http).toMatchObject({ publicUrl: 'https://skills.example.com', trustedProxies: ['10.0.0.0/8'] })
  expect(Object.keys(parseYaml(opened) as object)).toEqual(
    'sources defaults serve packs rings links state lock retention limits gate publish'.split(' '),
  )
  const sources = opened.slice(0, opened.indexOf('\ndefaults:')).replaceAll('enabled: false', 'enabled: true')
  expect(parse(sources).sources.map(({ source }) => source.kind)).toEqual(['git', 'git', 'directory', 'mcp', 'channel'])
})

test('keys that few people need have the values that the file gives them', () => {
  const config = parse(`
sources:
  - id: a
    url: https://x.example/y
    docs: docs
    nested: as-files
    unlisted: ['internal/**']
    marketplace: true
    webhook: { provider: github, secret: { env: SKILLS_WEBHOOK_SECRET } }
serve:
  ttl: 2m
  instructions: The skills of our team.
  templates: ['skill://team/{product}/SKILL.md']
  forms: [default, index-templates, archives, files, synthetic]
  marketplace: { name: example-skills }
  oauth:
    issuer: https://login.example.com/realms/team
    audience: api://skills
    scopes: [skills.read]
    token_type: at+jwt
    page:
      client_id: skills-page
      client_secret: { env: SKILLS_PAGE_SECRET }
      scopes: [page, 'pack:*']
      session: 8h
  http: { public_url: https://skills.example.com }
packs:
  - { id: web, include: [{ source: a, path: 'web/**' }] }
  - { id: team-writing, include: [{ plugin: writing }] }
channel:
  name: skills.example.com/channel
  key: { file: channel.key }
  witnesses:
    - url: https://witness.example.com
      key: witness.example.com+8c42feec+BIE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOU
  quorum: 1
publish:
  - git: https://git.example.com/team/marketplace.git
  - { git: https://git.example.com/team/web.git, pack: web }
  - to: /srv/channel
  - { to: /srv/channel-web, pack: web }
`)

  expect(config.sources[0]?.source).toMatchObject({ docs: 'docs', nested: 'as-files', unlisted: ['internal/**'] })
  expect(config.sources[0]?.webhook?.provider).toBe('github')
  expect(config.serve.archives).toEqual(['tar.gz', 'zip'])
  expect(config.publications.map(({ branch, pack }) => [branch, pack])).toEqual([
    ['main', undefined],
    ['main', 'web'],
  ])
  expect(config.channelFolders).toEqual([
    { to: '/srv/channel', pack: undefined },
    { to: '/srv/channel-web', pack: 'web' },
  ])
  expect(config.channel).toEqual({
    name: 'skills.example.com/channel',
    keys: [{ kind: 'file', path: '/etc/skillsyncd/channel.key' }],
    witnesses: [
      {
        url: 'https://witness.example.com/',
        key: 'witness.example.com+8c42feec+BIE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOU',
        ca: undefined,
        proxy: { kind: 'variables' },
      },
    ],
    quorum: 1,
  })
  expect(config.packs[1]?.include).toEqual([{ plugin: 'writing' }])
  expect(config.serve).toMatchObject({ ttlMs: 120_000, instructions: 'The skills of our team.' })
  expect(config.serve.templates).toEqual(['skill://team/{product}/SKILL.md'])
  expect(config.serve.forms).toContain('index-templates')
  expect(config.serve.oauth).toEqual({
    issuer: 'https://login.example.com/realms/team',
    audience: 'api://skills',
    scopes: ['skills.read'],
    tokenType: 'at+jwt',
    keysMaxAgeMs: 86_400_000,
    page: {
      clientId: 'skills-page',
      clientSecret: { kind: 'env', name: 'SKILLS_PAGE_SECRET' },
      scopes: ['page', 'pack:*'],
      sessionMs: 28_800_000,
    },
  })
})

test.each([
  ['basic', 'auth: { basic: { username: reader, password: { file: /run/secrets/skills-password } } }'],
  ['header', 'auth: { header: { name: X-Api-Key, value: { env: SKILLS_KEY } } }'],
  [
    'github-app',
    'auth: { github_app: { app_id: 12345, installation_id: 67890, private_key: { credential: skills-app.pem }, api_url: https://github.example.com/api/v3 } }',
  ],
  [
    'helper',
    'auth: { helper: { command: git, args: [credential-store], env: { LANG: { value: C }, VAULT_TOKEN: { env: VAULT_TOKEN } }, timeout: 30s } }',
  ],
  ['none', 'ca: /etc/skillsyncd/authority.pem'],
  ['none', 'proxy: none'],
  [
    'none',
    'proxy: { url: http://proxy.example.com:3128, auth: { basic: { username: skills, password: { file: /run/secrets/proxy-password } } } }',
  ],
])('access of the kind %s: %s', (kind, keys) => {
  const config = parse(`sources:\n  - id: a\n    url: https://x.example/y\n    ${keys}`)

  expect(config.sources[0]?.access.kind).toBe(kind)
})

test('a template that cannot give the SKILL.md of a skill is refused with the reason, and so is one that comes twice', () => {
  const withTemplates = (...uris: readonly string[]) =>
    problems(`sources: [{ id: a, url: https://x.example/y }]\nserve:\n  templates: ${JSON.stringify(uris)}`)

  expect(withTemplates('skill://a/{b}/c.md')).toEqual([
    '3:15 serve.templates[0]: must be a template of the form skill://…/SKILL.md',
  ])
  expect(withTemplates('skill://a/{b}/SKILL.md', 'skill://a/{b}/SKILL.md')).toEqual([
    '3:14 serve.templates: must not contain a template twice',
  ])
})

test('paths are meant from the folder of the file, and ~ is the home folder', () => {
  const source = (auth: string) => `sources: [{ id: a, url: https://x.example/y, auth: { token: { file: ${auth} } } }]`
  const passwordOf = (config: WholeConfig) => {
    const access = config.sources[0]?.access
    return access?.kind === 'basic' ? access.password : undefined
  }

  expect(passwordOf(parse(source('keys/token')))).toEqual({ kind: 'file', path: '/etc/skillsyncd/keys/token' })
  expect(passwordOf(parse(source('~/token')))).toEqual({ kind: 'file', path: '/home/ada/token' })
  expect(parse(`${source('/t')}\nstate: ../state`).state).toBe('/etc/state')
})

test('a webhook names its provider and where its secret is read from', () => {
  const config = parse(
    `sources: [{ id: a, url: https://x.example/y, webhook: { provider: gitea, secret: { file: hook } } }]`,
  )

  expect(config.sources[0]?.webhook).toEqual({
    provider: 'gitea',
    secret: { kind: 'file', path: '/etc/skillsyncd/hook' },
  })
})

test.each([
  ['secret: { env: S }', 'webhook.provider'],
  ['provider: github', 'webhook.secret'],
  ['provider: bitbucket, secret: { env: S }', 'webhook.provider'],
  ['provider: github, secret: {}', 'webhook.secret'],
])('a webhook of { %s } is refused at %s', (webhook, key) => {
  const found = problems(`sources: [{ id: a, url: https://x.example/y, webhook: { ${webhook} } }]`)

  expect(found).toEqual([expect.stringContaining(`sources[0].${key}: `)])
})

test('a source that is switched off may keep its webhook', () => {
  const hook = 'webhook: { provider: github, secret: { env: S } }'
  const config = parse(`sources: [{ id: a, url: https://x.example/y, enabled: false, ${hook} }]`)

  expect(config.sources).toEqual([])
})

test.each([
  ['operations: { port: 8741 }', 'operations: { port: 8742 }'],
  ['http: { port: 99 }, operations: { port: 99 }', 'http: { port: 0 }, operations: { port: 0 }'],
  [
    'http: { host: 127.0.0.1 }, operations: { host: 127.0.0.1, port: 8741 }',
    'http: { host: 127.0.0.1 }, operations: { host: 0.0.0.0, port: 8741 }',
  ],
])('two listeners cannot have one address: %s is refused, %s is not', (refused, taken) => {
  const source = 'sources: [{ id: a, url: https://x.example/y }]'

  expect(problems(`${source}\nserve: { ${refused} }`)).toEqual([
    expect.stringMatching(/serve\.operations\.port: is also the address of `serve.http`; they must differ$/),
  ])
  expect(parse(`${source}\nserve: { ${taken} }`).serve.operations).toBeDefined()
})

test.each([
  ['plugin: docs', /marketplace\.plugin: is also the id of a pack; they must differ$/],
  ['retired: [docs]', /marketplace\.retired\[0\]: is served; a retired plugin is not$/],
  ['retired: [old, old]', /marketplace\.retired\[1\]: is there twice$/],
  ['renames: { docs: other }', /marketplace\.renames\.docs: is served under this name$/],
  ['renames: { old: none }', /marketplace\.renames\.old: names no plugin/],
  ['renames: { old: old }', /marketplace\.renames\.old: names no plugin/],
  [
    'plugin: aux',
    /marketplace\.plugin: must be 1 to 64 of a-z, 0-9 and single inner hyphens, and not the name of a Windows device$/,
  ],
])('a marketplace with %s is refused', (line, message) => {
  const rest = 'sources: [{ id: a, url: https://x.example/y }]\npacks: [{ id: docs, include: [{ source: a }] }]'

  expect(problems(`${rest}\nserve: { marketplace: { name: acme, ${line} } }`)).toEqual(
    expect.arrayContaining([expect.stringMatching(message)]),
  )
  expect(parse(`${rest}\nserve: { marketplace: { name: acme, renames: { older: old, old: docs } } }`)).toBeDefined()
})

test.each([
  ['agent-skills', 'docs', /marketplace\.name: is a name that Claude Code refuses/],
  [
    'life',
    'sciences',
    /marketplace\.name: makes "life-sciences" with the pack "sciences", a name that Claude Code refuses$/,
  ],
  ['acme', 'con', /marketplace\.name: cannot have the pack "con": it is a device of Windows$/],
  ['a'.repeat(60), 'docs', /marketplace\.name: makes a name of over 64 characters with the pack "docs"$/],
])('a marketplace "%s" with the pack "%s" is refused', (name, pack, message) => {
  const rest = `sources: [{ id: a, url: https://x.example/y }]\npacks: [{ id: ${pack}, include: [{ source: a }] }]`

  expect(problems(`${rest}\nserve: { marketplace: { name: ${name} } }`)).toEqual([expect.stringMatching(message)])
})

test('the files that say who signs are meant from the folder of the file', () => {
  const signedOf = (signed: string) =>
    parse(`sources: [{ id: a, url: https://x.example/y, signed: ${signed} }]`).sources[0]?.signed

  expect(signedOf('{ require: both, allowed_signers: signers, keyring: ~/keys.asc }')).toEqual({
    require: 'both',
    allowedSigners: '/etc/skillsyncd/signers',
    keyring: '/home/ada/keys.asc',
  })
  expect(signedOf('{ require: tag, keyring: /keys.asc, grace: 7d }')).toEqual({
    require: 'tag',
    allowedSigners: undefined,
    keyring: '/keys.asc',
    graceMs: 7 * 86_400_000,
  })
})

test('two spellings of one address are one address', () => {
  const config = parse(`sources:
  - { id: a, url: HTTPS://Git.Example.com:443/x }
  - { id: b, url: https://git.example.com/./x }
  - { id: c, url: file:///srv/my skills }`)

  expect(config.sources.map(({ source }) => source.url)).toEqual([
    'https://git.example.com/x',
    'https://git.example.com/x',
    'file:///srv/my%20skills',
  ])
})

test.each([
  ['root: ./skills/', 'skills'],
  ['root: .', ''],
  ["root: ''", ''],
  ['root: a/b', 'a/b'],
])('%s is the folder "%s"', (root, folder) => {
  expect(parse(`sources: [{ id: a, url: https://x.example/y, ${root} }]`).sources[0]?.source.root).toBe(folder)
})

test.each([
  ['every: 1s', { kind: 'every', periodMs: 1000 }],
  ['every: 1500ms', { kind: 'every', periodMs: 1500 }],
  ['every: 2h', { kind: 'every', periodMs: 7_200_000 }],
  ['every: "*/5 * * * *"', { kind: 'cron', expression: '*/5 * * * *' }],
  ['every: "@hourly"', { kind: 'cron', expression: '@hourly' }],
  ['every: "30 0 3 29 2 *"', { kind: 'cron', expression: '30 0 3 29 2 *' }],
])('%s is read', (key, schedule) => {
  expect(parse(`sources: [{ id: a, url: https://x.example/y, ${key} }]`).sources[0]?.source.schedule).toEqual(schedule)
})

test('two sources cannot both own resource://docs/', () => {
  const source = (id: string, docs: string): string =>
    `  - { id: ${id}, url: 'https://git.example.com/x', docs: ${docs} }\n`

  expect(problems(`sources:\n${source('a', 'docs')}${source('b', 'guide')}`)).toEqual([
    '3:48 sources[1].docs: cannot own resource://docs/ beside sources[0].docs; keep one of them',
  ])
  expect(parse(`sources:\n${source('a', 'docs')}${source('b', 'guide, enabled: false')}`).sources).toHaveLength(1)
  expect(parse(`sources:\n${source('a', './docs/')}`).sources[0]?.source.docs).toBe('docs')
})

test('all that is wrong is told at once, in the order of the file, each with line, column, key and mend', () => {
  const found = problems(`sources:
  - id: Team
    ulr: https://git.example.com/x
    every: 10
  - id: a
    id: b
    url: https://git.example.com/x
    ref: 1.0
    on_broken: always
    enabled:
  - id: a
    path: skills
    mcp: https://mcp.example.com/mcp
    branch: main
serve:
  http: { host: 127.0.0.1, port: 99999 }
limit: {}
`)

  expect(found).toEqual([
    '2:5 sources[0]: needs `url`, the address of a git repository, `path`, a folder, `mcp`, a server, or `follow`, a channel',
    '2:9 sources[0].id: must be 1 to 64 of a-z, 0-9 and single inner hyphens',
    '3:5 sources[0].ulr: is not a key that is known here; did you mean `url`?',
    '4:12 sources[0].every: must be a duration such as 30s, 5m or 1h (ms, s, m, h or d), or a cron expression',
    '6:5 sources[1].id: the key is here a second time; keep one of the two',
    '8:10 sources[1].ref: must be text (quote a number), or a tag range { range: …, prefix: … }',
    '9:16 sources[1].on_broken: must be keep or withhold or refuse',
    '10:13 sources[1].enabled: is empty; give it a value, or remove the key',
    '11:5 sources[2]: has `path` and `mcp`; keep one of them',
    '11:9 sources[2].id: is also the id of sources[1]; ids must differ',
    '14:5 sources[2].branch: is not a key that is known here; did you mean `ref`?',
    '16:34 serve.http.port: must be 65535 at most',
    '17:1 limit: is not a key that is known here; did you mean `limits`?',
  ])
})

test.each([
  ['sources: [{ id: a, url: https://git.example.com/a, policy: note }]', 'sources[0].policy', 'hidden_unicode'],
  ['sources: [{ id: a, url: https://git.example.com/a, strict: true }]', 'sources[0].strict', 'on_broken'],
  ['sources: [{ id: a, url: https://git.example.com/a, schedule: "0 * * * *" }]', 'sources[0].schedule', 'every'],
  ['serve: { tools: { wait: 2s } }', 'serve.tools', 'forms'],
  ['serve: { well_known: { enabled: false } }', 'serve.well_known', 'forms'],
  ['serve: { resources: { list: files } }', 'serve.resources', 'forms'],
  ['rings: [{ id: early, groups: [ada] }]', 'rings[0].groups', 'principals'],
])('a name that is not the one of the key leads to it: %s', (text, key, meant) => {
  const found = problems(text).map((problem) => problem.replace(/^\S+ /, ''))

  expect(found).toContain(`${key}: is not a key that is known here; did you mean \`${meant}\`?`)
})

test.each([
  ['', '1:1 : is empty; indent its keys below it, or remove the key'],
  ['just text', '1:1 : must be a mapping of keys to values'],
  ['serve: {}', '1:1 sources: is missing: it names the origins of skills; or `follow` names a hub'],
  ['sources: []', '1:10 sources: must not be empty'],
  ['sources: [', '1:11 : a bracket is not closed before this line, or the line is not indented'],
  ['a: 1\n---\nb: 2', '2:1 : the file holds more than one YAML document; keep one'],
  ['sources:\n\t- id: a', '2:1 : a tab is used where spaces are required; indent with spaces'],
  ['sources: !!set { a }', '1:16 sources: must be a list, with a dash and a space before each entry'],
  ['sources: !secret abc', '1:10 : tags are not supported here; write the plain value, in quotes if it begins with !'],
  ['1: 2', '1:1 : a key here is not text; put it in quotes if it is intended'],
  ['? [a]\n: 2', '1:3 : a key here is not text; put it in quotes if it is intended'],
  ['__proto__: { sources: [] }', '1:1 : a key here is not text; put it in quotes if it is intended'],
  [`a: ${'['.repeat(30)}${']'.repeat(30)}`, '1:20 : the file is nested too deep'],
])('%j is refused as a whole', (text, problem) => {
  const found = problems(text)

  expect(found).toContain(problem)
})

const TEAM = 'sources:\n  - id: team\n    url: https://x.example/y\n'
const DEEPER = 'this line has a value, and the next one is indented deeper; align the two'
const NO_COLON = 'a colon and a space are missing after a key; if the line continues a text, indent it'
const UNALIGNED = 'this key begins at another column than those of its mapping; align them'

test.each([
  ['a key is too deep', 'sources:\n  - id: team\n      url: https://x.example/y', `2:9 : ${DEEPER}`],
  ['a key is one column too deep', `${TEAM}     ref: main`, `3:10 : ${DEEPER}`],
  ['a key is below a value', 'state: /x\n  lock: ignore', `1:8 : ${DEEPER}`],
  [
    'a key is not as deep as those of its entry',
    `${TEAM}   ref: main\n`,
    '4:1 : this line is indented less than the keys of the list item above it; align them',
  ],
  ['a key is at the column of the dash', 'sources:\n  - id: team\n  url: https://x.example/y', `3:1 : ${UNALIGNED}`],
  ['a key of the top level is indented', `${TEAM} state: /x\n`, `4:1 : ${UNALIGNED}`],
  [
    'the first key is indented, and the next one is not',
    '  state: /x\nlock: ignore\n',
    '2:1 : a value has ended before this; align it with the first key, or quote the value',
  ],
  [
    'the keys of a mapping are not indented',
    `${TEAM}serve:\nttl: 1m\n`,
    '4:7 serve: is empty; indent its keys below it, or remove the key',
  ],
  [
    'a tab indents a key below another',
    `${TEAM}serve:\n  http:\n\t\tport: 1\n`,
    '6:1 : a tab is used where spaces are required; indent with spaces',
  ],
  [
    'a no-break space indents a key',
    `${TEAM}serve:\n\u00A0 ttl: 1m\n`,
    '5:1 : this begins with a character that only looks like a space; write plain spaces',
  ],
  ['the colon of a key with entries is missing', 'sources\n  - id: team\n', `1:1 : ${NO_COLON}`],
  [
    'the colon of a key before others is missing',
    'sources:\n  - id team\n    url: https://x.example/y\n',
    `2:5 : ${NO_COLON}`,
  ],
  ['the colon of the last key is missing', `${TEAM}state /x\n`, `4:1 : ${NO_COLON}`],
  ['the space after a colon is missing', 'sources:\n  - id:team\n    url: https://x.example/y\n', `2:5 : ${NO_COLON}`],
  ['a text continues at the margin', `${TEAM}serve:\n  instructions: Use\nthese\n`, `6:1 : ${NO_COLON}`],
  [
    'an entry is less deep than the one above it',
    `${TEAM} - id: b\n`,
    '4:1 : this list item is in no list; align its dash with the others',
  ],
  [
    'an entry is deeper than the one above it',
    `${TEAM}   - id: b\n`,
    '4:4 : this list item begins at another column than those above it; align the dashes',
  ],
  [
    'an entry is among keys',
    `${TEAM}    - id: b\n`,
    '4:1 : this list item is in no list; align its dash with the others',
  ],
  [
    'the dashes are missing',
    'sources:\n  id: team\n',
    '2:3 sources: must be a list, with a dash and a space before each entry',
  ],
  [
    'the spaces after dashes are missing',
    `${TEAM}    include:\n      -a\n      -b\n`,
    '5:7 sources[0].include: must be a list, with a dash and a space before each entry',
  ],
  [
    'a key is there twice',
    `${TEAM}    url: https://x.example/z\n`,
    '4:5 sources[0].url: the key is here a second time; keep one of the two',
  ],
  [
    'a quote is not closed',
    `${TEAM}    ref: "main\nstate: /x\nlock: ignore\n`,
    '4:10 : a quote that begins here is not closed; close it',
  ],
  [
    'a bracket is not closed',
    `${TEAM}    include: [a, b\nstate: /x\n`,
    '5:1 : a bracket is not closed before this line, or the line is not indented',
  ],
  [
    'a value holds a colon',
    `${TEAM}    ref: a: b\n`,
    '4:10 : a mapping begins inside a value; quote a value that holds ": "',
  ],
  [
    'a value begins with @',
    `${TEAM}    every: @hourly\n`,
    '4:12 : a value that begins with this character must be in quotes',
  ],
  [
    'a value begins with *',
    `${TEAM}    include: [*.md]\n`,
    '4:15 sources[0].include[0]: aliases are not supported here; write the value out, in quotes if it begins with *',
  ],
  [
    'a comma is missing',
    '{ "sources": [ { "id": "a" "url": "x" } ] }',
    '1:24 : this is not valid YAML; check quotes, brackets and commas',
  ],
])('the line and the mend are said where %s, and no consequences', (_, text, problem) => {
  const found = problems(text)
  const isOfYaml = (told: string): boolean => told.includes(' : ')

  expect(found).toContain(problem)
  expect(found.filter(isOfYaml)).toEqual([problem].filter(isOfYaml))
})

test('faults that are apart are told at once, each with its line', () => {
  expect(problems(`${TEAM}state /x\nserve:\n\n\tttl: 1m\n`)).toEqual([
    `4:1 : ${NO_COLON}`,
    '7:1 : a tab is used where spaces are required; indent with spaces',
  ])
})

test.each(['[', '{', '- ', '? ', '{a: ', '[a, '])('a hundred thousand times "%s" is refused', (opening) => {
  const found = problems(`a: \n ${opening.repeat(100_000)}`)

  expect(found).toEqual([expect.stringMatching(/^2:\d+ : the file is nested too deep$/)])
})

test('an alias bomb is refused before it is written out', () => {
  const levels = Array.from({ length: 30 }, (_, n) => `l${n}: &l${n} [${n === 0 ? 'x' : `*l${n - 1}, *l${n - 1}`}]`)

  const found = problems(levels.join('\n'))

  expect(found[0]).toBe(
    '2:10 l1[0]: aliases are not supported here; write the value out, in quotes if it begins with *',
  )
})

test.each([
  ['every: "* * *"', 'is not a cron expression'],
  ['every: "61 * * * *"', 'is not a cron expression'],
  ['every: "0 0 31 2 *"', 'names a day that does not exist'],
  ['every: 500ms', 'must be 1s at least'],
  ['every: 366d', 'must be 365d at most'],
  ['every: 0s', 'must be a duration such as'],
  ['every: 5 m', 'must be a duration such as'],
  ['root: ../x', 'must be a path inside the repository'],
  ['root: x/../y', 'must be a path inside the repository'],
  ['ref: "a..b"', 'must be a branch, a tag, refs/… or a full commit id'],
  ['ref: "-x"', 'must be a branch, a tag, refs/… or a full commit id'],
  ['ref: { range: newest }', 'must be a range of semantic versions'],
  ['include: "**"', 'must be a list'],
  ['include: ["!x"]', 'use `exclude`'],
  ['exclude: ["/x"]', 'without the leading slash'],
  ['lfs: smudge', 'must be leave-out or withhold or pointers'],
  ['names: "a\\u0007"', 'must be remap or exact'],
  ['root: "a\\u0007"', 'contains a control character'],
  ['ref: "a\\u0085"', 'contains a control character'],
  ['update: never', 'must be auto or locked or review'],
  ['signed: { require: commit }', 'needs `allowed_signers`, `keyring` or both'],
  ['signed: { require: all, keyring: keys }', 'must be commit or tag or both'],
  ['auth: { ssh: { key: { env: KEY } } }', 'goes with ssh://'],
  ['auth: {}', 'needs exactly one of `token`'],
  ['auth: { token: { env: A }, basic: { username: a, password: { env: B } } }', 'needs exactly one of `token`'],
  ['auth: { basic: { username: a, password: { env: B } }, username: c }', 'requires `token`'],
  ['auth: { token: {} }', 'needs exactly one of `env`'],
  ['auth: { token: { env: A, file: B } }', 'needs exactly one of `env`'],
  ['auth: { token: { credential: ../x } }', 'must be the name of a credential'],
])('a source with %s is refused', (key, message) => {
  const found = problems(`sources: [{ id: a, url: https://x.example/y, ${key} }]`)

  expect(found).toHaveLength(1)
  expect(found[0]).toContain(message)
})

test.each([
  ['ssh://-oProxyCommand=x/r.git', 'must name a host'],
  ['ssh://%2dx@host.example/r.git', 'must name a host'],
  ['ssh:///r.git', 'must name a host'],
  ['-x@host.example:r.git', 'must begin with'],
  ['ssh://git:pass@host.example/r.git', 'contains a user name or a password'],
  ['https://user@host.example/r', 'contains a user name or a password'],
  ['https://:pass@host.example/r', 'contains a user name or a password'],
  ['https://host.example/r?token=x', 'must not contain a query'],
  [
    'https://host.example/r#install',
    'a branch goes into `ref`, a credential into `auth`, and an anchor of a page is left out',
  ],
  [
    'https://host.example/a/b/blob/main/SKILL.md',
    'is the address of a page; write https://host.example/a/b, with `ref: main`',
  ],
  ['git://host.example/r', 'must begin with'],
  ['ftp://host.example/r', 'must begin with'],
  ['host.example/r', 'must begin with'],
  ['acme/kit', 'must begin with https://, http://, ssh:// or file:///; write https://github.com/acme/kit'],
  [
    'https://github.com/acme/kit/tree/main/skills?plain=1#top',
    'is the address of a page; write https://github.com/acme/kit, with `ref: main` and `root: skills` beside it',
  ],
  [
    'https://dev.azure.com/acme/x/_git/kit?version=GBmain',
    'is the address of a page; write https://dev.azure.com/acme/x/_git/kit, with `ref: main` beside it',
  ],
  ['git+https://host.example/r.git', 'must begin with https://, http://, ssh:// or file:///; write https://host'],
  ['https://acme@dev.azure.com/acme/x/_git/kit', 'leave it out'],
  ['C:\\Users\\me\\skills', 'is a path of Windows'],
  ['\\\\server\\share\\skills', 'is a path of Windows'],
  ['http:host', 'must have two slashes'],
  ['file://host.example/r', 'must not name a host'],
  ['file:srv/r', 'must have two slashes'],
  ['file:///srv%2Fr', 'is not a path that this machine can open'],
  ['./r', 'must begin with'],
  ['ftp://ho st/r', 'must begin with'],
  ['https://[::1]:99999/x', 'has a port that is not a number up to 65535'],
  ['http://exa_mple:80a/x', 'has a port that is not a number up to 65535'],
  ['ssh://git@host.example:acme/kit.git', 'has a port that is not a number up to 65535'],
  ['https://ex ample.com/x', 'has a space in its host'],
  ['file://ho st/x', 'has a space in its host'],
  ['https://', 'names no host'],
  ['https://:80/x', 'names no host'],
  ['https://[::1/x', 'has a host that is neither a name nor an IP address'],
  ['https://1.2.3.999/x', 'has a host that is neither a name nor an IP address'],
  ['https://ada:secret@host.example:99999/x', 'contains a user name or a password'],
  [
    'https://github.com/acme/kit/compare/main...dev',
    'is the address of a page without one branch, tag or commit that git has; write https://github.com/acme/kit, with `ref: …`',
  ],
  [
    'https://github.com/acme/kit/pull/12',
    'is the address of a page; write https://github.com/acme/kit, with `ref: refs/pull/12/head` beside it',
  ],
])('the address %s is refused', (url, message) => {
  const found = problems(stringify({ sources: [{ id: 'a', url }] }))

  expect(found).toHaveLength(1)
  expect(found[0]).toContain(message)
})

test('a repository in a group that is called like a page is an address as any other', () => {
  const url = 'https://host.example/a/b/tree/kit'

  expect(parse(stringify({ sources: [{ id: 'a', url }] })).sources[0]?.source).toMatchObject({ url, root: '' })
})

test('a page whose path has a secret is answered without it', () => {
  const secret = `ghp_${'canary77aa'.repeat(4)}`

  const found = problems(stringify({ sources: [{ id: 'a', url: `https://ghe.example/o/${secret}/tree/main/x` }] }))

  expect(found.join()).toContain('is the address of a page')
  expect(found.join()).not.toContain('canary')
})

test.each([
  'skills/pdf',
  './skills/pdf/',
  '/skills/pdf',
  'skills//pdf',
  'skills/./pdf',
  'skills\\pdf',
  '.\\skills\\pdf\\',
])('the root %s is the same folder', (root) => {
  const keys = { id: 'a', url: 'https://x.example/y', root, docs: root }

  expect(parse(stringify({ sources: [keys] })).sources[0]?.source).toMatchObject({
    root: 'skills/pdf',
    docs: 'skills/pdf',
  })
})

test('a glob that ends with a slash is about the folder and all below it', () => {
  const { source } =
    parse('sources: [{ id: a, url: https://x.example/y, exclude: [old/, "**/x//", "*"] }]').sources[0] ?? {}

  expect(source).toMatchObject({ exclude: ['old/**', '**/x/**', '*'] })
})

test('a folder on a drive of Windows is no path here', () => {
  expect(problems(stringify({ sources: [{ id: 'a', path: 'C:\\Users\\me\\skills' }] }))).toEqual([
    expect.stringContaining('is a path of Windows, which this system cannot open; in WSL, the drive C: is /mnt/c'),
  ])
})

test.each(['token: { env: TOKEN }', 'basic: { username: a, password: { env: B } }'])(
  'an address of ssh with %s is refused',
  (auth) => {
    const found = problems(`sources: [{ id: a, url: 'git@host.example:y', auth: { ${auth} } }]`)

    expect(found).toHaveLength(1)
    expect(found[0]).toContain('must be `ssh` for an address of ssh')
  },
)

test('a key for ssh, its passphrase and the known hosts are settled, and so are the programs', () => {
  const config = parse(`
    sources: [{ id: a, url: 'git@host.example:y', auth: { ssh: { key: { file: key }, passphrase: { env: P }, known_hosts: known } } }]
    programs: { git: /opt/git, ssh: tools/ssh }`)

  expect(config.programs).toEqual({ git: '/opt/git', ssh: '/etc/skillsyncd/tools/ssh' })
  expect(config.sources[0]).toMatchObject({
    source: { url: 'git@host.example:y' },
    access: {
      kind: 'ssh',
      key: { kind: 'file', path: '/etc/skillsyncd/key' },
      passphrase: { kind: 'env', name: 'P' },
      knownHosts: '/etc/skillsyncd/known',
    },
  })
})

test.each([
  ['http://git.example.com/y', 'would cross the network in clear'],
  ['file:///srv/y', 'is not used with a file: address'],
])('a credential beside %s is refused', (url, message) => {
  const found = problems(`sources: [{ id: a, url: ${url}, auth: { token: { env: TOKEN } } }]`)

  expect(found).toHaveLength(1)
  expect(found[0]).toContain(message)
})

test.each(['http://127.0.0.1:3000/y', 'http://[::1]/y', 'https://git.example.com/y'])(
  'a credential may stand beside %s',
  (url) => {
    expect(parse(`sources: [{ id: a, url: '${url}', auth: { token: { env: TOKEN } } }]`).sources).toHaveLength(1)
  },
)

test.each([
  '127.0.0.1',
  '127.0.0.2',
  '::1',
  'localhost',
  '0.0.0.0',
  '::',
  '192.0.2.1',
  'hub.example.com',
  '127.example.com',
])('%s is a place to listen', (host) => {
  const text = stringify({ sources: [{ id: 'a', url: 'https://x.example/y' }], serve: { http: { host } } })

  expect(parse(text).serve.http.host).toBe(host)
})

test('names, origins, proxies and limits of clients are read', () => {
  const config = parse(`sources: [{ id: a, url: https://x.example/y }]
serve:
  http:
    public_url: https://skills.example.com
    allowed_hosts: [hub, 'hub:8741', '[2001:db8::1]:8741']
    allowed_origins: ['https://app.example.com']
    trusted_proxies: [10.0.0.0/8, '2001:db8::/32', 192.0.2.7]
limits: { http: { connections: 20000, connections_per_address: 8, rate: { requests: 600, per: 1m } } }`)

  expect(config.serve.http).toMatchObject({
    publicUrl: 'https://skills.example.com',
    allowedHosts: ['hub', 'hub:8741', '[2001:db8::1]:8741'],
    allowedOrigins: ['https://app.example.com'],
    trustedProxies: ['10.0.0.0/8', '2001:db8::/32', '192.0.2.7'],
  })
  expect(config.limits.http).toMatchObject({
    streams: 20_000,
    sessions: 20_000,
    connectionsPerAddress: 8,
    rate: { requests: 600, perMs: 60_000 },
  })
})

test.each([
  ['allowed_hosts', ['https://hub', 'hub/path', 'hub:port', '*', 'a b', '']],
  ['allowed_origins', ['hub', 'https://hub/', 'null', '*', 'https://a@b']],
  ['trusted_proxies', ['proxy', '10.0.0.0/33', '10.0.0.0/', '::/129', '10.0.0.0/8/8', '']],
])('serve.http.%s takes no %j', (key, values) => {
  for (const value of values) {
    const text = stringify({ sources: [{ id: 'a', url: 'https://x.example/y' }], serve: { http: { [key]: [value] } } })
    expect(problems(text), value).toEqual([expect.stringContaining(`serve.http.${key}[0]: must`)])
  }
})

const CANARY = 'hunter2Canary'
const TOKEN = `ghp_${'Canary'.repeat(6)}`

test.each([
  `sources: [{ id: a, url: 'https://${CANARY}@x.example/y' }]`,
  `sources: [{ id: a, url: 'https://u:${CANARY}@x.example/y' }]`,
  `sources: [{ id: a, url: 'https//u:${CANARY}@x.example/y' }]`,
  `sources: [{ id: a, url: 'u:${CANARY}@x.example/y' }]`,
  `sources: [{ id: a, url: 'https://x.example/y?t=${CANARY}' }]`,
  `sources: [{ id: a, url: 'https://x.example/${TOKEN}' }]`,
  `sources: [{ id: a, url: 'https://[${CANARY}]/' }]`,
  `sources: [{ id: ${CANARY}, url: 'https://x.example/y' }]`,
  `sources: ${CANARY}`,
  ...[
    CANARY,
    `{ token: ${CANARY} }`,
    `{ token: { ${CANARY} } }`,
    `{ token: { ${CANARY}: x } }`,
    `{ token: { ${CANARY}: 1, ${CANARY}: 2 } }`,
    `{ token: { env: ${CANARY} } }`,
    `{ token: { env: ${TOKEN.toUpperCase()}-x } }`,
    `{ token: { file: ${TOKEN} } }`,
    `{ token: { credential: ${TOKEN} } }`,
    `{ token: { value: ${CANARY} } }`,
    `{ token: [${CANARY}] }`,
    `{ token: !secret ${CANARY} }`,
    `{ token: *${CANARY} }`,
    `{ token: "${CANARY} }`,
    `{ token ${CANARY} }`,
    `{ tokne: ${CANARY} }`,
    `{ ${CANARY} }`,
    `{ ${TOKEN}: { x: { ${TOKEN}: ${TOKEN} } } }`,
    `{ basic: { username: 'u:${CANARY}', password: ${CANARY} } }`,
    `{ basic: { username: ${TOKEN}, password: { env: P } } }`,
    `{ ssh: { key: ${CANARY} } }`,
    `{ github_app: { private_key: '-----BEGIN RSA PRIVATE KEY-----${CANARY}' } }`,
    `{ header: { name: 'X Api', value: ${CANARY} } }`,
  ].map((auth) => `sources: [{ id: a, url: 'https://x.example/y', auth: ${auth} }]`),
  `sources: [{ id: a, url: 'https://x.example/y', token: ${CANARY} }]`,
  `sources: [{ id: a, url: 'https://x.example/y', webhook: { provider: github, secret: ${CANARY} } }]`,
  `sources: [{ id: a, mcp: { command: x, env: { API_KEY: ${CANARY} } } }]`,
  `sources: [{ id: a, url: 'https://x.example/y', proxy: { url: 'http://u:${CANARY}@p.example' } }]`,
  `sources: [{ id: a, url: 'https://x.example/y' }]\nserve: { token: ${CANARY}, instructions: ${TOKEN} }`,
  `sources: [{ id: a, url: 'https://x.example/y' }]\n${TOKEN}: x`,
])('a secret in %s is refused and stands in no message', (text) => {
  const found = problems(text)

  expect(found.length).toBeGreaterThan(0)
  expect(found.join('\n').toLowerCase()).not.toContain('canary')
})

test('whatever the text is, it is a configuration or has problems that lie inside of it', () => {
  const isPlaced =
    (text: string) =>
    ({ line, column, message }: ConfigDiagnostic) => {
      const lines = text.split('\n')
      return (
        message !== '' &&
        line >= 1 &&
        line <= lines.length &&
        column >= 1 &&
        column <= (lines[line - 1]?.length ?? 0) + 1
      )
    }
  const holds = (text: string) => {
    const config = parseConfig(text, 'x.yaml', ENVIRONMENT)
    expect(Array.isArray(config) ? config.length > 0 && config.every(isPlaced(text)) : config.sources.length > 0).toBe(
      true,
    )
  }

  fc.assert(fc.property(fc.string({ unit: 'binary' }), holds))
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: 40 }).map((parts) => parts.join('')),
      holds,
    ),
    { numRuns: 500 },
  )
  fc.assert(
    fc.property(
      fc.json().map((json) => `sources: ${json}`),
      holds,
    ),
  )
  fc.assert(
    fc.property(NEARLY, (value) => holds(stringify(value))),
    { numRuns: 300 },
  )
})

const FRAGMENTS = [
  '[ ] { } , : ? - | > # " \' ~ & * ! %'.split(' '),
  [
    'sources:',
    '\n',
    '\n  - ',
    ' id: a',
    ' url: https://x.example/y',
    '\n    ',
    ': ',
    '&a ',
    '*a',
    '!!int ',
    '\t',
    'auth:',
  ],
  [
    '---\n',
    '...\n',
    '%YAML 1.1\n',
    '<<: ',
    'true',
    '1e400',
    '.inf',
    '0x1f',
    '\uFEFF',
    '\r\n',
    '\r',
    '|\n',
    '!!binary x',
  ],
].flat()

const ANYTHING = fc.oneof(
  fc
    .anything({ withNullPrototype: false, maxDepth: 3 })
    .map((value) => JSON.parse(JSON.stringify(value) ?? 'null') as unknown),
  fc.constantFrom<unknown>(
    '5m',
    '*/5 * * * *',
    'https://x.example/y',
    true,
    8,
    '',
    'auto',
    { env: 'TOKEN' },
    { token: { file: 'x' } },
  ),
)

const NEARLY = fc.record(
  {
    sources: fc.array(
      fc.record(
        Object.fromEntries(
          ['id', 'url', 'ref', 'root', 'include', 'auth', 'every', 'schedule', 'path', 'mcp', 'proxy'].map((key) => [
            key,
            ANYTHING,
          ]),
        ),
        { requiredKeys: [] },
      ),
    ),
    serve: ANYTHING,
    limits: ANYTHING,
    state: ANYTHING,
    packs: ANYTHING,
  },
  { requiredKeys: [] },
)

test.each(['fetch.connect_timeout', 'fetch.idle_timeout', 'fetch.total_timeout'])(
  'limits.%s is at most what a timer of this machine can measure',
  (key) => {
    const [group, name] = key.split('.')
    const withTime = (time: string) =>
      parseConfig(
        `sources: [{ id: team, url: 'https://a.example/x' }]\nlimits: { ${group}: { ${name}: ${time} } }\n`,
        'skillsyncd.yaml',
        ENVIRONMENT,
      )

    expect(withTime('25d')).toMatchObject([{ key: `limits.${key}`, message: 'must be 24d at most' }])
    expect(Array.isArray(withTime('24d'))).toBe(false)
  },
)

test('a file with problems is thrown as one error, a line for each', async () => {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'skillsyncd.yaml')
  await writeFile(file, 'sources: [{ id: A, url: x }]\n')

  const error = await readConfig({ file }, ENVIRONMENT).catch((error: unknown) => error)

  expect(error).toBeInstanceOf(ConfigError)
  expect(error).toMatchObject({
    message: [
      `${file}:1:17: sources[0].id: must be 1 to 64 of a-z, 0-9 and single inner hyphens`,
      `${file}:1:25: sources[0].url: must begin with https://, http://, ssh:// or file:///`,
    ].join('\n'),
    diagnostics: [
      { code: 'value', file, line: 1, column: 17, key: 'sources[0].id' },
      { code: 'value', key: 'sources[0].url' },
    ],
  })
})

test('a file with a byte order mark and CRLF is read, and `--state` wins over it', async () => {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'skillsyncd.yaml')
  await writeFile(file, '\uFEFFsources:\r\n  - id: a\r\n    url: https://x.example/y\r\nstate: here\r\n')

  const config = await readConfig({ file }, ENVIRONMENT)
  const elsewhere = await readConfig({ file, state: '/elsewhere' }, ENVIRONMENT)

  expect(config.file).toBe(file)
  expect(config.state).toBe(join(folder.path, 'here'))
  expect(elsewhere.state).toBe('/elsewhere')
})

test.each([
  ['no such file', async () => {}],
  ['it is a folder', async (file: string) => mkdir(file)],
  ['it is not valid UTF-8', async (file: string) => writeFile(file, Buffer.from([0x61, 0xff]))],
])('a file that cannot be read says why: %s', async (reason, make) => {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'skillsyncd.yaml')
  await make(file)

  const error = await readConfig({ file }, ENVIRONMENT).catch((error: unknown) => error)

  expect(error).toBeInstanceOf(ConfigError)
  expect(String(error)).toContain(`Cannot read the configuration "${file}": ${reason}`)
})

test('without --config the configuration of the user is found, and where none is, it says where it looked', async () => {
  await using folder = await temporaryFolder()
  const environment = environmentOf({ XDG_CONFIG_HOME: folder.path }, '/home/ada')
  const file = join(folder.path, 'skillsyncd', 'skillsyncd.yaml')

  const missing = await findConfig(undefined, environment).catch((error: unknown) => error)
  await mkdir(dirname(file))
  await writeFile(file, '')
  const found = await findConfig(undefined, environment)

  expect(missing).toBeInstanceOf(ConfigError)
  expect(String(missing)).toContain(
    `"${file}", "/etc/skillsyncd/skillsyncd.yaml"; skillsyncd add URL writes one, --config FILE names one`,
  )
  expect(found).toBe(file)
  expect(await findConfig('./other.yaml', environment)).toBe(join(process.cwd(), 'other.yaml'))
})

test('sources named on the command line get ids from their addresses and a state of their own', () => {
  const urls = [
    'https://github.com/anthropics/skills',
    'https://git.example.com/My%20Team/Skills.git/',
    '/srv/house rules',
  ]
  const config = configOfSources({ urls }, ENVIRONMENT)

  expect(config.file).toBeUndefined()
  expect(config.sources.map(({ source }) => [source.id, source.url])).toEqual([
    ['anthropics', 'https://github.com/anthropics/skills'],
    ['my-team', 'https://git.example.com/My%20Team/Skills.git/'],
    ['house-rules', 'file:///srv/house%20rules'],
  ])
  expect(configOfSources({ urls: ['http://git.example.com/x/.git'] }, ENVIRONMENT).sources[0]?.source.id).toBe('x')
  expect(config.state).toMatch(/^\/home\/ada\/\.local\/state\/skillsyncd\/adhoc\/[0-9a-f]{16}$/)
})

test.each([
  [{ url: 'https://git.example.com/team/kit.git/' }, 'kit'],
  [{ url: 'https://git.example.com/team/skills.git' }, 'team'],
  [{ url: 'https://git.example.com/group/team/Skills/skills' }, 'team'],
  [{ url: 'https://git.example.com/skills' }, 'git-example-com'],
  [{ url: 'git@git.example.com:acme/agent-skills.git' }, 'acme'],
  [{ url: 'file:///srv/team/skills/.git' }, 'team'],
  [{ url: 'file:///' }, 'source'],
  [{ path: '/home/ada/project/.claude/skills' }, 'project'],
  [{ path: '/srv/pdf-skills/' }, 'pdf-skills'],
  [{ path: '/skills' }, 'skills'],
  [{ mcp: 'https://skills.example.com/mcp' }, 'skills-example-com'],
])('a source that is given no id is called by the first name that tells it: %j', (place, id) => {
  expect(sourceIdFor(place)).toBe(id)
})

test('a path on the command line, relative ones too, is the address of the repository there', () => {
  const urls = (...paths: string[]) =>
    configOfSources({ urls: paths }, ENVIRONMENT).sources.map(({ source }) => source.url)
  const at = (path: string) => pathToFileURL(resolve(path)).href

  expect(urls('./rules', '../house', '.', '/srv/team')).toEqual([
    at('rules'),
    at('../house'),
    at('.'),
    'file:///srv/team',
  ])
})

test('a page on the command line is a source of its repository, branch and folder, with a state of its own', () => {
  const config = (text: string) => configOfSources({ urls: [text] }, ENVIRONMENT)
  const page = config('https://github.com/acme/kit/tree/main/skills')

  expect(page.sources[0]?.source).toMatchObject({
    id: 'kit',
    url: 'https://github.com/acme/kit',
    ref: 'main',
    root: 'skills',
  })
  expect(config('acme/kit/tree/main/skills').state).toBe(page.state)
  expect(config('acme/kit').state).not.toBe(page.state)
})

test('the state of sources named on the command line is that of the set, whatever their order', () => {
  const state = (...urls: string[]) => configOfSources({ urls }, ENVIRONMENT).state

  expect(state('https://a.example/x', 'https://b.example/y')).toBe(state('https://b.example/y', 'https://a.example/x'))
  expect(state('https://a.example/x')).not.toBe(state('https://a.example/y'))
})

test.each([
  [['ssh://git:x@host.example/r'], 'Cannot use --source: the address contains a user name or a password'],
  [
    ['https://a.example/x', `https://u:${CANARY}@host.example/r`],
    'Cannot use --source: address 2 of 2 contains a user name or a password',
  ],
  [['skills'], 'Cannot use --source: the address must begin with'],
])('sources %j on the command line are refused', (urls, message) => {
  const attempt = () => configOfSources({ urls }, ENVIRONMENT)

  expect(attempt).toThrow(ConfigError)
  expect(attempt).toThrow(message)
  expect(attempt).not.toThrow(CANARY)
})

test('the environment names folders by the rules of XDG and of systemd', () => {
  const plain = environmentOf({}, '/home/ada')
  const user = environmentOf(
    { XDG_STATE_HOME: '/s', XDG_CONFIG_HOME: 'relative', XDG_RUNTIME_DIR: '/run/user/1' },
    '/home/ada',
  )
  const service = environmentOf({ STATE_DIRECTORY: '/var/lib/skillsyncd:/var/lib/b', XDG_STATE_HOME: '/s' }, '/')

  expect(plain).toMatchObject({ state: '/home/ada/.local/state/skillsyncd', runtime: undefined })
  expect(user).toMatchObject({ state: '/s/skillsyncd', configHome: '/home/ada/.config', runtime: '/run/user/1' })
  expect(service).toMatchObject({ state: '/var/lib/skillsyncd' })
})

test('folders named on the command line get ids that tell them apart, and a state of their own', () => {
  const folders = [
    '/srv/pdf-skills',
    '/work/project/.claude/skills',
    '/home/ada/.claude/skills',
    '/a/project/skills',
    '/skills',
  ]
  const idsOf = (...folders: string[]) =>
    configOfSources({ folders }, ENVIRONMENT).sources.map(({ source }) => source.id)
  const stateOf = (urls: string[], folders: string[]) => configOfSources({ urls, folders }, ENVIRONMENT).state

  expect(idsOf(...folders)).toEqual(['pdf-skills', 'project', 'ada', 'project-2', 'skills'])
  expect(idsOf('/')).toEqual(['source'])
  expect(
    configOfSources({ urls: ['/srv/repo'], folders: ['/srv/repo'] }, ENVIRONMENT).sources.map(({ source }) => source),
  ).toMatchObject([
    { kind: 'git', id: 'repo', url: 'file:///srv/repo' },
    { kind: 'directory', id: 'repo-2', path: '/srv/repo', schedule: { kind: 'every', periodMs: 30_000 } },
  ])
  expect(stateOf([], ['/a'])).not.toBe(stateOf([], ['/b']))
  expect(stateOf([], ['/a'])).not.toBe(stateOf(['file:///a'], []))
  expect(stateOf(['/x'], ['/a'])).toBe(stateOf(['/x'], ['/a']))
})

test('sources of the command line are served in the forms that it names', () => {
  const named = (...forms: string[]) =>
    configOfSources({ urls: ['/srv/repo'], folders: ['/srv/skills'], forms }, ENVIRONMENT)

  const [none, all] = [named(), named('archives', 'files', 'synthetic')]

  expect(none.sources.map(({ source }) => source.contract)).toEqual(['offer', 'offer'])
  expect([none.serve.archives, all.serve.archives]).toEqual([[], ['tar.gz', 'zip']])
  expect(all.sources).toEqual(none.sources)
  expect(all.serve.forms).toEqual(new Set([...none.serve.forms, 'archives', 'files', 'synthetic']))
  expect(named('-page', 'files').serve.forms).not.toContain('page')
  expect(all.state).toBe(none.state)
})

test('a folder is meant from the folder of the file, and is looked at every 30 seconds', () => {
  const sourceOf = (path: string, rest = '') => parse(`sources: [{ id: a, path: ${path}${rest} }]`).sources[0]?.source

  expect(sourceOf('skills')).toMatchObject({
    kind: 'directory',
    path: '/etc/skillsyncd/skills',
    url: 'file:///etc/skillsyncd/skills',
    ref: undefined,
    schedule: { kind: 'every', periodMs: 30_000 },
  })
  expect(sourceOf('~/skills', ', every: 5m')).toMatchObject({
    path: '/home/ada/skills',
    schedule: { kind: 'every', periodMs: 300_000 },
  })
})

test.each([
  'ref: main',
  'auth: { token: { env: T } }',
  'signed: { require: commit, keyring: k }',
  'ca: x',
  'proxy: none',
])('beside a folder, %s is refused', (line) => {
  const found = problems(`sources: [{ id: a, path: /srv/skills, ${line} }]`)

  expect(found).toEqual([expect.stringMatching(`sources\\[0\\]\\.${line.split(':')[0]}: goes with \`url\``)])
})

test.each(['ref: main', 'root: skills', 'lfs: pointers', 'docs: docs', 'signed: { require: commit, keyring: k }'])(
  'beside another MCP server, %s is refused',
  (line) => {
    const found = problems(`sources: [{ id: a, mcp: 'https://skills.example.com/mcp', ${line} }]`)

    expect(found).toEqual([expect.stringContaining(`sources[0].${line.split(':')[0]}: goes with`)])
  },
)

test.each(['approval: none', 'budgets: { hourly_bytes: 1MiB }'])('beside a repository, %s is refused', (line) => {
  const found = problems(`sources: [{ id: a, url: 'https://git.example.com/a.git', ${line} }]`)

  expect(found).toEqual([expect.stringContaining(`sources[0].${line.split(':')[0]}: goes with \`mcp\` alone`)])
})

test.each(['', ', approval: required'])(
  'dynamic skills are not served where skills wait for approval%s',
  (approval) => {
    const found = problems(`sources: [{ id: a, mcp: 'https://a.example.com/mcp', unverifiable: serve${approval} }]`)

    expect(found).toEqual([expect.stringContaining('sources[0].unverifiable: is "serve", which requires')])
  },
)

describe('a fallback', () => {
  const HUB = "{ id: hub, mcp: 'https://skills.example.com/mcp' }"
  const withTeam = (lines: string, hub = HUB): string =>
    `sources: [${hub}, { id: team, url: 'https://git.example.com/a.git', ${lines} }]`

  test('is the id of an MCP server, of a source that follows the lock', () => {
    const { sources } = parse(withTeam('update: locked, fallback: hub'))

    expect(sources.map(({ fallback }) => fallback)).toEqual([undefined, 'hub'])
  })

  test.each([
    ['fallback: hub', 'sources[1].fallback: requires `update: locked`'],
    ['update: review, fallback: hub', 'sources[1].fallback: requires `update: locked`'],
    ['update: locked, fallback: nobody', 'sources[1].fallback: must be the id of a source with `mcp`'],
    ['update: locked, fallback: team', 'sources[1].fallback: must be the id of a source with `mcp`'],
  ])('is refused with %s', (lines, said) => {
    expect(problems(withTeam(lines))).toEqual([expect.stringContaining(said)])
  })

  test('is refused where its server is disabled', () => {
    const hub = HUB.replace('}', ', enabled: false }')

    expect(problems(withTeam('update: locked, fallback: hub', hub))).toHaveLength(1)
  })

  test('is refused beside a server or a folder', () => {
    const found = ["mcp: 'https://a.example.com/mcp'", 'path: skills'].flatMap((place) =>
      problems(`sources: [${HUB}, { id: a, ${place}, update: locked, fallback: hub }]`),
    )

    expect(found).toEqual(Array(2).fill(expect.stringContaining('sources[1].fallback: goes with `url` alone')))
  })
})

test('an MCP server is an address or a program, its token a bearer token, and each of its skills waits if nothing is said', () => {
  const yaml = `
sources:
  - id: hub
    mcp: https://skills.example.com/mcp
    auth: { token: { env: HUB } }
  - id: local
    mcp: { command: ./serve, args: [--stdio, a b], env: { KEY: { env: KEY }, MODE: { value: quiet } } }
    approval: none
    budgets: { stored_bytes: 1MiB, listing_pages: 3 }
`
  const [hub, local] = parse(yaml).sources

  expect(hub).toMatchObject({
    source: {
      kind: 'mcp',
      url: 'https://skills.example.com/mcp',
      place: { kind: 'http', url: 'https://skills.example.com/mcp' },
      approval: 'required',
      fetching: 'lazy',
      folders: false,
      budgets: { fileBytes: 2 ** 24, hourlyBytes: 200 * 2 ** 20 },
      schedule: { kind: 'every', periodMs: 300_000 },
    },
    access: { kind: 'bearer', token: { kind: 'env', name: 'HUB' } },
  })
  expect(local).toMatchObject({
    source: {
      url: 'program:/etc/skillsyncd/serve --stdio a%20b',
      place: { kind: 'program', command: '/etc/skillsyncd/serve', args: ['--stdio', 'a b'] },
      approval: 'none',
      budgets: { storedBytes: 2 ** 20, listing: { pages: 3, entries: 50_000 } },
    },
    access: { kind: 'none' },
    programEnv: { KEY: { kind: 'env', name: 'KEY' }, MODE: { kind: 'value', value: 'quiet' } },
  })
})

test.each(['auth: { token: { env: T } }', 'ca: ca.pem', 'proxy: none'])(
  'beside a program that speaks MCP, %s is refused',
  (line) => {
    const found = problems(`sources: [{ id: a, mcp: { command: serve }, ${line} }]`)

    expect(found).toEqual([
      expect.stringContaining(`sources[0].${line.split(':')[0]}: is only for the address of a server`),
    ])
  },
)

test.each(['?key=abc', '#top'])('the address of an MCP server with %s is refused: the lock shows addresses', (rest) => {
  const found = problems(`sources: [{ id: a, mcp: 'https://skills.example.com/mcp${rest}' }]`)

  expect(found).toEqual([
    expect.stringContaining('sources[0].mcp: must not contain a query or a fragment; a credential goes into `auth`'),
  ])
})

test.each([
  ['file:///etc/passwd', 'its scheme "file" leads out of the server'],
  ['refunds', 'it has no scheme'],
  ['skill://a/../SKILL.md', 'a segment of it cannot name a file'],
  ['skill://refunds', 'it does not name the SKILL.md in the folder of a skill'],
  ['skill://SKILL.md', 'it does not name the SKILL.md in the folder of a skill'],
])('%s is refused as the URI of a skill that nobody lists: %s', (uri, why) => {
  const found = problems(`sources: [{ id: a, mcp: 'https://skills.example.com/mcp', uris: ['${uri}'] }]`)

  expect(found).toEqual([expect.stringContaining(`sources[0].uris[0]: cannot be added: ${why}`)])
})

test('a token for an MCP server is refused over http to another machine', () => {
  const found = problems(`sources: [{ id: a, mcp: 'http://skills.example.com/mcp', auth: { token: { env: T } } }]`)

  expect(found).toEqual([expect.stringContaining('would cross the network in clear')])
})

test.each(['ext::sh -c touch% /tmp/x', 'fd::3', 'EXT::sh', 'hg::https://a.example/x', 'file::/srv/x', 'git@host::x'])(
  'an address that git hands to another program is refused: %s',
  (url) => {
    const text = `sources: [{ id: team, url: ${JSON.stringify(url)} }]\n`

    const [problem] = problemsOf(text)

    expect(problem).toMatchObject({
      key: 'sources[0].url',
      message: expect.stringContaining('must begin with https://'),
    })
  },
)

function problemsOf(text: string): readonly { readonly key: string; readonly message: string }[] {
  const parsed = parseConfig(text, 'skillsyncd.yaml', ENVIRONMENT)
  return Array.isArray(parsed) ? parsed : []
}
