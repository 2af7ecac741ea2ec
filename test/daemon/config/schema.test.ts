import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { schemaJson } from '../../../src/daemon/config/schema-json.ts'
import { times } from '../../../src/daemon/config/schema/scalars.ts'
import { CONFIG } from '../../../src/daemon/configuration.ts'

const FILE = fileURLToPath(new URL('../../../config/skillsyncd.schema.json', import.meta.url))

test('config/skillsyncd.schema.json is what the schema in the code makes (UPDATE_SCHEMA=1 writes it anew)', async () => {
  const fresh = `${JSON.stringify(schemaJson(CONFIG), null, 2)}\n`

  if (process.env['UPDATE_SCHEMA'] === '1') await writeFile(FILE, fresh)

  expect(await readFile(FILE, 'utf8'), 'run this test with UPDATE_SCHEMA=1, and commit the file').toBe(fresh)
})

test('every key has a description, every mapping is closed, and no host but that of the dialect is named', () => {
  const text = JSON.stringify(schemaJson(CONFIG))
  const keys = keysOf(schemaJson(CONFIG))

  const undescribed = keys.filter(({ node }) => node.description === undefined).map(({ key }) => key)
  const open = keys
    .filter(({ node }) => node.type === 'object' && node.additionalProperties === undefined)
    .map(({ key }) => key)

  expect(undescribed).toEqual([])
  expect(open).toEqual([])
  expect(new Set(text.match(/https?:\/\/[a-z][^/"]*/g))).toEqual(new Set(['https://json-schema.org']))
})

test('there are 250 keys at most, and the keys of a shared block count once', () => {
  const { $defs: _blocks, ...schema } = schemaJson(CONFIG) as Node

  const keys = new Set(keysOf(schema).map(({ key }) => key))

  expect(keys.size).toBeGreaterThan(100)
  expect(keys.size).toBeLessThanOrEqual(250)
})

test('an editor takes and refuses the same texts for each `every` as the program', () => {
  const places = keysOf(schemaJson(CONFIG)).filter(({ key }) => /(?:^|\.)every$/.test(key))
  const texts = ['1s', '250ms', '365d', '@hourly', '@Daily', '*/5 * * * *', ' 0 6 * * 1-5 ', '30 0 3 29 feb *']
  const others = ['', 'm', '0s', '05m', '5 m', '10', '1h30m', '* * *', '* * * *', '* * * * * * *', '@ hourly']

  expect(places.map(({ key }) => key).toSorted()).toEqual([
    'defaults[].every',
    'follow.every',
    'gate.rescan.every',
    'lock.every',
    'sources[].every',
  ])
  for (const { node } of places) {
    const pattern = new RegExp(node.pattern ?? '')
    expect([...texts, ...others].filter((text) => pattern.test(text))).toEqual(texts)
  }
  expect([...texts, ...others].filter((text) => times({}).safeParse(text).success)).toEqual(texts)
})

test('every key is one that the program honours', () => {
  const keys = keysOf(schemaJson(CONFIG)).map(({ key }) => key)
  // What `defaults` says of many sources, `publish` of a host, and `follow` of a hub and `lock` of a repository, is what each source can say.
  const shared =
    /^(?:defaults\[\]\.(?!match$)|publish\[\]\.(?:auth|ca|proxy)\b|follow\.(?:brakes|auth|ca|proxy)\b|lock\.from\.(?:auth|backend|ca|proxy|signed)\b|gate\.auth\.)/
  const honoured = keys.filter((key) => !shared.test(key))

  expect(honoured.toSorted()).toEqual(HONOURED.toSorted())
})

const HONOURED = [
  ...['', '.name', '.owner', '.description', '.plugin', '.retired', '.renames'].map((key) => `serve.marketplace${key}`),
  ...['', '.command', '.args', '.env'].map((key) => `sources[].mcp${key}`),
  ...['', '.file_bytes', '.listing_bytes', '.listing_pages', '.listing_entries', '.listing_timeout'].map(
    (key) => `sources[].budgets${key}`,
  ),
  ...['.stored_bytes', '.hourly_bytes'].map((key) => `sources[].budgets${key}`),
  ...['approval', 'fallback', 'fetch', 'folders', 'packed', 'unverifiable'].map((key) => `sources[].${key}`),
  ...['', '[].uri', '[].unverified'].map((key) => `sources[].uris${key}`),
  ...[
    '',
    '.command',
    '.args',
    '.env',
    '.url',
    '.timeout',
    '.on_failure',
    '.auth',
    '.sarif',
    '.sarif.refuse',
    '.sarif.hold',
    '.scanner',
    '.rules',
    '.version_args',
    '.rescan',
    '.rescan.every',
    '.rescan.on_finding',
    '.rescan.most_withheld',
  ].map((key) => `gate${key}`),
  'sources',
  ...['id', 'url', 'ref', 'root', 'include', 'exclude', 'unlisted', 'names', 'lfs'].map((key) => `sources[].${key}`),
  ...['every', 'enabled', 'auth', 'hidden_unicode'].map((key) => `sources[].${key}`),
  ...['require', 'allowed_signers', 'keyring', 'grace'].map((key) => `sources[].signed.${key}`),
  'sources[].signed',
  // With some of their values alone: the table of later keys has the others.
  ...[
    'ref.range',
    'ref.prefix',
    'ref.prereleases',
    'update',
    'nested',
    'on_broken',
    'lifecycle',
    'lifecycle[].include',
    'lifecycle[].deprecated',
    'lifecycle[].replaced_by',
    'lifecycle[].owner',
    'lifecycle[].depends_on',
    'contract',
    'marketplace',
    'backend',
    'links',
    'required',
    'max_age',
  ].map((key) => `sources[].${key}`),
  ...['token', 'token.env', 'token.file', 'token.credential', 'username'].map((key) => `sources[].auth.${key}`),
  ...['basic', 'basic.username'].map((key) => `sources[].auth.${key}`),
  ...['', '.env', '.file', '.credential'].map((key) => `sources[].auth.basic.password${key}`),
  ...['', '.env', '.file', '.credential'].map((key) => `sources[].webhook.secret${key}`),
  ...['webhook', 'webhook.provider'].map((key) => `sources[].${key}`),
  ...['', '.known_hosts'].map((key) => `sources[].auth.ssh${key}`),
  ...['', '.env', '.file', '.credential'].flatMap((key) => [
    `sources[].auth.ssh.key${key}`,
    `sources[].auth.ssh.passphrase${key}`,
  ]),
  ...['', '.git', '.ssh'].map((key) => `programs${key}`),
  'defaults',
  'defaults[].match',
  ...['', '[].agent', '[].to', '[].copy'].map((key) => `links${key}`),
  ...['', '[].git', '[].to', '[].branch', '[].pack', '[].ring'].map((key) => `publish${key}`),
  ...['', '.name', '.key', '.key.env', '.key.file', '.key.credential'].map((key) => `channel${key}`),
  ...['env', 'file', 'credential'].map((key) => `channel.key[].${key}`),
  ...['witnesses', 'witnesses[].url', 'witnesses[].key', 'quorum'].map((key) => `channel.${key}`),
  ...['', '.url', '.path', '.key', '.max_age', '.witnesses', '.quorum'].map((key) => `sources[].follow${key}`),
  ...['', '.url', '.path', '.key', '.max_age', '.witnesses', '.quorum'].map((key) => `follow${key}`),
  ...['update', 'every'].map((key) => `follow.${key}`),
  ...['ca', 'proxy', 'proxy.url', 'proxy.auth'].map((key) => `sources[].${key}`),
  ...['basic', 'basic.username', 'header', 'header.name'].map((key) => `sources[].proxy.auth.${key}`),
  ...['', '.env', '.file', '.credential'].flatMap((key) =>
    ['basic.password', 'header.value'].map((secret) => `sources[].proxy.auth.${secret}${key}`),
  ),
  ...['github_app', 'helper', 'header', 'header.name'].map((key) => `sources[].auth.${key}`),
  ...['app_id', 'installation_id', 'private_key', 'api_url'].map((key) => `sources[].auth.github_app.${key}`),
  ...['command', 'args', 'env', 'timeout'].map((key) => `sources[].auth.helper.${key}`),
  ...['.env', '.file', '.credential'].map((key) => `sources[].auth.github_app.private_key${key}`),
  ...['', '.env', '.file', '.credential'].map((key) => `sources[].auth.header.value${key}`),
  ...['', '.http', '.http.host', '.http.port', '.instructions', '.ttl'].map((key) => `serve${key}`),
  ...['public_url', 'allowed_hosts', 'allowed_origins', 'trusted_proxies'].map((key) => `serve.http.${key}`),
  ...['', '.host', '.port'].map((key) => `serve.operations${key}`),
  ...['oauth', 'oauth.issuer', 'oauth.audience', 'oauth.scopes'].map((key) => `serve.${key}`),
  'serve.oauth.token_type',
  ...['', '.client_id', '.client_secret', '.scopes', '.session'].map((key) => `serve.oauth.page${key}`),
  ...['.env', '.file', '.credential'].map((key) => `serve.oauth.page.client_secret${key}`),
  ...['page', 'page.title', 'public', 'forms', 'templates', 'tool_wait'].map((key) => `serve.${key}`),
  ...['', '.enabled', '.bytes'].map((key) => `audit${key}`),
  ...['', '.enabled', '.principals', '.days', '.otlp'].map((key) => `usage${key}`),
  ...['path', 'docs'].map((key) => `sources[].${key}`),
  ...['', '.generations', '.younger_than'].map((key) => `retention${key}`),
  ...['', '[].anonymous', '[].id', '[].min_age', '[].most_failures', '[].principals', '[].share'].map(
    (key) => `rings${key}`,
  ),
  'sources[].brakes',
  'packs',
  ...['id', 'description', 'include', 'exclude', 'budget'].map((key) => `packs[].${key}`),
  ...['client', 'characters', 'window'].map((key) => `packs[].budget.${key}`),
  ...['include', 'exclude'].flatMap((key) =>
    ['source', 'path', 'name', 'tag', 'plugin'].map((choice) => `packs[].${key}[].${choice}`),
  ),
  'state',
  ...['', '.postgres', '.postgres.url'].map((key) => `store${key}`),
  ...['env', 'file', 'credential'].map((key) => `store.postgres.url.${key}`),
  ...['', '.every', '.from', '.from.git', '.from.ref', '.from.path', '.from.accept'].map((key) => `lock${key}`),
  ...['', '.provider', '.secret', '.secret.env', '.secret.file', '.secret.credential'].map(
    (key) => `lock.from.webhook${key}`,
  ),
  'limits',
  ...['', '.bytes', '.files'].map((key) => `limits.repository${key}`),
  ...['', '.concurrency', '.concurrency_per_host'].map((key) => `limits.fetch${key}`),
  ...['connect', 'idle', 'total'].map((key) => `limits.fetch.${key}_timeout`),
  ...['', '.entries', '.bytes'].map((key) => `limits.listing${key}`),
  ...['', '.connections'].map((key) => `limits.http${key}`),
  ...['', '.files', '.bytes'].map((key) => `limits.skill${key}`),
  ...['', '.bytes'].map((key) => `limits.disk${key}`),
  ...['connections_per_address', 'rate', 'rate.requests', 'rate.per'].map((key) => `limits.http.${key}`),
]

interface Node {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Node>>
  readonly type?: string
  readonly description?: string
  readonly pattern?: string
  readonly additionalProperties?: unknown
  readonly properties?: Readonly<Record<string, Node>>
  readonly items?: Node
  readonly anyOf?: readonly Node[]
}

interface Key {
  readonly key: string
  readonly node: Node
}

/** Every key of the schema, `sources[].auth.token` and its like, with what the schema says of it. */
function keysOf(root: Node): Key[] {
  const below = (node: Node, above: string): Key[] => {
    const target = root.$defs?.[node.$ref?.replace('#/$defs/', '') ?? '']
    const forms = [target, ...(node.anyOf ?? [])].filter((form) => form !== undefined)
    const named = Object.entries(node.properties ?? {}).map(([name, node]) => ({
      key: above === '' ? name : `${above}.${name}`,
      node,
    }))
    return [
      ...forms.flatMap((form) => below(form, above)),
      ...(node.items === undefined ? [] : below(node.items, `${above}[]`)),
      ...named,
      ...named.flatMap(({ key, node }) => below(node, key)),
    ]
  }
  return below(root, '')
}
