import { createHash } from 'node:crypto'
import { readFile, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { firstPlace } from '../../src/sync/model/decisions/out-of-service.ts'
import { Store } from '../../src/sync/store/store.ts'
import { skill } from '../e2e/world.ts'
import { changeDatabase, damageObject, loseObject, servedIn } from '../support/damage.ts'
import type { Program } from '../support/process/program.ts'
import { Scene } from './scene.ts'
import { listingAt } from './witness.ts'
import type { Listing } from './witness.ts'

// No packs, indexes or loose objects are kept here (37): what a source has is in the database of objects, as bytes of
// files (38), in a snapshot, and in a generation that names it.

const LARGE = 'skill://team/large/data.bin'
/** To be answered from memory: each reading is one of the disk. In the database it is in pieces. */
const TOO_LARGE = Buffer.alloc(2 ** 20 + 1, 'large')
const DIGEST = createHash('sha256').update(TOO_LARGE).digest('hex')

test('a stored file that is damaged in any way is refused and never read wrong, and is had again by itself', async () => {
  await using scene = await Scene.set()
  await scene.repository.commit({ 'large/SKILL.md': skill('large', 'large'), 'large/data.bin': TOO_LARGE })
  await scene.play()

  for (const harm of [flip, shorten, lengthen, losePiece, swapPieces, damageObject, loseObject]) {
    const said = scene.fromNow()
    scene.witness.forgiven.add(LARGE)
    harm(scene.home.state, DIGEST)
    // The witness is the one who reads.
    await said((line) => line.includes('"content-damaged"'))
    await said((line) => line.includes('"source-updated"'))
    await scene.witness.looksAgain()
    scene.witness.forgiven.clear()
    using store = (await Store.openExisting(scene.home.state))!
    expect(Buffer.from((await store.objects.get(DIGEST))!).equals(TOO_LARGE), harm.name).toBe(true)
  }

  await scene.recovers()
  await scene.expectWell()
})

test('what the disk loses of the store while the daemon runs is there again within two looks, and nothing is served otherwise', async () => {
  await using scene = await Scene.set()
  await decided(scene)
  await scene.play()

  for (const harm of [...HARMS, ...HARMS_TO_DECISIONS, HARM_TO_COPY]) {
    const said = scene.fromNow()
    const looks = scene.looks
    await harm.done(scene)
    await said((line) => line.includes('"store-mended"'))
    expect(scene.looks - looks, harm.name).toBeLessThanOrEqual(2)
    await expectWhole(scene)
    await expectDecided(scene)
    await scene.witness.looksAgain()
  }

  await scene.recovers()
  await scene.expectWell()
})

test('whatever is lost of the store while no daemon runs, a start serves what is whole, and has the newest again by itself', async () => {
  await using scene = await Scene.set()
  await scene.play()
  const first = await served(scene.daemon)
  await scene.recovers()
  await scene.expectWell()
  const past = [first, await served(scene.daemon)]
  let daemon = scene.daemon

  for (const harm of [...HARMS, HARM_TO_RECORD]) {
    await daemon.kill()
    await harm.done(scene)
    await scene.git.goAway()
    daemon = scene.home.start('start')
    expect(past, harm.name).toContainEqual(await served(daemon))
    await scene.git.comeBack()
    const commit = await scene.commit()
    await daemon.said((line) => line.includes('"source-updated"') && line.includes(commit))
    await expectWhole(scene)
    past.push(await served(daemon))
  }
})

test('a database that is lost or damaged under the daemon is replaced within two looks, and what was served is served all the while', async () => {
  await using scene = await Scene.set()
  await decided(scene)
  await scene.play()

  for (const harm of HARMS_TO_DATABASE) {
    const said = scene.fromNow()
    const looks = scene.looks
    await harm.done(scene)
    // What is in memory of a damaged one may be right: SQLite finds the rest when it reads it.
    const commit = await scene.commit()
    expect(JSON.parse(await said((line) => line.includes('"store-replaced"'))), harm.name).toMatchObject({
      level: 'error',
      code: 'store-failed',
      message: expect.stringContaining(join(scene.home.state, 'store.db')),
    })
    await said((line) => line.includes('"source-updated"') && line.includes(commit))
    expect(scene.looks - looks, harm.name).toBeLessThanOrEqual(MOST_LOOKS)
    await expectWhole(scene)
    await expectDecided(scene)
    await scene.witness.looksAgain()
  }

  await scene.recovers()
  await scene.expectWell()
})

test('a database that is lost or damaged while no daemon runs costs a start nothing that can be fetched again, and no decision', async () => {
  await using scene = await Scene.set()
  await decided(scene)
  await scene.play()
  await scene.expectWell()
  const uris = [...(await served(scene.daemon)).keys()]
  let daemon = scene.daemon

  for (const harm of HARMS_TO_DATABASE) {
    const numbers = await numbersIn(scene)
    await daemon.kill()
    await harm.done(scene)
    const commit = await scene.commit()
    daemon = scene.home.start('start')
    await daemon.said((line) => line.includes('"source-updated"') && line.includes(commit))
    expect([...(await served(daemon)).keys()], harm.name).toEqual(uris)
    await expectWhole(scene)
    await expectDecided(scene)
    expect(Math.min(...(await numbersIn(scene))), 'no number is used twice').toBeGreaterThan(Math.max(...numbers))
  }
})

test('a folder of the store that is lost while the daemon runs is made again by the next look, with what was in it', async () => {
  await using scene = await Scene.set()
  expect(await scene.home.command('sync')).toMatchObject({ status: 0 })
  expect(await scene.home.command('link', '--once', 'claude-code')).toMatchObject({ status: 0 })
  await scene.commit()
  await scene.play()
  const linked = await linkedIn(scene)

  for (const name of ['checkouts', 'generations', 'sources', 'links', 'upstreams', 'tmp']) {
    const said = scene.fromNow()
    const looks = scene.looks
    await rm(join(scene.home.state, name), { recursive: true, maxRetries: 20 })
    await said((line) => line.includes('"store-mended"'))
    expect(scene.looks - looks, name).toBeLessThanOrEqual(2)
    // What was said may have been of the folder before, which the store was filled again after.
    await expect.poll(async () => modeOf(join(scene.home.state, name)), FILLED).toBe(0o700)
    // The folder is made before the look, and filled after it.
    await expect.poll(async () => expectWhole(scene).catch(String), FILLED).toBeUndefined()
    await expect.poll(async () => linkedIn(scene).catch(String), FILLED).toEqual(linked)
    await scene.witness.looksAgain()
  }

  await scene.recovers()
  await scene.expectWell()
})

test('decisions that are damaged while no daemon runs are had from their copy: what is disabled stays so, and sources move', async () => {
  await using scene = await Scene.set()
  await decided(scene)
  await scene.play()
  await scene.expectWell()
  const seen = await served(scene.daemon)
  await scene.daemon.kill()

  for (const harm of HARMS_TO_DECISIONS) {
    await harm.done(scene)
    const commit = await scene.commit()
    const daemon = scene.home.start('start')
    const told = await daemon.said((line) => line.includes('"decisions-damaged"'))
    await daemon.said((line) => line.includes('"source-updated"') && line.includes(commit))
    expect([...(await served(daemon)).keys()], harm.name).toEqual([...seen.keys()])
    expect(told).toContain('decisions.json')
    await expectDecided(scene)
    await daemon.kill()
  }
})

test('while nobody can read the decisions nothing moves, and nothing that may be disabled is served, until a person mended one file', async () => {
  await using scene = await Scene.set()
  await decided(scene)
  expect(await scene.home.command('link', '--once', 'claude-code')).toMatchObject({ status: 0 })
  await scene.play()
  await scene.expectWell()
  const seen = await served(scene.daemon)
  const linked = await linkedIn(scene)
  await scene.daemon.kill()
  const files = ['decisions.json', 'decisions-copy.json'].map((name) => join(scene.home.state, name))
  const sound = await readFile(files[0]!)
  for (const file of files) await zero(file)
  const commit = await scene.commit()

  const daemon = scene.home.start('start')

  const failed = await daemon.said((line) => line.includes('"pull-failed"'))
  expect(JSON.parse(failed)).toMatchObject({ code: 'store-failed', message: expect.stringContaining(files[0]!) })
  expect(await served(daemon)).toEqual(new Map())
  expect(await linkedIn(scene), 'an agent goes on with what it has').toEqual(linked)
  for (const file of files) expect(await readFile(file), 'left for a person to look at').not.toEqual(sound)
  await writeFile(files[1]!, sound)
  await daemon.said((line) => line.includes('"source-updated"') && line.includes(commit))
  expect([...(await served(daemon)).keys()]).toEqual([...seen.keys()])
})

const FILLED = { timeout: 60_000 }

interface Harm {
  readonly name: string
  readonly done: (scene: Scene) => Promise<void>
}

const HARMS: readonly Harm[] = [
  { name: 'a damaged snapshot', done: async (scene) => damageObject(scene.home.state, await snapshotIn(scene)) },
  { name: 'a snapshot that is gone', done: async (scene) => loseObject(scene.home.state, await snapshotIn(scene)) },
  { name: 'a generation that is gone', done: async ({ home }) => loseObject(home.state, servedIn(home.state)) },
  { name: 'a damaged generation', done: async ({ home }) => damageObject(home.state, servedIn(home.state)) },
  { name: 'a head of nothing', done: async ({ home }) => changeDatabase(home.state, HEAD_OF_NOTHING) },
  { name: 'a head that is gone', done: async ({ home }) => changeDatabase(home.state, NO_NEWEST_HEAD) },
]

const HEAD_OF_NOTHING = 'INSERT INTO head SELECT max(sequence) + 1, zeroblob(32) FROM head'
const NO_NEWEST_HEAD = 'DELETE FROM head WHERE sequence = (SELECT max(sequence) FROM head)'

const HARMS_TO_DATABASE: readonly Harm[] = [
  { name: 'no database', done: async ({ home }) => removeDatabase(home.state) },
  { name: 'a database of zeros', done: async ({ home }) => zero(databaseIn(home.state)) },
  { name: 'a database that ends early', done: async ({ home }) => truncate(databaseIn(home.state), 20_000) },
  { name: 'a database of another program', done: async ({ home }) => writeFile(databaseIn(home.state), TEXT) },
]

const TEXT = 'This was written over it.\n'.repeat(4_000)

/** One is under way, one finds the damage, and one fetches. */
const MOST_LOOKS = 4

const HARMS_TO_DECISIONS: readonly Harm[] = [
  { name: 'decisions of zeros', done: async ({ home }) => zero(join(home.state, 'decisions.json')) },
  { name: 'no decisions', done: async ({ home }) => rm(join(home.state, 'decisions.json')) },
]

const HARM_TO_COPY: Harm = {
  name: 'a copy of decisions of zeros',
  done: async ({ home }) => zero(join(home.state, 'decisions-copy.json')),
}

const HARM_TO_RECORD: Harm = {
  name: 'a record of zeros',
  done: async ({ home }) => zero(join(home.state, 'sources', 'team.json')),
}

async function served(daemon: Program): Promise<Listing> {
  return listingAt(await daemon.line())
}

/** What an agent reads of each skill in its folder. */
async function linkedIn({ home }: Scene): Promise<readonly string[]> {
  const folder = join(home.path, '.claude', 'skills')
  const names = (await readdir(folder)).toSorted()
  return Promise.all(names.map(async (name) => readFile(join(folder, name, 'SKILL.md'), 'utf8')))
}

/** A skill that a person took out of service, and a commit to come. */
async function decided(scene: Scene): Promise<void> {
  await scene.repository.commit({ 'shunned/SKILL.md': skill('shunned', 'not to be served') })
  expect(await scene.home.command('sync')).toMatchObject({ status: 0 })
  expect(await scene.home.command('disable', 'skill://team/shunned/SKILL.md')).toMatchObject({ status: 0 })
  await scene.commit()
}

/** That who starts now finds on the disk what is served. */
async function expectWhole({ home }: Scene): Promise<void> {
  using store = (await Store.openExisting(home.state))!
  const [newest] = await store.generations.numbers()
  const generation = await store.generations.read(newest!)
  expect(generation?.sources).toHaveLength(1)
  for (const { snapshot } of generation!.sources) {
    const { skills } = await store.snapshots.read(snapshot)
    const files = skills.flatMap((each) => each.files).map(({ sha256 }) => sha256)
    expect(await store.objects.missing(files)).toEqual([])
  }
}

async function numbersIn({ home }: Scene): Promise<readonly number[]> {
  using store = (await Store.openExisting(home.state))!
  return await store.generations.numbers()
}

/** That what a person decided is there too. */
async function expectDecided({ home }: Scene): Promise<void> {
  using store = (await Store.openExisting(home.state))!
  const { decisions } = store
  await decisions.read()
  expect(decisions.outOfService.map((rule) => firstPlace(rule)?.source)).toEqual(['team'])
}

async function snapshotIn({ home }: Scene): Promise<string> {
  using store = (await Store.openExisting(home.state))!
  const [held] = (await store.generations.current())!.sources
  return held!.snapshot
}

function flip(state: string, digest: string): void {
  changePieces(state, digest, `bytes = CAST('X' || substr(bytes, 2) AS BLOB) WHERE at = 0`)
}

function shorten(state: string, digest: string): void {
  changePieces(state, digest, 'bytes = substr(bytes, 1, 100) WHERE at = 0')
}

function lengthen(state: string, digest: string): void {
  changePieces(state, digest, `bytes = CAST(bytes || 'X' AS BLOB) WHERE at > 0`)
}

function losePiece(state: string, digest: string): void {
  changePieces(state, digest, 'at = -1 WHERE at = 0')
}

/** The bytes are the right ones, in another order. */
function swapPieces(state: string, digest: string): void {
  for (const [from, to] of [
    [0, -1],
    [PIECE_BYTES, 0],
    [-1, PIECE_BYTES],
  ])
    changePieces(state, digest, `at = ${to} WHERE at = ${from}`)
}

const PIECE_BYTES = 2 ** 18

function changePieces(state: string, digest: string, change: string): void {
  changeDatabase(state, `UPDATE piece SET ${change} AND object = (SELECT id FROM object WHERE digest = x'${digest}')`)
}

/** The file of the database, which has everything: no write-ahead log has some of it. */
function databaseIn(state: string): string {
  changeDatabase(state, 'PRAGMA wal_checkpoint(TRUNCATE)')
  return join(state, 'store.db')
}

async function removeDatabase(state: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm']) await rm(join(state, `store.db${suffix}`), { force: true })
}

async function zero(file: string): Promise<void> {
  const { length } = await readFile(file)
  await writeFile(file, Buffer.alloc(length))
}

async function modeOf(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined)
  return found && found.mode & 0o777
}
