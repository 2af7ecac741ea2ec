import { cp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { backUp, checkBackup, restore } from '../../../../src/sync/store/backup/backup.ts'
import { isTemporary } from '../../../../src/sync/store/files/atomic.ts'
import { isHalfRestored, openState } from '../../../../src/sync/store/files/state-folder.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { setHold } from '../../../support/decided.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { MOMENTS, isKilledIn, killAtCalls, pictureOf, type Picture } from '../changes.ts'
import { numbered, publishSamples, sampleDocs, sourceId, verifyCurrent } from '../samples.ts'

const HELD = { noPoll: true, at: '2026-06-15T10:00:00.000Z' } as const

const NOW = new Date('2026-01-02T03:04:05.678Z')

/** The files that a restore brings, of a state that has some of each kind. */
const LOCAL = ['current', 'decisions-copy.json', 'decisions.json', 'generations/decisions.json', 'tokens.json']

function placesIn(path: string) {
  return { state: join(path, 'state'), file: join(path, 'backup'), other: join(path, 'other') }
}

async function usedState(path: string): Promise<void> {
  using store = await Store.open(path)
  await publishSamples(store, NOW, numbered(1), sampleDocs({ 'index.md': 'docs' }))
  await publishSamples(store, NOW, numbered(2))
  await setHold(store.decisions, sourceId('team'), HELD)
  await writeFile(join(path, 'tokens.json'), '{"tokens":[]}', { mode: 0o600 })
}

async function backedUp(state: string, file: string): Promise<void> {
  using store = await Store.openExisting(state)
  await backUp(store!, file)
}

/** A picture without what a restore does not bring. */
function restorable({ objects, heads, files }: Picture): Picture {
  const made = Object.entries(files).filter(([path]) => !path.endsWith('/'))
  return { objects, heads, files: Object.fromEntries(made) }
}

test('a restored folder has every object, head, decision, token and record of the one that was backed up', async () => {
  await using folder = await temporaryFolder()
  const { state, file, other } = placesIn(folder.path)
  await usedState(state)
  await backedUp(state, file)
  await openState(other)

  await restore(file, other)

  const wanted = restorable(await pictureOf(state))
  using store = await Store.openExisting(other)
  expect(Object.keys(wanted.files)).toEqual(expect.arrayContaining(LOCAL))
  expect(restorable(await pictureOf(other))).toEqual(wanted)
  expect(await verifyCurrent(store!)).toBe(2)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect((await stat(join(other, 'store.db'))).mode & 0o777).toBe(0o600)
})

test('a backup is of one moment, whatever is published meanwhile', async () => {
  await using folder = await temporaryFolder()
  const { state, file } = placesIn(folder.path)
  await usedState(state)
  using store = await Store.open(state)

  const backing = backUp(store, file)
  await publishSamples(store, NOW, numbered(3))
  const { generation } = await backing

  expect([2, 3]).toContain(generation)
  await openState(join(folder.path, 'other'))
  await restore(file, join(folder.path, 'other'))
  using other = await Store.openExisting(join(folder.path, 'other'))
  expect(await verifyCurrent(other!)).toBe(generation)
})

describe('a file is refused', () => {
  test.each([
    {
      what: 'of which an object is damaged',
      damage: 'UPDATE object SET bytes = zeroblob(3) WHERE id = 2',
      says: 'its SHA-256 is another',
    },
    {
      what: 'that brings a trigger',
      damage: 'CREATE TRIGGER t AFTER DELETE ON object BEGIN SELECT 1; END',
      says: 'it has a trigger "t"',
    },
    { what: 'that brings a view', damage: 'CREATE VIEW v AS SELECT 1', says: 'it has a view "v"' },
    {
      what: 'of a later version',
      damage: 'PRAGMA user_version = 3',
      says: 'its version is 3 and this program knows 2',
    },
    { what: 'of another program', damage: 'PRAGMA application_id = 1', says: 'it was not written by skillsyncd' },
  ])('$what', async ({ damage, says }) => {
    await using folder = await temporaryFolder()
    const { state, file } = placesIn(folder.path)
    await usedState(state)
    await backedUp(state, file)
    change(file, damage)

    await expect(checkBackup(file, () => {})).rejects.toThrow(says)
    await expect(checkBackup(file, () => {})).rejects.toThrow(`"${file}"`)
  })

  test('that is no database, and one that was cut off', async () => {
    await using folder = await temporaryFolder()
    const { state, file } = placesIn(folder.path)
    await usedState(state)
    await backedUp(state, file)
    const bytes = await readFile(file)
    await writeFile(file, bytes.subarray(0, bytes.length / 2))
    await writeFile(join(folder.path, 'text'), 'no database\n'.repeat(1_000))

    await expect(checkBackup(file, () => {})).rejects.toMatchObject({ code: 'store-failed' })
    await expect(checkBackup(join(folder.path, 'text'), () => {})).rejects.toThrow('file is not a database')
  })
})

test('of a backup only files are restored that a backup has', async () => {
  await using folder = await temporaryFolder()
  const { state, file, other } = placesIn(folder.path)
  await usedState(state)
  await backedUp(state, file)
  for (const path of ['../out', 'format', 'sources/../../out', '/out', 'skillsyncd.yaml'])
    change(file, `INSERT INTO file VALUES ('${path}', x'00')`)
  await openState(other)

  await restore(file, other)

  expect(restorable(await pictureOf(other))).toEqual(restorable(await pictureOf(state)))
  expect(await readdir(folder.path)).toEqual(['backup', 'other', 'state'])
})

test('a store with a damaged object is not backed up, and no file is left', async () => {
  await using folder = await temporaryFolder()
  const state = join(folder.path, 'state')
  await usedState(state)
  change(join(state, 'store.db'), 'UPDATE object SET bytes = zeroblob(3) WHERE id = 2')

  await expect(backedUp(state, join(folder.path, 'backup'))).rejects.toThrow(
    `Cannot back up "${state}": an object is damaged`,
  )

  expect(await readdir(folder.path)).toEqual(['state'])
})

test.each(MOMENTS)(
  'a backup that is killed %s any call leaves no file of its name, or a whole one, and the state as it was',
  async (moment) => {
    await using folder = await temporaryFolder()
    const { state, file } = placesIn(folder.path)
    await usedState(state)
    const before = await pictureOf(state)
    let absent = 0

    const calls = await killAtCalls(async (call) => {
      const isKilled = await isKilledIn({ work: 'backup', state, file }, { call, moment })
      const found = await backupIn(folder.path)
      expect(['absent', 'generation 2'], `killed ${moment} call ${call}`).toContain(found)
      if (found === 'absent') absent += 1
      expect(await pictureOf(state)).toEqual(before)
      await rm(file, { force: true })
      return isKilled
    })

    expect(absent).toBeGreaterThan(0)
    expect(calls).toBeGreaterThan(8)
  },
)

test.each(MOMENTS)(
  'a restore that is killed %s any call leaves the folder as it was, or as one that only a restore opens',
  async (moment) => {
    await using folder = await temporaryFolder()
    const [state, file, first] = ['state', 'backup', 'first'].map((name) => join(folder.path, name)) as [
      string,
      string,
      string,
    ]
    await usedState(state)
    await backedUp(state, file)
    await begunState(first)
    const [before, wanted] = [restorable(await pictureOf(first)), restorable(await pictureOf(state))]
    let halves = 0

    const calls = await killAtCalls(async (call) => {
      const other = join(folder.path, `other-${call}`)
      await cp(first, other, { recursive: true })
      const isKilled = await isKilledIn({ work: 'restore', state: other, file }, { call, moment })
      const found = await foundIn(other)
      expect([before, wanted, HALF_RESTORED], `killed ${moment} call ${call}`).toContainEqual(found)
      if (found === HALF_RESTORED) halves += 1
      await restore(file, other)
      expect(await swept(other), `killed ${moment} call ${call}`).toEqual(wanted)
      await rm(other, { recursive: true })
      return isKilled
    })

    expect(halves).toBeGreaterThan(0)
    expect(calls).toBeGreaterThan(20)
  },
)

/** The backup in a folder, beside what a killed process leaves. */
async function backupIn(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => !isTemporary(name.slice(0, '.tmp-'.length + 32)))
  if (names.join() === 'state') return 'absent'
  return `generation ${(await checkBackup(join(folder, 'backup'), () => {})).generation}`
}

const HALF_RESTORED = 'only a restore opens it'

/** The picture of a state folder that can be opened. */
async function foundIn(state: string): Promise<Picture | string> {
  if (!(await isHalfRestored(state))) return swept(state)
  const opened = [Store.openExisting(state), Store.openExisting(state, { isWriter: true }), openState(state)]
  const refusals = (await Promise.allSettled<unknown>(opened)).map((end) =>
    end.status === 'rejected' ? String(end.reason) : '',
  )
  await openState(state, { isRestore: true })
  return refusals.every((text) => text.includes('run skillsyncd store restore again')) ? HALF_RESTORED : refusals.join()
}

/** A folder that something was decided in, and nothing published. */
async function begunState(path: string): Promise<void> {
  using store = await Store.open(path)
  await setHold(store.decisions, sourceId('other'), HELD)
  await writeFile(join(path, 'links.json'), '{}', { mode: 0o600 })
}

/** The picture after what the next start sweeps. */
async function swept(state: string): Promise<Picture> {
  {
    using store = await Store.openExisting(state, { isWriter: true })
    await store!.sweep()
  }
  return restorable(await pictureOf(state))
}

function change(file: string, sql: string): void {
  using database = new DatabaseSync(file)
  database.exec(sql)
}
