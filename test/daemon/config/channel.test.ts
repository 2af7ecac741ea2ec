import { expect, test } from 'vitest'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { withHubSources } from '../../../src/daemon/config/present-sources.ts'
import type { WholeConfig } from '../../../src/daemon/configuration.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'
import { signerOf, verifierText } from '../../../src/sync/transparency-log/signed-note.ts'
import { sourceId } from '../../sync/store/samples.ts'

const ENVIRONMENT = environmentOf({}, '/home/ada')
const KEY = 'skills.example.com/channel+b5f47017+AYEGw220L/AsMBklAJFm0neRDwqD54Cr0OZP4nJZ0mhW'
const NEXT_KEY = 'skills.example.com/channel+df15eb7c+AX+hCrEVzkjMBfJFbsSPFQi0COi3eQ8n+1ctzUnV+/5t'
const OTHER_KEY = 'other.example.com/channel+946b7202+AU4hQdPDKAj9hhD7rhqFEyOHiA0CrMdKnIJpHd0TVPyL'

const HUB = "sources: [{ id: a, url: 'https://git.example.com/team/a.git' }]"
const CHANNEL = 'channel: { name: skills.example.com/channel, key: { file: channel.key } }'

function parse(...lines: readonly string[]): WholeConfig {
  const config = parsed(lines)
  if (Array.isArray(config)) throw new Error(config.map(({ key, message }) => `${key}: ${message}`).join('\n'))
  return config
}

/** The problems, as `key: message`. */
function problems(...lines: readonly string[]): readonly string[] {
  const config = parsed(lines)
  if (!Array.isArray(config)) throw new Error('The configuration was taken')
  return config.map(({ key, message }) => `${key}: ${message}`)
}

function parsed(lines: readonly string[]) {
  return parseConfig([...lines, ''].join('\n'), '/etc/skillsyncd/skillsyncd.yaml', ENVIRONMENT)
}

/** The configuration of a follower. */
function following(follow: string, ...keys: readonly string[]): string {
  return `sources: [{ ${['id: hub', `follow: { ${follow} }`, ...keys].join(', ')} }]`
}

test('a channel has a name, and a key or several, which are read where they are named', () => {
  const one = parse(HUB, CHANNEL)
  const both = parse(HUB, 'channel: { name: c.example/x, key: [{ env: OLD_KEY }, { credential: new.key }] }')

  expect(one.channel).toEqual({
    name: 'skills.example.com/channel',
    keys: [{ kind: 'file', path: '/etc/skillsyncd/channel.key' }],
    witnesses: [],
    quorum: 0,
  })
  expect(both.channel?.keys).toEqual([
    { kind: 'env', name: 'OLD_KEY' },
    { kind: 'credential', name: 'new.key' },
  ])
  expect(parse(HUB).channel).toBeUndefined()
})

test('a folder has the channel of a ring, and for the last ring that of everything', () => {
  const rings = 'rings: [{ id: canary }, { id: stable }]'
  const { channelFolders } = parse(HUB, CHANNEL, rings, 'publish: [{ to: /a, ring: canary }, { to: /b, ring: stable }]')

  expect(channelFolders).toEqual([
    { to: '/a', pack: undefined, ring: 'canary' },
    { to: '/b', pack: undefined, ring: undefined },
  ])
})

test('a folder has the channel of everything or of one pack, beside branches with the marketplace', () => {
  const config = parse(
    HUB,
    CHANNEL,
    'serve: { marketplace: { name: acme } }',
    'packs: [{ id: web, include: [{ path: "web/**" }] }]',
    "publish: [{ to: out }, { to: /srv/web, pack: web }, { git: 'https://git.example.com/team/out.git' }]",
  )

  expect(config.channelFolders).toEqual([
    { to: '/etc/skillsyncd/out', pack: undefined },
    { to: '/srv/web', pack: 'web' },
  ])
  expect(config.publications.map(({ url }) => url)).toEqual(['https://git.example.com/team/out.git'])
})

test('a folder needs no marketplace', () => {
  expect(parse(HUB, CHANNEL, 'publish: [{ to: out }]').channelFolders).toHaveLength(1)
})

