import { describe, expect, test } from 'vitest'
import { ChannelUpstream } from '../../../../src/features/channel/follow/channel-upstream.ts'
import { parseEntry } from '../../../../src/sync/store/channel-entry.ts'
import { verifierText } from '../../../../src/sync/transparency-log/signed-note.ts'
import { openProof, parseProof } from '../../../../src/sync/transparency-log/tlog-proof.ts'
import { PLAIN_WAY } from '../../../../src/sync/upstream/http/host-access.ts'
import type { LogAudit } from '../../../../src/sync/upstream/upstream.ts'
import { never, sourceId } from '../../../sync/store/samples.ts'
import { Follower } from './follower.ts'
import { AT, CraftedChannel, KEY, ORIGIN, SIGNER, signerNumber } from './site.ts'
import { entriesNamed, World } from './world.ts'

test('the whole log is read, and the entry that is served is found in it', async () => {
  await using world = await World.open({}, 300)
  await world.channel.append(...entriesNamed('later', 40))
  const read: number[] = []

  const audited = await audit(world, (entries) => read.push(entries))

  const served = { index: 299, at: AT }
  expect(audited).toEqual({ log: ORIGIN, entries: 340, first: AT, last: AT, served, unread: 0, findings: [] })
  expect(read).toEqual([256])
})

test.each<[what: string, path: RegExp]>([
  ['a tile', /^tile\/0\/000$/],
  ['a partial tile', /^tile\/0\/001\.p\/44$/],
  ['a tile of a higher level', /^tile\/1\/000\.p\/1$/],
  ['a bundle', /^tile\/entries\/000$/],
])('%s with a wrong byte is found', async (_, path) => {
  await using world = await World.open({}, 300)
  const [name, bytes] = [...world.channel.files].find(([one]) => path.test(one)) ?? []
  const wrong = Buffer.from(bytes ?? [])
  wrong[wrong.length - 1] = (wrong.at(-1) ?? 0) ^ 1
  world.channel.files.set(name ?? '', wrong)

  const { findings } = await audit(world)

  expect(findings.map(({ code }) => code)).toContain('content-refused')
  expect(findings.every(({ message }) => message.includes(world.server.url))).toBe(true)
})

test('a log that was forked, rolled back or signed by another key is reported with its code', async () => {
  await using world = await World.open({}, 3)
  const good = world.channel
  world.channel = new CraftedChannel()
  await world.channel.append(...entriesNamed('fork', 5))
  const forked = await audit(world)
  world.channel = good
  await good.sign(2)
  const rolledBack = await audit(world)
  await good.sign(3, signerNumber(2))
  const unsigned = await audit(world)

  expect(forked.findings.map(({ code }) => code)).toEqual(['log-forked', 'source-unreachable'])
  expect(rolledBack.findings.map(({ code }) => code)).toEqual(['log-rolled-back'])
  expect(unsigned.findings.map(({ code }) => code)).toEqual(['log-unsigned'])
  // What was seen before the faults is what was compared.
  expect([forked, rolledBack, unsigned].map(({ entries }) => entries)).toEqual([3, 3, 3])
})

test('entries of another form are counted', async () => {
  await using world = await World.open()
  await world.channel.append(Buffer.from('{"of":"a later version"}'), ...entriesNamed('later', 1))

  expect(await audit(world)).toMatchObject({ entries: 3, unread: 1, findings: [] })
})

test('a server that is away is a failure, and no finding', async () => {
  await using world = await World.open()
  world.server.meddle = (_, response) => {
    response.writeHead(503).end()
    return true
  }

  await expect(audit(world)).rejects.toMatchObject({ code: 'source-unreachable' })
})

test.each([1, 2, 3, 4, 7, 8, 256, 257, 513])('the newest of %i entries is proved without a request', async (size) => {
  await using world = await World.open({}, size)
  const before = world.server.requests.length

  const text = await prove(world)

  const proof = parseProof(text)
  const entry = proof.extra ?? Buffer.of()
  expect(openProof(proof, entry, ORIGIN, [SIGNER])).toMatchObject({ size })
  expect(proof.index).toBe(size - 1)
  expect(parseEntry(entry)?.head).toBe(world.follower.current?.snapshot.revision.commit)
  expect(world.server.requests.length).toBe(before)
})

test('the checkpoint of a new key is that of the next proof', async () => {
  const other = signerNumber(2)
  await using world = await World.open({ keys: [KEY, verifierText(other)] }, 6)
  await world.channel.sign(6, other)
  await world.follower.pull()

  const proof = parseProof(await prove(world))

  expect(openProof(proof, proof.extra ?? Buffer.of(), ORIGIN, [other])).toMatchObject({ size: 6 })
})

test('an earlier entry is proved by tiles, and one that they do not show is refused', async () => {
  await using world = await World.open({}, 5)
  await world.channel.append(...entriesNamed('later', 299))
  await world.channel.publish()
  await world.follower.upstream().resolve(never())
  const tile = world.channel.files.get('tile/0/000') ?? Buffer.of()

  const text = await prove(world)
  world.channel.files.set('tile/0/000', Buffer.alloc(tile.length))
  const damaged = prove(world)

  const proof = parseProof(text)
  expect(openProof(proof, proof.extra ?? Buffer.of(), ORIGIN, [SIGNER])).toMatchObject({ size: 305 })
  expect(proof.index).toBe(4)
  await expect(damaged).rejects.toMatchObject({ code: 'content-refused' })
})

