import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { objectPath } from '../../../../src/features/channel/content/channel-entry.ts'
import { EMPTY_EDGE } from '../../../../src/sync/transparency-log/log-edge.ts'
import { verifierText } from '../../../../src/sync/transparency-log/signed-note.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { Follower } from './follower.ts'
import { AT, CraftedChannel, ORIGIN, SIGNER, signerNumber, skillNamed } from './site.ts'
import { entriesNamed, World } from './world.ts'

describe('a checkpoint', () => {
  test('that another key has signed is refused', async () => {
    await using world = await World.open()
    await world.channel.publish(skillNamed('evil'))
    await world.channel.sign(2, signerNumber(2))

    await world.expectRefused('log-unsigned')
    await world.recovers()
  })

  test('of another name is refused, although a configured key has signed it', async () => {
    const other = signerNumber(1, 'skills.example.com/other')
    await using world = await World.open({ keys: [verifierText(SIGNER), verifierText(other)] })
    await world.channel.publish(skillNamed('evil'))
    await world.channel.sign(2, other)

    await world.expectRefused('log-unsigned', expect.stringContaining('skills.example.com/other'))
    await world.recovers()
  })

  test('with a changed size is refused', async () => {
    await using world = await World.open()
    await world.channel.publish(skillNamed('evil'))
    const note = Buffer.from(world.channel.files.get('checkpoint') ?? []).toString()
    world.channel.files.set('checkpoint', Buffer.from(note.replace(`${ORIGIN}\n2\n`, `${ORIGIN}\n3\n`)))

    await world.expectRefused('log-unsigned', expect.stringContaining('invalid'))
    await world.recovers()
  })

  test('of a size that the log had before is refused', async () => {
    await using world = await World.open({}, 3)
    await world.channel.sign(2)

    await world.expectRefused('log-rolled-back')
    await world.channel.sign(0)
    await world.expectRefused('log-rolled-back')
    await world.recovers()
  })

  test('of the same size with other entries is refused', async () => {
    await using world = await World.open({}, 3)
    const good = world.channel
    world.channel = new CraftedChannel()
    await world.channel.append(...entriesNamed('fork', 2))
    await world.channel.publish(skillNamed('evil'))

    await world.expectRefused('log-forked')
    await world.recovers(good)
  })

  test.each([
    ['near', 4],
    ['in a later bundle', 300],
    ['far', 3_000],
  ])('of a longer log with another earlier entry is refused, %s', async (_, size) => {
    await using world = await World.open({}, 3)
    const good = world.channel
    world.channel = new CraftedChannel()
    await world.channel.append(...entriesNamed('fork', size - 1))
    await world.channel.publish(skillNamed('evil'))

    await world.expectRefused('log-forked')
    await world.recovers(good)
  })

  test('of a log that grew by thousands of entries is followed with few requests', async () => {
    await using world = await World.open({}, 3)
    await world.channel.append(...entriesNamed('later', 3_000))
    world.server.requests.length = 0

    await world.recovers()

    expect(world.server.requests.filter(({ path }) => path.startsWith('tile/')).length).toBeLessThan(6)
  })
})

describe('a stale log', () => {
  test('is refused once its newest entry is older than max_age, and followed when it goes on', async () => {
    let now = Date.parse(AT) + 3_600_000
    await using world = await World.open({ maxAgeMs: 3_600_000, now: () => new Date(now) })
    expect(await world.follower.pull()).toMatchObject({ kind: 'unchanged' })

    now += 1

    await world.expectRefused('log-stale')
    const head = { format: 1, sources: { items: [world.channel.source([skillNamed('one').skill])] } }
    await world.channel.publishHead(head, new Date(now).toISOString())
    expect(await world.follower.pull()).toMatchObject({ kind: 'unchanged' })
  })
})

test('a newer entry is taken although it is stale, and reported by the next pull', async () => {
  const now = Date.parse(AT) + 3_600_001
  await using world = await World.open({ maxAgeMs: 3_600_000, now: () => new Date(now) })
  expect(await world.follower.failure()).toMatchObject({ code: 'log-stale' })

  await world.channel.publish(skillNamed('one', 'changed'))
  await world.follower.updated()

  expect((await world.follower.skills())['team/one']?.files['SKILL.md']).toContain('changed')
  expect(await world.follower.failure()).toMatchObject({ code: 'log-stale' })
})