test.each([
  ['publish: [{ to: out, git: "https://git.example.com/o.git" }]', 'publish[0]: needs exactly one of `git`, `to`'],
  ['publish: [{ to: out, branch: main }]', 'publish[0].branch: goes with `git` alone: a folder has no host'],
  ['publish: [{ to: out, auth: { token: { env: A } } }]', 'publish[0].auth: goes with `git` alone'],
  ['publish: [{ to: out, ca: ca.pem }]', 'publish[0].ca: goes with `git` alone'],
  ['publish: [{ to: out, proxy: none }]', 'publish[0].proxy: goes with `git` alone'],
  ['publish: [{ to: out, pack: none }]', 'publish[0].pack: must be the id of a pack'],
  ['publish: [{ to: out, ring: none }]', 'publish[0].ring: must be the id of a ring'],
  ['publish: [{ to: out, ring: none, pack: none }]', 'publish[0].ring: does not go with `pack`'],
  ['publish: [{ git: "https://git.example.com/o.git", ring: none }]', 'publish[0].ring: goes with `to` alone'],
  ['publish: [{ to: out }, { to: out }]', 'publish[1]: has the folder of publish[0]; they must differ'],
])('%s is refused: %s', (line, message) => {
  expect(problems(HUB, CHANNEL, line).join('\n')).toContain(message)
})

test('a folder needs a channel to write', () => {
  expect(problems(HUB, 'publish: [{ to: out }]')).toEqual([
    'publish[0]: needs `channel`, which has the name and the key of what is published',
  ])
})

test.each([
  ['channel: { key: { env: A } }', 'channel.name'],
  ['channel: { name: c.example }', 'channel.key: must be { env: NAME }'],
  ['channel: { name: c.example, key: [] }', 'channel.key: must not be empty'],
  ['channel: { name: "two words", key: { env: A } }', 'channel.name: must be a name without spaces and +'],
  ['channel: { name: "a+b", key: { env: A } }', 'channel.name: must be a name without spaces and +'],
])('%s is refused: %s', (line, message) => {
  expect(problems(HUB, line).join('\n')).toContain(message)
})

test('a private key that was written into the file is refused and not quoted', () => {
  const secret = 'PRIVATE+KEY+skills.example.com/channel+b5f47017+AYEGw220LAsMBklAJFm0neRDwqD54Cr0OZP4nJZ0mhW'

  const found = problems(HUB, `channel: { name: skills.example.com/channel, key: '${secret}' }`).join('\n')

  expect(found).toContain('channel.key')
  expect(found).not.toContain('AYEGw220')
})

test('a channel is followed at an address, which ends with a slash then, or in a folder', () => {
  const [atAddress] = parse(following(`url: 'https://skills.example.com/channel', key: '${KEY}', max_age: 3d`)).sources
  const [inFolder] = parse(following(`path: ../usb/channel, key: ['${KEY}', '${NEXT_KEY}']`)).sources

  expect(atAddress?.source).toMatchObject({
    kind: 'channel',
    id: 'hub',
    url: 'https://skills.example.com/channel/',
    place: { kind: 'http' },
    keys: [KEY],
    maxAgeMs: 259_200_000,
  })
  expect(inFolder?.source).toMatchObject({
    kind: 'channel',
    url: 'file:///etc/usb/channel',
    place: { kind: 'folder', path: '/etc/usb/channel' },
    keys: [KEY, NEXT_KEY],
    maxAgeMs: undefined,
  })
})

test('a token of a hub is sent as a bearer token, that of the source or of `defaults`', () => {
  const defaults = "defaults: [{ match: 'https://skills.example.com', auth: { token: { env: SHARED } } }]"
  const follow = `url: 'https://skills.example.com/channel/', key: '${KEY}'`

  const [own] = parse(following(follow, 'auth: { token: { env: HUB_TOKEN } }')).sources
  const [shared] = parse(defaults, following(follow)).sources

  expect(own?.access).toEqual({ kind: 'bearer', token: { kind: 'env', name: 'HUB_TOKEN' } })
  expect(shared?.access).toEqual({ kind: 'bearer', token: { kind: 'env', name: 'SHARED' } })
})

