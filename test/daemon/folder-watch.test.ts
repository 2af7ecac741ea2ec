import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/daemon/clock.ts'
import { FolderWatch } from '../../src/daemon/folder-watch.ts'
import { createLog } from '../../src/daemon/log.ts'
import { Redactor } from '../../src/daemon/redactor.ts'
import type { DirectorySource } from '../../src/sync/model/source.ts'
import { fillFolder } from '../support/folder.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { sourceId } from '../sync/store/samples.ts'
import { rulesWith } from '../sync/surveyed.ts'

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
  expect(line['message']).toContain('it holds more than 20 folders; it is looked at on its schedule alone')
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

class Scene implements AsyncDisposable {
  readonly folder: string
  readonly lines: Record<string, unknown>[] = []
  nudges = 0
  readonly #temporary: AsyncDisposable
  readonly #watch: FolderWatch
  readonly #waits = new Set<() => void>()

  private constructor(path: string, temporary: AsyncDisposable, mostFolders: number | undefined) {
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
    this.#watch = new FolderWatch(sourceAt(path), {
      clock: systemClock,
      log,
      nudge,
      ...(mostFolders !== undefined && { mostFolders }),
    })
  }

  static async of(files: Readonly<Record<string, string>>, mostFolders?: number): Promise<Scene> {
    const temporary = await temporaryFolder()
    const path = join(temporary.path, 'desk')
    await fillFolder(path, files)
    return new Scene(path, temporary, mostFolders)
  }

  async said(event: string): Promise<Record<string, unknown>> {
    for (;;) {
      const line = this.lines.find((candidate) => candidate['event'] === event)
      if (line !== undefined) return line
      await this.#anything()
    }
  }

  /** Resolves at the next nudge. */
  async nudged(): Promise<void> {
    for (const before = this.nudges; this.nudges === before;) await this.#anything()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch[Symbol.asyncDispose]()
    await this.#temporary[Symbol.asyncDispose]()
  }

  async #anything(): Promise<void> {
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
    id: sourceId('desk'),
    url: `file://${path}`,
    path,
    ref: undefined,
    update: 'auto',
    brakes: { movedTag: 'hold', massDeletion: 'hold' },
    schedule: { kind: 'every', periodMs: 3_600_000 },
    ...rulesWith().selection,
  }
}
