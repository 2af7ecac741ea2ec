import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { signerText } from '../../../../src/sync/transparency-log/signed-note.ts'
import { Hub, skill } from '../../../scenarios/hub.ts'
import { pullNow } from '../../../support/pull-now.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { ORIGIN, SIGNER } from '../follow/site.ts'

const HOUR_MS = 3_600_000

test('a hub without a change adds an entry every twelve hours, to its log and to each folder', async () => {
  await using world = await open()
  await expect.poll(() => world.entries()).toEqual([1, 1])

  await world.hub.clock.advance(12 * HOUR_MS - 1)
  expect(world.entries()).toEqual([1, 1])
  await world.hub.clock.advance(1)
  await expect.poll(() => world.entries()).toEqual([2, 2])
  await expect.poll(() => world.sizeOfFolder()).toBe('2')

  // The next one counts from the newest.
  await world.hub.clock.advance(12 * HOUR_MS - 1)
  expect(world.entries()).toEqual([2, 2])
  await world.hub.clock.advance(1)
  await expect.poll(() => world.entries()).toEqual([3, 3])
})

test('a change between two of them puts the next one off', async () => {
  await using world = await open()
  await expect.poll(() => world.entries()).toEqual([1, 1])
  await world.hub.clock.advance(6 * HOUR_MS)
  await world.write('another')
  await pullNow(world.hub.daemon)
  await expect.poll(() => world.entries()).toEqual([2, 2])

  await world.hub.clock.advance(12 * HOUR_MS - 1)
  expect(world.entries()).toEqual([2, 2])
  await world.hub.clock.advance(1)
  await expect.poll(() => world.entries()).toEqual([3, 3])
})

test('a key that cannot be used is read again with growing delay, and a folder with another log each hour', async () => {
  await using world = await open({ isKeyRight: false })
  const codes = () => world.hub.daemon.parts.status.status().channels?.map(({ problem }) => problem?.code)
  await expect.poll(codes).toEqual(['credentials-rejected', 'credentials-rejected'])
  await mkdir(world.out, { recursive: true })
  await writeFile(join(world.out, 'checkpoint'), 'another.example/log\n1\nAAAA\n\n— another.example/log AAAA\n')
  await world.writeKey()

  await world.hub.clock.advance(10_000)
  await expect.poll(codes).toEqual([undefined, 'log-unsigned'])
  await rm(world.out, { recursive: true })
  await world.hub.clock.advance(HOUR_MS - 1)
  expect(codes()).toEqual([undefined, 'log-unsigned'])
  await world.hub.clock.advance(1)
  await expect.poll(codes).toEqual([undefined, undefined])
  expect(await world.sizeOfFolder()).toBe('1')
})

/** A running hub over a folder of skills, with a channel that it writes to a folder too. */
async function open({ isKeyRight = true } = {}) {
  await using opened = new AsyncDisposableStack()
  const { path } = opened.use(await temporaryFolder())
  const key = join(path, 'channel.key')
  const out = join(path, 'out')
  const writeKey = async () => writeFile(key, signerText(SIGNER, Buffer.alloc(32, 1)), { mode: 0o600 })
  const write = async (name: string) => {
    await mkdir(join(path, 'skills', name), { recursive: true })
    await writeFile(join(path, 'skills', name, 'SKILL.md'), skill(name))
  }
  await write('tidy')
  if (isKeyRight) await writeKey()
  else await writeFile(key, 'half a key', { mode: 0o600 })
  const hub = opened.use(
    await Hub.start({ team: [`path: ${path}/skills`, 'every: 24h'] }, undefined, [
      `channel: { name: ${ORIGIN}, key: { file: ${key} } }`,
      `publish: [{ to: ${out} }]`,
    ]),
  )
  await pullNow(hub.daemon)
  hub.daemon.poll()
  const held = opened.move()
  return {
    hub,
    out,
    write,
    writeKey,
    entries: () => hub.daemon.parts.status.status().channels?.map(({ entries }) => entries),
    sizeOfFolder: async () => (await readFile(join(out, 'checkpoint'), 'utf8')).split('\n')[1],
    [Symbol.asyncDispose]: async () => held.disposeAsync(),
  }
}