test.each([
  [`url: 'https://c.example/channel/'`, 'sources[0].follow.key: must be a public key of the channel, or a list'],
  [`key: '${KEY}'`, 'sources[0].follow: needs exactly one of `url`, `path`'],
  [`url: 'https://c.example/', path: c, key: '${KEY}'`, 'sources[0].follow: needs exactly one of `url`, `path`'],
  [`path: c, key: '${KEY.replace('b5f47017', 'b5f47018')}'`, 'sources[0].follow.key: must be the public key'],
  [`path: c, key: ['${KEY}', '${OTHER_KEY}']`, 'sources[0].follow: has keys with different names'],
  ['path: c, key: []', 'sources[0].follow.key: must not be empty'],
  [`url: 'ftp://c.example/', key: '${KEY}'`, 'sources[0].follow.url'],
  [`url: 'https://c.example/?a=b', key: '${KEY}'`, 'sources[0].follow.url: must not contain a query or a fragment'],
  [`path: c, key: '${KEY}', max_age: soon`, 'sources[0].follow.max_age'],
])('follow: { %s } is refused: %s', (follow, message) => {
  expect(problems(following(follow)).join('\n')).toContain(message)
})

test.each([
  ['ref: main', 'goes with `url` alone'],
  ['signed: { require: commit, keyring: keys.asc }', 'goes with `url` alone'],
  ['root: skills', 'goes with `url` and `path` alone'],
  ['docs: docs', 'goes with `url` and `path` alone'],
  ['on_broken: refuse', 'the hub of a channel has decided it'],
  ['contract: true', 'the hub of a channel has decided it'],
  ["unlisted: ['a/**']", 'the hub of a channel has decided it'],
  ['hidden_unicode: withhold', 'the hub of a channel has decided it'],
  ['approval: none', 'it is about skills of another server'],
])('beside `follow`, %s is refused: %s', (key, message) => {
  expect(problems(following(`url: 'https://c.example/', key: '${KEY}'`, key)).join('\n')).toContain(message)
})

test('a source is one thing: a channel is neither a repository nor a server', () => {
  const both = problems(following(`path: c, key: '${KEY}'`, "url: 'https://git.example.com/team/a.git'"))

  expect(both.join('\n')).toContain('keep one of them')
})

test('a folder has no host, and a token never crosses the network in clear', () => {
  const token = 'auth: { token: { env: A } }'

  const inFolder = problems(following(`path: c, key: '${KEY}'`, token))
  const inClear = problems(following(`url: 'http://c.example/', key: '${KEY}'`, token))

  expect(inFolder).toEqual(['sources[0].auth: is only for the address of a channel: a folder has no host'])
  expect(inClear.join('\n')).toContain('would cross the network in clear')
})

const FOLLOW = `url: 'https://skills.example.com/channel/', key: '${KEY}'`

test('a hub can be followed in place of sources, with the access and the times of a source', () => {
  const config = parse(`follow: { ${FOLLOW}, max_age: 3d, every: 30s, update: review, auth: { token: { env: T } } }`)

  expect(config.sources).toEqual([])
  expect(config.follow).toMatchObject({
    source: {
      kind: 'channel',
      isNamesake: true,
      url: 'https://skills.example.com/channel/',
      maxAgeMs: 259_200_000,
      schedule: { kind: 'every', periodMs: 30_000 },
      update: 'review',
      include: ['**'],
    },
    access: { kind: 'bearer', token: { kind: 'env', name: 'T' } },
  })
})

test('each source of a followed hub has the access that `defaults` give to its address', () => {
  const defaults = "defaults: [{ match: 'https://skills.example.com', auth: { token: { env: SHARED } } }]"

  const config = withHubSources(parse(defaults, `follow: { ${FOLLOW} }`), {
    sources: [sourceId('a'), sourceId('b')],
    gone: [sourceId('b')],
  })

  const access = { kind: 'bearer', token: { kind: 'env', name: 'SHARED' } }
  expect(config.sources).toMatchObject([
    { source: { id: 'a' }, access },
    { source: { id: 'b', isGone: true }, access },
  ])
})