describe('a log', () => {
  const damage: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array | undefined>> = {
    missing: () => undefined,
    empty: () => Buffer.alloc(0),
    truncated: (bytes) => bytes.subarray(0, -1),
    changed: (bytes) => Buffer.from(bytes.map((byte, index) => (index === bytes.length >> 1 ? byte ^ 1 : byte))),
    'far longer': (bytes) => Buffer.concat([bytes, Buffer.alloc(2 ** 21, 1)]),
    random: (bytes) => Buffer.alloc(bytes.length, 0xa5),
  }

  test.each(Object.entries(damage))('with a bundle of entries that is %s is refused', async (_, damaged) => {
    await using world = await World.open()
    await world.channel.publish(skillNamed('evil'))
    const path = 'tile/entries/000.p/2'
    const bytes = world.channel.files.get(path) ?? Buffer.alloc(0)
    setFile(world.channel, path, damaged(bytes))

    await world.expectRefused(/^(content-refused|source-unreachable|limit-exceeded)$/)
    world.channel.files.set(path, bytes)
    await world.recovers()
  })

  const tiles = ['tile/0/011.p/186', 'tile/1/000.p/11']

  test.each(tiles.flatMap((path) => Object.entries(damage).map(([name, damaged]) => ({ path, name, damaged }))))(
    'with a tile $path that is $name is refused',
    async ({ path, damaged }) => {
      await using world = await World.open()
      await world.channel.append(...entriesNamed('later', 3_000))
      await world.channel.publish(skillNamed('evil'))
      const bytes = world.channel.files.get(path)
      if (bytes === undefined) throw new Error(`The log has no ${path}`)
      setFile(world.channel, path, damaged(bytes))

      await world.expectRefused(/^(content-refused|source-unreachable|limit-exceeded)$/)
      world.channel.files.set(path, bytes)
      await world.recovers()
    },
  )

  test.each([
    ['no JSON', 'evil\n'],
    ['JSON that is nested without end', '['.repeat(5_000)],
    ['an entry without a head', '{"at":"2026-06-15T12:00:00.000Z"}\n'],
    ['an entry with a head that is no digest', '{"at":"2026-06-15T12:00:00.000Z","head":"../../x"}\n'],
    ['bytes that are no text', Buffer.alloc(300, 0xff)],
    ['nothing', ''],
  ])('whose newest entry is %s is refused, and the next entry is followed', async (_, entry) => {
    await using world = await World.open()
    await world.channel.append(Buffer.from(entry))

    await world.expectRefused('content-refused')
    await world.recovers()
  })

  test('whose head is not there is refused, and followed once it is', async () => {
    await using world = await World.open()
    const head = await world.channel.publish(skillNamed('one'), skillNamed('two'))
    const bytes = world.channel.files.get(objectPath(head)) ?? Buffer.alloc(0)
    world.channel.files.delete(objectPath(head))

    await world.expectRefused('source-unreachable')
    world.channel.files.set(objectPath(head), bytes)
    await world.follower.updated()
    expect(Object.keys(await world.follower.skills())).toEqual(['team/one', 'team/two'])
  })
})

test('a log in a folder that is rolled back is refused, also after a restart', async () => {
  await using folder = await temporaryFolder()
  await using follower = await Follower.open({ place: folder.path })
  expect(await follower.failure()).toMatchObject({ code: 'repository-not-found' })

  const channel = new CraftedChannel()
  await channel.append(...entriesNamed('other', 2))
  await channel.publish(skillNamed('one'))
  await channel.writeTo(folder.path)
  await follower.updated()
  await channel.sign(2)
  await channel.writeTo(folder.path)
  await follower.reopen()

  expect(await follower.failure()).toMatchObject({ code: 'log-rolled-back' })
  expect(Object.keys(await follower.skills())).toEqual(['team/one'])
  await channel.publish(skillNamed('one'), skillNamed('two'))
  await channel.writeTo(folder.path)
  await follower.updated()
  expect(Object.keys(await follower.skills())).toEqual(['team/one', 'team/two'])
})

test.each([
  ['a folder', 'mkdir'],
  ['a named pipe', 'mkfifo'],
])('%s in place of the checkpoint is refused', async (_, program) => {
  await using folder = await temporaryFolder()
  await using follower = await Follower.open({ place: folder.path })
  await promisify(execFile)(program, [join(folder.path, 'checkpoint')])

  expect(await follower.failure()).toMatchObject({ code: 'source-unreachable' })
})

function setFile(channel: CraftedChannel, path: string, bytes: Uint8Array | undefined): void {
  if (bytes === undefined) channel.files.delete(path)
  else channel.files.set(path, bytes)
}

test('a server that says that nothing is new is not believed after the keys have changed', async () => {
  await using world = await World.open()
  world.follower.options.keys = [verifierText(signerNumber(2))]
  const conditions: (string | undefined)[] = []
  world.server.meddle = (request, response, path) => {
    if (path !== 'checkpoint') return false
    conditions.push(request.headers['if-none-match'])
    response.writeHead(304).end()
    return true
  }

  expect(await world.follower.failure()).toMatchObject({ code: 'source-unreachable' })
  expect(conditions).toEqual([undefined])
})

test('a record of a log is never replaced by that of a shorter one', async () => {
  await using world = await World.open({}, 3)
  const { followed } = world.follower.store
  const record = await followed.read(world.follower.source.id)
  if (record === undefined) throw new Error('Nothing was followed')
  await followed.write(world.follower.source.id, { ...record, edge: EMPTY_EDGE })

  expect(await followed.read(world.follower.source.id)).toEqual(record)
})
