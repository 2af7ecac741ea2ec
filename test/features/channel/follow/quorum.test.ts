import { expect, test } from 'vitest'
import { cosignatureLine, signerOf, verifierText } from '../../../../src/sync/transparency-log/signed-note.ts'
import type { NoteSigner } from '../../../../src/sync/transparency-log/signed-note.ts'
import { signerNumber, skillNamed } from './site.ts'
import { World } from './world.ts'

const [ONE, TWO, THREE] = [1, 2, 3].map((number) =>
  signerOf(`witness.example.com/w${number}`, Buffer.alloc(32, 50 + number), 'cosignature'),
) as [NoteSigner, NoteSigner, NoteSigner]
const ALL = [ONE, TWO, THREE].map(verifierText)

/** Adds the cosignatures of these witnesses to the checkpoint that is served. */
function cosign(world: World, ...witnesses: readonly NoteSigner[]): void {
  const note = checkpointOf(world)
  const text = note.slice(0, note.lastIndexOf('\n\n') + 1)
  const lines = witnesses.map((witness) => cosignatureLine(text, witness, new Date()))
  world.channel.files.set('checkpoint', Buffer.from(note + lines.join('')))
}

function checkpointOf(world: World): string {
  return Buffer.from(world.channel.files.get('checkpoint') ?? []).toString()
}

/** The last request for a checkpoint. */
function lastCheckpoint(world: World) {
  return world.server.requests.findLast(({ path }) => path === 'checkpoint')
}

test.each([
  ['no witness', []],
  ['one of two', [ONE]],
  ['one of two, twice', [ONE, ONE]],
  ['one of two and an unknown one', [ONE, signerOf('stranger.example.com', Buffer.alloc(32, 9), 'cosignature')]],
])('a new state with the cosignatures of %s is refused, and the last one stays', async (_, witnesses) => {
  await using world = await World.open()
  Object.assign(world.follower.options, { witnesses: ALL, quorum: 2 })
  await world.channel.publish(skillNamed('one'), skillNamed('next'))
  cosign(world, ...witnesses)

  await world.expectRefused(
    'log-unwitnessed',
    expect.stringMatching(/of the 3 witnesses.* have cosigned it, and `quorum` is 2/),
  )

  cosign(world, TWO, THREE)
  await world.follower.updated()
  expect(Object.keys(await world.follower.skills())).toEqual(['team/next', 'team/one'])
})

test('an invalid cosignature of a known witness refuses the checkpoint, whatever else has signed it', async () => {
  await using world = await World.open()
  Object.assign(world.follower.options, { witnesses: ALL, quorum: 1 })
  await world.channel.publish(skillNamed('one'), skillNamed('next'))
  const good = checkpointOf(world)
  const line = cosignatureLine('another\n1\n\n', TWO, new Date())
  cosign(world, ONE)
  world.channel.files.set('checkpoint', Buffer.from(checkpointOf(world) + line))

  await world.expectRefused(
    'log-unsigned',
    expect.stringContaining('the signature of the key "witness.example.com/w2" is invalid'),
  )

  // For a follower without that witness, the line is of an unknown key.
  world.follower.options.witnesses = [verifierText(ONE)]
  await world.follower.updated()
  expect(good).not.toContain('witness')
})

test('cosignatures stand for no signature of the log', async () => {
  await using world = await World.open()
  Object.assign(world.follower.options, { witnesses: ALL, quorum: 1, keys: [verifierText(signerNumber(7))] })
  await world.channel.publish(skillNamed('one'), skillNamed('next'))
  cosign(world, ONE, TWO, THREE)

  await world.expectRefused('log-unsigned')
})

test('a checkpoint of which only the cosignatures changed is read again, and is no new state', async () => {
  await using world = await World.open()
  const { follower } = world
  expect(await follower.pull()).toMatchObject({ kind: 'unchanged' })
  expect(lastCheckpoint(world)?.status).toBe(304)

  cosign(world, ONE)
  expect(await follower.pull()).toMatchObject({ kind: 'unchanged' })
  expect(lastCheckpoint(world)?.status).toBe(200)
  expect(await follower.pull()).toMatchObject({ kind: 'unchanged' })
  expect(lastCheckpoint(world)?.status).toBe(304)
})

test('with other witnesses in the configuration, the answer that nothing is new is not asked for', async () => {
  await using world = await World.open()
  const { follower } = world
  cosign(world, ONE, TWO)
  // Without witnesses here, the cosignatures are those of unknown keys.
  await follower.pull()

  Object.assign(follower.options, { witnesses: [verifierText(ONE)], quorum: 1 })
  expect(await follower.pull()).toMatchObject({ kind: 'unchanged' })
  expect(lastCheckpoint(world)?.status).toBe(200)
  await follower.reopen()
  expect(await follower.pull()).toMatchObject({ kind: 'unchanged' })
  expect(lastCheckpoint(world)?.status).toBe(304)

  // A witness more, which has cosigned it too.
  Object.assign(follower.options, { witnesses: [ONE, TWO].map(verifierText), quorum: 2 })
  expect(await follower.pull()).toMatchObject({ kind: 'unchanged' })
  expect(lastCheckpoint(world)?.status).toBe(200)

  // A witness in place of another, which has not.
  Object.assign(follower.options, { witnesses: [ONE, THREE].map(verifierText), quorum: 2 })
  await world.expectRefused('log-unwitnessed')
  expect(lastCheckpoint(world)?.status).toBe(200)

  // A server that says that nothing is new, without being asked, is not believed.
  world.server.meddle = (_, response, path) => {
    if (path !== 'checkpoint') return false
    response.writeHead(304).end()
    return true
  }
  await world.expectRefused('source-unreachable')
})

test('a quorum that is lowered, and a witness that is taken out, need no new state', async () => {
  await using world = await World.open()
  const { follower } = world
  cosign(world, ONE, TWO)
  Object.assign(follower.options, { witnesses: ALL, quorum: 2 })
  await follower.pull()

  Object.assign(follower.options, { witnesses: [verifierText(TWO)], quorum: 1 })
  expect(await follower.pull()).toMatchObject({ kind: 'unchanged' })
  expect(lastCheckpoint(world)?.status).toBe(304)
})
