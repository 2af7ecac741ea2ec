import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { lockEntryOf } from '../../../src/sync/model/decisions/lock.ts'
import { skillText, type Files } from '../../support/git/scripted-upstream.ts'
import { lawRuns } from '../../support/law-runs.ts'
import { FOLLOW, Scene, sourceWith } from './pulled.ts'

/** The state of one folder in one commit: the text of a good version, one of the mistakes, or nothing. */
type State = { readonly good: number } | 'unterminated' | 'undescribed' | 'links' | undefined

const state: fc.Arbitrary<State> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ good: fc.nat({ max: 2 }) }) },
  { weight: 3, arbitrary: fc.constantFrom('unterminated' as const, 'undescribed' as const, 'links' as const) },
  { weight: 1, arbitrary: fc.constant(undefined) },
)
const FOLDERS = ['a', 'b', 'x/c'] as const
const commit = fc.record({ a: state, b: state, 'x/c': state })

test('the served version of each folder is the last good one since it was last removed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(commit, { minLength: 1, maxLength: 6 }), fc.boolean(), async (history, isLast) => {
      await using scene = await Scene.open()
      const expected = new Map<string, string>()
      for (const [index, folders] of history.entries()) {
        scene.upstream.files = { note: `${index}`, ...filesOf(folders) }
        for (const folder of FOLDERS) {
          const now = folders[folder]
          if (now === undefined) expected.delete(folder)
          else if (typeof now === 'object') expected.set(folder, textOf(folder, now.good))
        }
        await scene.updated({ onBroken: 'keep', brakes: FOLLOW })
        if (isLast) await scene.collect()
        expect(await servedBy(scene)).toEqual(expected)
        for (const { path, kept } of scene.current!.snapshot.skills)
          expect(kept !== undefined).toBe(expected.has(path) && typeof folders[folderIn(path)] !== 'object')
      }
      await using other = await Scene.open(scene.upstream)
      const locked = lockEntryOf(sourceWith({ onBroken: 'keep', brakes: FOLLOW }), scene.current!.snapshot)
      other.orders = { ...other.orders, locked }
      await other.updated({ onBroken: 'keep', brakes: FOLLOW })
      expect(await servedBy(other)).toEqual(expected)
      expect(lockEntryOf(sourceWith({ onBroken: 'keep', brakes: FOLLOW }), other.current!.snapshot)).toEqual(locked)
    }),
    { numRuns: lawRuns(200, 0.05) },
  )
})

function folderIn(path: string): (typeof FOLDERS)[number] {
  return FOLDERS.find((folder) => folder === path)!
}

function textOf(folder: string, version: number): string {
  return skillText(folder.slice(-1), '', `${version}`)
}

function filesOf(folders: Readonly<Record<(typeof FOLDERS)[number], State>>): Files {
  return Object.fromEntries(
    FOLDERS.flatMap((folder) => {
      const now = folders[folder]
      return now === undefined ? [] : [[`${folder}/SKILL.md`, contentOf(folder, now)]]
    }),
  )
}

function contentOf(folder: string, now: NonNullable<State>): Files[string] {
  if (typeof now === 'object') return textOf(folder, now.good)
  if (now === 'links') return { link: Buffer.from('gone.md') }
  return now === 'unterminated' ? '---\nname: x\n' : '---\nname: x\n---\n'
}

/** The text of each skill that is offered under its name. */
async function servedBy(scene: Scene): Promise<ReadonlyMap<string, string>> {
  const served = scene.current!.snapshot.skills.filter(({ standing }) => standing === 'served')
  return new Map(
    await Promise.all(served.map(async ({ path }) => [path, await scene.textOf(path, 'SKILL.md')] as const)),
  )
}
