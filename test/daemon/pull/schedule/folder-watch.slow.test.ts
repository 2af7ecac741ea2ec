import { appendFile, chmod, mkdir, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { systemClock, type Clock } from '../../../../src/base/async/clock.ts'
import { FolderWatch } from '../../../../src/daemon/pull/schedule/folder-watch.ts'
import { createLog } from '../../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import type { DirectorySource } from '../../../../src/sync/model/source.ts'
import { fillFolder } from '../../../support/content/folder.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { sourceId } from '../../../sync/store/samples.ts'
import { rulesWith } from '../../../sync/survey/surveyed.ts'

test('hundreds of files that are written in one go are told of a few times at most', async () => {
  await using scene = await Scene.of({ 'a/SKILL.md': 'a' })
  await scene.said('folder-watched')

  for (let number = 0; number < 300; number += 1) await writeFile(join(scene.folder, `a/${number}`), 'x')
  await scene.nudged()
  await writeFile(join(scene.folder, 'a/SKILL.md'), 'last')
  await scene.nudged()

  // Once for each rest, and every two seconds while there is none.
  expect(scene.nudges).toBeLessThan(10)
})

test('a folder with too many folders is not watched, which is said once', async () => {
  const files = Array.from({ length: 40 }, (_, index) => [`f${index}/g${index}/x`, ''] as const)

  await using scene = await Scene.of(Object.fromEntries(files), 20)
  const line = await scene.said('folder-not-watched')
  await scene[Symbol.asyncDispose]()

  expect(line).toMatchObject({ level: 'warn', source: 'desk', code: 'too-many' })
  expect(line['message']).toContain('it holds more than 20 folders; it is only read on its schedule')
  expect(scene.lines.filter(({ event }) => event === 'folder-not-watched')).toHaveLength(1)
})

test('a folder that is not there is no fault, and can be left at any time', async () => {
  await using scene = await Scene.of({})
  // What came before it was watched.
  await scene.nudged()

  await rm(scene.folder, { recursive: true })
  await scene.nudged()
  await mkdir(scene.folder)

  await scene[Symbol.asyncDispose]()
  expect(scene.lines.map(({ event }) => event)).toEqual(['folder-watched'])
})

test.each<[string, (folder: string) => Promise<unknown>]>([
  [
    'is removed and made again at once',
    async (folder) => {
      await rm(join(folder, 'a'), { recursive: true })
      await fillFolder(join(folder, 'a'), { 'SKILL.md': 'again', 'below/x': 'x' })
    },
  ],
  [
    'is replaced by a rename',
    async (folder) => {
      await fillFolder(`${folder}-new`, { 'SKILL.md': 'again', 'below/x': 'x' })
      await rename(join(folder, 'a'), `${folder}-old`)
      await rename(`${folder}-new`, join(folder, 'a'))
    },
  ],
  [
    'comes back with the folder that it lies in',
    async (folder) => {
      await rename(folder, `${folder}-away`)
      await rename(`${folder}-away`, folder)
    },
  ],
  [
    'is made again with the folder that it lies in',
    async (folder) => {
      await rm(folder, { recursive: true })
      await fillFolder(folder, { 'a/SKILL.md': 'again', 'a/below/x': 'x' })
    },
  ],
])('a skill that %s is watched on', async (_, change) => {
  await using scene = await Scene.of({ 'a/SKILL.md': 'a', 'a/below/x': 'x' })
  await scene.said('folder-watched')
  // The first is for what came before.
  await scene.nudged()

  await change(scene.folder)
  await scene.saidAgain('folder-watched')
  await scene.nudged()
  const before = scene.nudges
  await writeFile(join(scene.folder, 'a/below/x'), 'edited')
  await scene.nudged()

  expect(scene.nudges).toBe(before + 1)
})

test.each(['node_modules', '.git'])(
  'a folder that the operator named is watched although it is called %s',
  async (name) => {
    await using scene = await Scene.of({ 'a/SKILL.md': 'a' }, undefined, name)
    await scene.said('folder-watched')
    await scene.nudged()

    await writeFile(join(scene.folder, 'a/SKILL.md'), 'edited')
    await scene.nudged()

    expect(scene.nudges).toBe(2)
  },
)

test('what is called like the folder and lies in it is not taken for the folder', async () => {
  await using scene = await Scene.of({ 'a/SKILL.md': 'a' })
  await scene.said('folder-watched')
  await scene.nudged()

  await writeFile(join(scene.folder, 'desk'), 'what a build makes')
  await writeFile(join(scene.folder, 'desk'), 'and makes again')
  await rm(join(scene.folder, 'desk'))
  await writeFile(join(scene.folder, 'a/SKILL.md'), 'edited')
  await scene.nudged()

  expect(scene.asked).toContain('desk')
  expect(scene.asked).not.toContain('')
  expect(scene.nudges).toBe(2)
})

test.each<[string, (folder: string) => Promise<unknown>]>([
  ['may be read by others', (folder) => chmod(folder, 0o750)],
  ['is gone', (folder) => rename(folder, `${folder}-away`)],
  ['was away for a moment', (folder) => rename(folder, `${folder}-away`).then(() => rename(`${folder}-away`, folder))],
])('that the folder itself %s is told of the folder', async (_, change) => {
  await using scene = await Scene.of({ desk: 'of its name', 'a/SKILL.md': 'a' })
  await scene.said('folder-watched')
  await scene.nudged()

  await change(scene.folder)
  await scene.nudged()

  expect(scene.asked).toContain('')
})

test('what is written beside the skills is told nobody, until it may be a skill', async () => {
  await using scene = await Scene.of({ 'a/SKILL.md': 'a', 'target/out': '', 'apart/x/SKILL.md': '' })
  await scene.said('folder-watched')
  await scene.nudged()
  const before = scene.nudges

  for (let number = 0; number < 20; number += 1) {
    await writeFile(join(scene.folder, 'target/out'), String(number))
    await writeFile(join(scene.folder, `target/${number}`), '')
    await writeFile(join(scene.folder, 'apart/x/SKILL.md'), String(number))
  }
  await writeFile(join(scene.folder, 'target/SKILL.md'), '')
  await scene.nudged()

  expect(scene.nudges - before).toBe(1)
})

test('what programs leave in a skill is not asked about, and leaves the watch sure', async () => {
  await using scene = await Scene.of({ 'a/SKILL.md': 'a' })
  await scene.said('folder-watched')
  await scene.nudged()

  await symlink('ada@desk.1:1700000000', join(scene.folder, 'a/.#SKILL.md'))
  for (const name of ['.SKILL.md.swp', '4913', 'SKILL.md~', '#SKILL.md#', '.DS_Store', '.~lock.a.ods#'])
    await writeFile(join(scene.folder, 'a', name), 'text that was never saved')
  await mkdir(join(scene.folder, 'a/.venv'))
  await writeFile(join(scene.folder, 'a/.venv/pyvenv.cfg'), '')
  await writeFile(join(scene.folder, 'a/SKILL.md'), 'saved')
  await scene.nudged()

  expect(new Set(scene.asked)).toEqual(new Set(['a/SKILL.md']))
  expect(scene.isSure).toBe(true)
})

const ELSEWHERE = { 'a/SKILL.md': 'a', 'other/SKILL.md': 'other', 'v2/SKILL.md': 'v2' }

test('an edit behind links is told by each of their names', async () => {
  await using scene = await Scene.following({ a: '../elsewhere/a', b: '../elsewhere/a', c: 'a' })
  await scene.sureOf(['a', 'b', 'c'])

  await writeFile(join(scene.folder, '../elsewhere/a/SKILL.md'), 'edited')
  await scene.nudged()

  expect(scene.asked).toEqual(expect.arrayContaining(['a/SKILL.md', 'b/SKILL.md', 'c/SKILL.md']))
})

test.each<[string, (folder: string, elsewhere: string) => Promise<unknown>]>([
  ['leads to another skill since', (folder) => retarget(join(folder, 'link'), '../elsewhere/other')],
  [
    'leads to a skill that was made again',
    async (_, elsewhere) => {
      await rename(join(elsewhere, 'a'), join(elsewhere, 'old'))
      await fillFolder(join(elsewhere, 'a'), { 'SKILL.md': 'again' })
    },
  ],
  ['leads there over a link that leads elsewhere since', (_, elsewhere) => retarget(join(elsewhere, 'current'), 'v2')],
  ['led nowhere before', (_, elsewhere) => fillFolder(join(elsewhere, 'later'), { 'SKILL.md': 'later' })],
  ['came later', (folder) => symlink('../elsewhere/v2', join(folder, 'new'))],
])('what a link leads to is watched, if it %s', async (_, change) => {
  await using scene = await Scene.following({
    link: '../elsewhere/a',
    way: '../elsewhere/current',
    late: '../elsewhere/later',
  })
  await scene.sureOf(['link', 'way'])
  const names = ['link', 'way', 'late', 'new']
  const targetsOf = async () => Promise.all(names.map((name) => realpath(join(scene.folder, name)).catch(() => '')))
  const before = await targetsOf()

  await change(scene.folder, join(scene.folder, '../elsewhere'))
  const after = await targetsOf()
  const changed = names.filter((_name, at) => before[at] !== after[at])
  const watched = changed.length === 0 ? ['link'] : changed
  await scene.sureOf(watched)

  expect(scene.asked).toContain(`${watched.at(-1)}/SKILL.md`)
})

test('links that dangle, go in circles or lead to files leave the watch sure', async () => {
  await using scene = await Scene.following({ a: '../elsewhere/none', b: 'b', c: '../elsewhere/a/SKILL.md', d: '..' })
  await scene.said('folder-watched')
  await scene.nudged()

  expect(scene.isSure).toBe(true)
})

async function retarget(link: string, target: string): Promise<void> {
  await rm(link)
  await symlink(target, link)
}

test('a folder that cannot be watched is tried again after ten minutes and not before', async () => {
  const clock = new FakeClock()
  await using scene = await Scene.of({ 'b/x': '', 'c/x': '' }, 2, 'desk', clock)
  await scene.said('folder-not-watched')
  await rm(join(scene.folder, 'c'), { recursive: true })

  await clock.advance(599_000)
  const early = scene.lines.map(({ event }) => event)
  while (!scene.lines.some(({ event }) => event === 'folder-watched')) await clock.advance(10_000)

  expect(early).toEqual(['folder-not-watched'])
})

test('while a folder that came is not watched, the watch does not say that it is sure', async () => {
  await using scene = await Scene.of({ 'a/SKILL.md': 'a' })
  const early = scene.isSure
  await scene.said('folder-watched')
  await scene.nudged()
  const rested = scene.isSure

  await mkdir(join(scene.folder, 'b'))
  const sure: boolean[] = []
  while (!scene.asked.includes('b')) await scene.anything()
  sure.push(scene.isSure)
  await scene.nudged()
  sure.push(scene.isSure)
  await writeFile(join(scene.folder, 'b/SKILL.md'), 'b')
  await scene.nudged()

  expect({ early, rested, sure }).toEqual({ early: false, rested: true, sure: [false, true] })
  expect(scene.news).toBeGreaterThan(scene.nudges)
})

class Scene implements AsyncDisposable {
  readonly folder: string
  readonly lines: Record<string, unknown>[] = []
  /** The paths at which something was said to have changed. */
  readonly asked: string[] = []
  nudges = 0
  news = 0
  readonly #temporary: AsyncDisposable
  readonly #watch: FolderWatch
  readonly #waits = new Set<() => void>()

  private constructor(
    path: string,
    temporary: AsyncDisposable,
    mostFolders: number | undefined,
    clock: Clock,
    links: DirectorySource['links'] = 'inside',
  ) {
    this.folder = path
    this.#temporary = temporary
    const stream = new PassThrough()
    stream.on('data', (line: Buffer) => {
      this.lines.push(JSON.parse(line.toString()))
      this.#wake()
    })
    const log = createLog({
      level: 'debug',
      stream,
      format: 'json',
      journal: false,
      clock: systemClock,
      redactor: new Redactor(),
    })
    const nudge = (): void => {
      this.nudges += 1
      this.#wake()
    }
    this.#watch = new FolderWatch(
      { ...sourceAt(path), links },
      {
        clock,
        log,
        nudge,
        onNews: () => {
          this.news += 1
        },
        apart: [join(path, 'apart')],
        isOfUse: async (_, at) => {
          this.asked.push(at)
          this.#wake()
          return at === '' || at === 'a' || at.startsWith('a/') || at.endsWith('SKILL.md')
        },
        ...(mostFolders !== undefined && { mostFolders }),
      },
    )
  }

  static async of(
    files: Readonly<Record<string, string>>,
    mostFolders?: number,
    name = 'desk',
    clock: Clock = systemClock,
  ): Promise<Scene> {
    const temporary = await temporaryFolder()
    const path = join(temporary.path, name)
    await fillFolder(path, files)
    return new Scene(path, temporary, mostFolders, clock)
  }

  /** A folder with these links that follows them. */
  static async following(links: Readonly<Record<string, string>>): Promise<Scene> {
    const temporary = await temporaryFolder()
    await fillFolder(join(temporary.path, 'elsewhere'), { ...ELSEWHERE, current: { link: 'a' } })
    const path = join(temporary.path, 'desk')
    await fillFolder(path, Object.fromEntries(Object.entries(links).map(([name, link]) => [name, { link }])))
    return new Scene(path, temporary, undefined, systemClock, 'follow')
  }

  /** Resolves when an edit of each SKILL.md behind these links is heard. */
  async sureOf(names: readonly string[]): Promise<void> {
    for (const name of names) {
      this.asked.length = 0
      const isHeard = async (): Promise<boolean> => {
        await appendFile(join(this.folder, name, 'SKILL.md'), '.')
        return this.asked.includes(`${name}/SKILL.md`)
      }
      await expect.poll(isHeard).toBe(true)
    }
  }

  get isSure(): boolean {
    return this.#watch.isSure
  }

  /** Resolves when it was said once more than now. */
  async saidAgain(event: string): Promise<void> {
    const times = (): number => this.lines.filter((line) => line['event'] === event).length
    for (const before = times(); times() === before;) await this.anything()
  }

  async said(event: string): Promise<Record<string, unknown>> {
    for (;;) {
      const line = this.lines.find((candidate) => candidate['event'] === event)
      if (line !== undefined) return line
      await this.anything()
    }
  }

  /** Resolves at the next nudge. */
  async nudged(): Promise<void> {
    for (const before = this.nudges; this.nudges === before;) await this.anything()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch[Symbol.asyncDispose]()
    await this.#temporary[Symbol.asyncDispose]()
  }

  async anything(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waits.add(resolve)
    await promise
  }

  #wake(): void {
    for (const wake of this.#waits) wake()
    this.#waits.clear()
  }
}

function sourceAt(path: string): DirectorySource {
  return {
    kind: 'directory',
    links: 'inside',
    id: sourceId('desk'),
    url: `file://${path}`,
    path,
    ref: undefined,
    update: 'auto',
    brakes: 'hold',
    schedule: { kind: 'every', periodMs: 3_600_000 },
    ...rulesWith().selection,
  }
}