test('nothing is proved of a log of which nothing is stored', async () => {
  await using world = await World.open()
  const { commit } = world.follower.current!.snapshot.revision
  const { followed } = world.follower.store
  const record = { ...(await followed.read(sourceId('hub')))!, proof: undefined }
  await using first = await Follower.open({ place: world.server.url })
  await followed.write(sourceId('hub'), record)

  for (const upstream of [first.upstream(), world.follower.upstream()]) {
    const failure = await upstream.prove(commit, undefined, never()).catch((error: unknown) => error)
    expect(failure).toMatchObject({
      code: 'source-unreachable',
      message: expect.stringMatching(/^Cannot follow ".*": nothing of its log is stored$/),
      fix: 'Run skillsyncd sync first',
    })
  }
})

test('a log of more entries than one audit reads is refused, and the hub is to be asked', async () => {
  await using world = await World.open()
  const { followed } = world.follower.store
  const record = (await followed.read(sourceId('hub')))!
  await followed.write(sourceId('hub'), { ...record, edge: { size: 2 ** 18, hashes: [Buffer.alloc(32)] } })

  await expect(audit(world)).rejects.toMatchObject({
    code: 'limit-exceeded',
    message: expect.stringMatching(/: its log has 262144 entries, over 131072$/),
    fix: expect.stringMatching(/^Ask the operator of the hub/),
  })
})

test('an object of another source is not taken for that of a source of the hub', async () => {
  await using world = await World.open()
  const { objects, followed: logs, decisions } = world.follower.store
  const named = (id: string) =>
    new ChannelUpstream(
      { ...world.follower.source, id: sourceId(id), isNamesake: true },
      {
        limits: world.follower.fetch,
        way: async () => PLAIN_WAY,
        followed: { objects, logs, decisions, now: () => new Date(AT) },
      },
    )
  const revision = await named('team').resolve(never())

  await expect(named('other').take(revision, () => undefined, never())).rejects.toMatchObject({
    code: 'content-refused',
    message: expect.stringMatching(/: [0-9a-f]{64} is not the source "other" of the hub$/),
  })
})

test('no entry is proved to be of another head', async () => {
  await using world = await World.open({}, 5)
  await world.channel.publish()
  await world.follower.upstream().resolve(never())
  const { commit } = world.follower.current!.snapshot.revision

  await expect(world.follower.upstream().prove(commit, 3, never())).rejects.toMatchObject({ code: 'content-refused' })
  await expect(world.follower.upstream().prove(commit, undefined, never())).rejects.toMatchObject({
    code: 'ref-not-found',
  })
})

async function audit({ follower }: World, onRead: (entries: number) => void = () => {}): Promise<LogAudit> {
  return follower.upstream().audit({ served: follower.current?.snapshot.revision.commit }, onRead, never())
}

async function prove({ follower }: World): Promise<string> {
  const { revision, published } = follower.current!.snapshot
  return follower.upstream().prove(revision.commit, published?.entry?.index, never())
}

describe('the checkpoint of another machine', () => {
  test.each([
    ['of the same log is found to be so', 4, []],
    ['that has seen more than the log has is reported', 20, ['log-rolled-back']],
  ])('%s', async (_, size, codes) => {
    await using world = await World.open({}, 3)
    await world.channel.append(...entriesNamed('later', 7))
    const other = new CraftedChannel()
    await other.append(...[...world.channel.entries, ...entriesNamed('more', 10)].slice(0, size))

    const { findings } = await compare(world, other)

    expect(findings.map(({ code }) => code)).toEqual(codes)
  })

  test.each([
    ['of a fork', SIGNER, 'log-forked'],
    ['that no key of the log has signed', signerNumber(2), 'log-unsigned'],
  ])('%s is found, whatever the size', async (_, signer, code) => {
    await using world = await World.open({}, 3)
    await world.channel.append(...entriesNamed('later', 7))

    for (const size of [1, 3, 10]) {
      const other = new CraftedChannel()
      await other.append(...entriesNamed('fork', size))
      await other.sign(size, signer)
      const { findings } = await compare(world, other)
      expect(findings.map((finding) => finding.code)).toEqual([code])
    }
  })
})

async function compare({ follower }: World, other: CraftedChannel): Promise<LogAudit> {
  return follower.upstream().audit({ other: String(other.files.get('checkpoint')) }, () => {}, never())
}

test('an entry that would not fit into the record of the log is refused, and the source goes on with the next', async () => {
  await using world = await World.open({}, 3)
  await world.channel.append(Buffer.from(JSON.stringify({ at: AT, head: 'e'.repeat(64), more: 'x'.repeat(4_096) })))

  await expect(world.follower.upstream().resolve(never())).rejects.toMatchObject({ code: 'content-refused' })
  await world.channel.publish()

  await expect(world.follower.upstream().resolve(never())).resolves.toMatchObject({ ref: 'channel' })
})
