import { chmod, open, readFile, readdir, rename, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { Store } from '../../src/sync/store/store.ts'
import { skill } from '../e2e/world.ts'
import type { Program } from '../support/process/program.ts'
import { Scene } from './scene.ts'
import { listingAt } from './witness.ts'
import type { Listing } from './witness.ts'

// No packs, indexes or loose objects are kept here (37): what a source has is in the store, as files of skills (38), in a
// snapshot, and in a generation that names it.

/** A folder that is gone takes all of them with it. */
const OF_THE_SKILL = ['skill://team/large/data.bin', 'skill://team/large/SKILL.md']
/** To be answered from memory: each reading is one of the disk. */
const TOO_LARGE = Buffer.alloc(2 ** 20 + 1, 'large')

test('a stored file that is damaged in any way is refused and never read wrong, and is had again by itself', async () => {
  await using scene = await Scene.set()
  await scene.repository.commit({ 'large/SKILL.md': skill('large', 'large'), 'large/data.bin': TOO_LARGE })
  await scene.play()
  const sound = await readFile(await storedFile(scene, 'large/data.bin'))

  for (const harm of [flip, shorten, remove, removeFolder, removeStore, linkAway]) {
    const said = scene.fromNow()
    for (const uri of OF_THE_SKILL) scene.witness.forgiven.add(uri)
    const file = await storedFile(scene, 'large/data.bin')
    await chmod(file, 0o600)
    await harm(file)
    // The witness is the one who reads.
    await said((line) => line.includes('"content-damaged"'))
    await said((line) => line.includes('"source-updated"'))
    await scene.witness.looksAgain()
    scene.witness.forgiven.clear()
    expect(await readFile(await storedFile(scene, 'large/data.bin')), harm.name).toEqual(sound)
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

  for (const harm of [...HARMS, LOST_RECORD]) {
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

test('a folder of the store that is lost while the daemon runs is made again by the next look, with what was in it', async () => {
  await using scene = await Scene.set()
  expect(await scene.home.command('sync')).toMatchObject({ status: 0 })
  expect(await scene.home.command('link', 'claude-code')).toMatchObject({ status: 0 })
  await scene.commit()
  await scene.play()
  const linked = await linkedIn(scene)

  for (const name of ['snapshots', 'generations', 'sources', 'links', 'upstreams', 'docs', 'tmp']) {
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
  expect(await scene.home.command('link', 'claude-code')).toMatchObject({ status: 0 })
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
  { name: 'a snapshot of zeros', done: async (scene) => zero(await snapshotFile(scene)) },
  { name: 'a snapshot that is gone', done: async (scene) => rm(await snapshotFile(scene)) },
  { name: 'a generation that is gone', done: async (scene) => rm(await generationFile(scene)) },
  { name: 'a generation of zeros', done: async (scene) => zero(await generationFile(scene)) },
  { name: 'a pointer to nowhere', done: async ({ home }) => writeFile(join(home.state, 'current'), '999\n') },
  { name: 'a pointer that is none', done: async ({ home }) => writeFile(join(home.state, 'current'), 'x\n') },
  { name: 'no pointer', done: async ({ home }) => rm(join(home.state, 'current')) },
]

const HARMS_TO_DECISIONS: readonly Harm[] = [
  { name: 'decisions of zeros', done: async ({ home }) => zero(join(home.state, 'decisions.json')) },
  { name: 'no decisions', done: async ({ home }) => rm(join(home.state, 'decisions.json')) },
]

const HARM_TO_COPY: Harm = {
  name: 'a copy of decisions of zeros',
  done: async ({ home }) => zero(join(home.state, 'decisions-copy.json')),
}

const LOST_RECORD: Harm = {
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
  const store = (await Store.openExisting(home.state))!
  const [newest] = await store.generations.numbers()
  const generation = await store.generations.read(newest!)
  expect(await readFile(join(home.state, 'current'), 'utf8')).toBe(`${newest}\n`)
  for (const { snapshot } of generation!.sources) expect(await store.snapshots.readWhole(snapshot)).toBeDefined()
}

/** That what a person decided is there too. */
async function expectDecided({ home }: Scene): Promise<void> {
  const { decisions } = (await Store.openExisting(home.state))!
  await decisions.read()
  expect([...decisions.disabled.keys()]).toEqual(['team'])
}

async function snapshotFile({ home }: Scene): Promise<string> {
  const store = (await Store.openExisting(home.state))!
  const [held] = (await store.generations.current())!.sources
  return join(home.state, 'snapshots', `${held!.snapshot}.json`)
}

async function generationFile({ home }: Scene): Promise<string> {
  return join(home.state, 'generations', `${(await readFile(join(home.state, 'current'), 'utf8')).trim()}.json`)
}

async function storedFile({ home }: Scene, path: string): Promise<string> {
  const skills = join(home.state, 'skills')
  const files = await readdir(skills, { recursive: true })
  return join(
    skills,
    files.find((file) => file.endsWith(path))!,
  )
}

async function flip(file: string): Promise<void> {
  await using handle = await open(file, 'r+')
  await handle.write(Buffer.from([0]), 0, 1, 100)
}

async function shorten(file: string): Promise<void> {
  await truncate(file, 100)
}

async function remove(file: string): Promise<void> {
  await rm(file)
}

async function removeFolder(file: string): Promise<void> {
  await rm(dirname(file), { recursive: true })
}

async function removeStore(file: string): Promise<void> {
  await rm(join(dirname(file), '..', '..'), { recursive: true })
}

async function zero(file: string): Promise<void> {
  const { length } = await readFile(file)
  await writeFile(file, Buffer.alloc(length))
}

/** The bytes are the right ones, and yet nobody is led out of the store. */
async function linkAway(file: string): Promise<void> {
  const aside = `${dirname(dirname(dirname(file)))}/.elsewhere`
  await rename(file, aside)
  await symlink(aside, file)
}

async function modeOf(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined)
  return found && found.mode & 0o777
}
