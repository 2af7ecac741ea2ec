import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isTemporary } from '../../src/sync/store/files/atomic.ts'
import { skill } from '../e2e/world.ts'
import { TinyDisk } from '../support/process/tiny-disk.ts'
import { Scene } from './scene.ts'
import { listingAt } from './witness.ts'

const OBSTACLE = await TinyDisk.obstacle()
const PAGE = 4_096
/** The log of what is written ahead grows to 16 MiB before its place is used again. */
const ROOMY = 48 * 2 ** 20

const TAKEN = [
  {
    what: 'without room',
    take: async (disk: TinyDisk) => disk.leaveBytes(0),
    give: async (disk: TinyDisk) => disk.free(),
  },
  {
    what: 'that takes no more files',
    take: async (disk: TinyDisk) => disk.leaveInodes(0),
    give: async (disk: TinyDisk) => disk.free(),
  },
  {
    what: 'that is read-only',
    take: async (disk: TinyDisk) => disk.closeToWriting(),
    give: async (disk: TinyDisk) => disk.openToWriting(),
  },
]
const STARTS = TAKEN.flatMap((taken) => [
  { ...taken, after: 'after a clean stop', kill: false },
  { ...taken, after: 'after a kill', kill: true },
])

/** The witness reads all the time: on a quick machine the record of who read what fills such a disk within a minute. */
const UNRECORDED = ['audit: { enabled: false }', 'usage: { enabled: false }']

describe.skipIf(OBSTACLE !== undefined)(`with a small disk${OBSTACLE === undefined ? '' : `, but ${OBSTACLE}`}`, () => {
  // Each has a database of its own: a log of the database that has grown once has room for what is written later.
  test.each([
    { what: 'small commit', step: 4 * PAGE, commit: async (scene: Scene) => scene.commit() },
    {
      what: 'large commit',
      step: 16 * PAGE,
      commit: async (scene: Scene, room: number) => scene.repository.commit(large(room)),
    },
  ])(
    'however little room is left for a $what, what was served is served, nothing is left lying, and it recovers',
    async ({ step, commit }) => {
      await using scene = await Scene.set([], UNRECORDED)
      await scene.repository.commit(many(24))
      const disk = await TinyDisk.at(scene.home, dirname(scene.home.state), { bytes: ROOMY, inodes: 2_000 })
      await scene.play()

      const leave = async (room: number): Promise<void> => disk.leaveBytes(room)
      const attempts = await sweep(scene, disk, { step, leave, commit: async (room) => commit(scene, room) })

      expect(attempts).toEqual(expect.arrayContaining(['write to the scratch folder', 'store objects']))
      await disk.free()
      await scene.recovers()
      await scene.expectWell()
    },
  )

  test('while the disk takes no more files, what was served is served, and it recovers by itself', async () => {
    await using scene = await Scene.set([], UNRECORDED)
    const disk = await TinyDisk.at(scene.home, dirname(scene.home.state))
    await scene.play()
    const leave = async (files: number): Promise<void> => disk.leaveInodes(files)
    const attempts = await sweep(scene, disk, { step: 1, leave, commit: async () => scene.commit() })

    expect(attempts.length).toBeGreaterThan(1)
    await disk.free()
    await scene.recovers()
    await scene.expectWell()
  })

  test('while the store cannot be written, what was served is served, and it recovers by itself', async () => {
    await using scene = await Scene.set()
    const disk = await TinyDisk.at(scene.home, dirname(scene.home.state))
    await scene.play()

    await disk.closeToWriting()
    await scene.commit()
    expect(await scene.problem('store-failed')).toContain('EROFS')
    await scene.witness.looksAgain()
    await disk.openToWriting()

    await scene.recovers()
    await scene.expectWell()
  })

  test.each(STARTS)(
    'a start $after on a disk $what serves what is stored, says that it is read-only, and writes by itself later',
    async ({ take, give, kill }) => {
      await using scene = await Scene.set([], UNRECORDED)
      const { home } = scene
      const disk = await TinyDisk.at(home, dirname(home.state))
      const first = home.start('start')
      await first.said((line) => line.includes('"source-updated"'))
      const seen = await listingAt(await first.line())
      if (kill) await first.kill()
      else await first.stop()
      const before = await readdir(disk.path(basename(home.state)))
      await scene.git.goAway()
      await take(disk)

      const daemon = home.start('start')
      const url = await daemon.line()

      expect(await listingAt(url)).toEqual(seen)
      const told = await daemon.said((line) => line.includes('"served-read-only"'))
      expect(JSON.parse(told)).toMatchObject({ level: 'error', code: 'store-failed' })
      expect(await (await fetch(new URL('/readyz', url))).json()).toEqual({ status: 'ready', readOnly: true })
      const status = await home.run('status', '--json')
      expect(JSON.parse(status.stdout)).toMatchObject({
        daemon: { pid: daemon.pid },
        readOnly: { code: 'store-failed', message: expect.stringContaining('served read-only') },
      })
      expect(await home.run('hold', 'team')).toMatchObject({ status: 1 })
      expect((await readdir(disk.path(basename(home.state)))).filter((name) => name !== 'ballast')).toEqual(before)

      await give(disk)
      await daemon.said((line) => line.includes('"recovered"') && line.includes('"served-read-only"'))
      await scene.git.comeBack()
      const commit = await scene.commit()
      await daemon.said((line) => line.includes('"source-updated"') && line.includes(commit))
      expect(await (await fetch(new URL('/readyz', url))).json()).toEqual({ status: 'ready' })
      expect(await home.run('hold', 'team')).toMatchObject({ status: 0 })
      expect(await daemon.stop()).toMatchObject({ status: 0 })
    },
  )

  test('a start on a full disk that holds nothing says why, and ends', async () => {
    await using scene = await Scene.set()
    const disk = await TinyDisk.at(scene.home, dirname(scene.home.state))
    await disk.leaveBytes(0)

    const refused = await scene.home.run('start')

    expect(refused).toMatchObject({ status: 1, stdout: '' })
    expect(refused.stderr).toContain('ENOSPC')
  })

  test('what is baked into an image is collected like anything else, and nothing is left lying', async () => {
    await using scene = await Scene.set([], ['retention: { generations: 1, younger_than: 1ms }'])
    const { home } = scene
    expect(await home.run('sync')).toMatchObject({ status: 0 })
    expect(await home.run('link', '--once', 'claude-code')).toMatchObject({ status: 0 })
    const before = await readdir(join(home.state, 'checkouts'))
    const disk = await TinyDisk.over(home, dirname(home.state))
    await scene.commit()
    await scene.play()

    await scene.recovers()

    const baked = async (): Promise<string[]> =>
      (await readdir(disk.path(basename(home.state), 'checkouts'))).filter((digest) => before.includes(digest))
    await expect.poll(baked, { timeout: 20_000 }).toHaveLength(before.length - 1)
    expect(scene.daemon.stderr).not.toContain('collection-failed')
    await scene.expectWell()
  })

  test('the lock file is never truncated, however little room is left beside it', async () => {
    await using scene = await Scene.set()
    await scene.repository.commit(many(60))
    const { home } = scene
    const disk = await TinyDisk.at(home, dirname(home.configFile))
    expect(await home.run('lock')).toMatchObject({ status: 0 })
    const lock = disk.path('skills.lock')
    const before = await readFile(lock, 'utf8')
    expect(before.length).toBeGreaterThan(2 * PAGE)
    const commit = await scene.commit()

    for (let room = 0; room < before.length; room += PAGE) {
      await disk.leaveBytes(room)
      const refused = await home.run('update')
      expect(refused).toMatchObject({ status: 1 })
      expect(refused.stderr).toContain('ENOSPC')
      expect(await readFile(lock, 'utf8')).toBe(before)
      expect((await readdir(disk.path())).toSorted()).toEqual(['ballast', 'skills.lock', basename(home.configFile)])
    }

    await disk.free()
    expect(await home.run('update')).toMatchObject({ status: 0 })
    expect(await readFile(lock, 'utf8')).toContain(commit)
  })
})