test.each([
  [[`follow: { ${FOLLOW} }`, HUB], 'follow: is used together with `sources`'],
  [['state: state'], 'sources: is missing'],
  [[`follow: { ${FOLLOW}, path: x }`], 'follow: needs exactly one of `url`, `path`'],
  [[`follow: { ${FOLLOW}, include: ['a/**'] }`], 'follow.include'],
  [[`follow: { path: x, key: '${KEY}', auth: { token: { env: T } } }`], 'follow.auth: is only for the address'],
  [
    [`follow: { url: 'http://skills.example.com/', key: '${KEY}', auth: { token: { env: T } } }`],
    'follow.auth: would cross the network',
  ],
  [[`follow: { url: 'https://a.example/', key: ['${KEY}', '${OTHER_KEY}'] }`], 'follow: has keys with different names'],
  [[`follow: { url: 'https://a.example/' }`], 'follow.key'],
])('%j is refused: %s', (lines, message) => {
  expect(problems(...lines).join('\n')).toContain(message)
})

/** The keys of three witnesses. */
const WITNESSES = [1, 2, 3].map((number) =>
  verifierText(signerOf(`witness.example.com/w${number}`, Buffer.alloc(32, number), 'cosignature')),
)

function channelWith(rest: string): string {
  return `channel: { name: skills.example.com/channel, key: { file: channel.key }, ${rest} }`
}

function witnessesAt(...keys: readonly string[]): string {
  return `witnesses: [${keys.map((key, index) => `{ url: 'https://w${index}.example.com/x', key: '${key}' }`).join(', ')}]`
}

test('a hub has witnesses with the proxy and the certificates of their hosts, and no credential', () => {
  const defaults =
    "defaults: [{ match: 'https://w1.example.com/', ca: ca.pem, proxy: none, auth: { token: { env: T } } }]"
  const { channel } = parse(HUB, defaults, channelWith(witnessesAt(...WITNESSES)))

  expect(channel?.quorum).toBe(2)
  expect(channel?.witnesses).toMatchObject([
    { url: 'https://w0.example.com/x/', key: WITNESSES[0], ca: undefined, proxy: { kind: 'variables' } },
    { url: 'https://w1.example.com/x/', key: WITNESSES[1], ca: '/etc/skillsyncd/ca.pem', proxy: { kind: 'none' } },
    { url: 'https://w2.example.com/x/', key: WITNESSES[2] },
  ])
  expect(JSON.stringify(channel)).not.toContain('"T"')
})

test('the quorum is the majority of the witnesses, unless another number is set', () => {
  const quorums = [1, 2, 3].map((count) => {
    const keys = WITNESSES.slice(0, count)
    return parse(HUB, channelWith(witnessesAt(...keys))).channel?.quorum
  })
  const { source } = parse(following(`path: /usb, key: '${KEY}', witnesses: ['${WITNESSES.join("', '")}'], quorum: 3`))
    .sources[0]!

  expect(quorums).toEqual([1, 2, 2])
  expect(source).toMatchObject({ witnesses: WITNESSES, quorum: 3 })
  expect(parse(following(`path: /usb, key: '${KEY}'`)).sources[0]?.source).toMatchObject({ witnesses: [], quorum: 0 })
})

test.each([
  [`${witnessesAt(...WITNESSES)}, quorum: 4`, 'channel.quorum: is above the number of `witnesses`'],
  ['quorum: 1', 'channel.quorum: is above the number of `witnesses`'],
  [`${witnessesAt(...WITNESSES)}, quorum: 0`, 'channel.quorum: '],
  [witnessesAt(WITNESSES[0]!, WITNESSES[0]!), 'channel.witnesses: has the same key twice'],
  [witnessesAt(KEY), 'channel.witnesses[0].key: must be the public key of a witness'],
  ['witnesses: []', 'channel.witnesses: '],
  [`witnesses: [{ key: '${WITNESSES[0]}' }]`, 'channel.witnesses[0]'],
])('a channel with %s is refused: %s', (rest, message) => {
  expect(problems(HUB, channelWith(rest)).join('\n')).toContain(message)
})

test('one key under two names is one witness', () => {
  const again = verifierText(signerOf('other.example.com', Buffer.alloc(32, 1), 'cosignature'))

  expect(problems(following(`path: /usb, key: '${KEY}', witnesses: ['${WITNESSES[0]}', '${again}']`)).join()).toContain(
    'sources[0].follow.witnesses: has the same key twice',
  )
  expect(problems(following(`path: /usb, key: '${KEY}', witnesses: ['${OTHER_KEY}']`)).join()).toContain(
    'must be the public key of a witness',
  )
  expect(problems(following(`path: /usb, key: '${WITNESSES[0]}'`)).join()).toContain(
    'must be the public key of a channel',
  )
})