interface Sweep {
  readonly step: number
  readonly leave: (room: number) => Promise<void>
  readonly commit: (room: number) => Promise<string>
}

/** Leaves more and more room, until a commit fits. Gives all that could not be done before. */
async function sweep(scene: Scene, disk: TinyDisk, { step, leave, commit }: Sweep): Promise<readonly string[]> {
  const attempts = new Set<string>()
  for (let room = 0; ; room += step) {
    const said = scene.fromNow()
    await leave(room)
    const id = await commit(room)
    const isTaken = (line: string): boolean => line.includes('"source-updated"') && line.includes(id)
    const line = await said((told) => told.includes('"pull-failed","source"') || isTaken(told))
    if (isTaken(line)) return [...attempts]
    expect(line).toContain('"code":"store-failed"')
    attempts.add(attemptIn(line))
    await scene.witness.looksAgain()
    // The next look may be at work.
    await expect.poll(async () => litterOn(disk)).toEqual([])
    await disk.free()
    await said(isTaken)
  }
}

/** Skills enough for a snapshot and a lock to take several pages. */
function many(count: number): Readonly<Record<string, string>> {
  const names = Array.from({ length: count }, (_, number) => `many-${number}`)
  return Object.fromEntries(names.map((name) => [`${name}/SKILL.md`, skill(name, 'one of many')]))
}

/** A skill with a file that is several rows in the database. */
function large(seed: number): Readonly<Record<string, string | Uint8Array>> {
  const bytes = createHash('shake256', { outputLength: 100 * PAGE })
    .update(`${seed}`)
    .digest()
  return { 'large/SKILL.md': skill('large', `${seed}`), 'large/data.bin': bytes }
}

/** What could not be done. */
function attemptIn(line: string): string {
  const { message }: { readonly message: string } = JSON.parse(line)
  return /^Cannot ([^:"]*[^:" ])/.exec(message)?.[1] ?? message
}

/** What is half written. */
async function litterOn(disk: TinyDisk): Promise<readonly string[]> {
  const paths = await readdir(disk.path(), { recursive: true })
  return paths.filter((path) => isTemporary(basename(path)))
}
