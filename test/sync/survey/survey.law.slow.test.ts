import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isBelow, joinPath, relativeTo } from '../../../src/base/paths.ts'
import { digestOf } from '../../../src/sync/model/digest.ts'
import type { Snapshot } from '../../../src/sync/model/snapshot.ts'
import { histories } from '../../support/content/random-files.ts'
import type { Files } from '../../support/git/scripted-upstream.ts'
import { lawRuns } from '../../support/law-runs.ts'
import { Surveys, rules } from './surveyed.ts'

test('a survey that skips what it knows finds what one that knows nothing finds', async () => {
  const changing = fc.tuple(histories, fc.array(rules, { minLength: 1, maxLength: 2 }))

  await fc.assert(
    fc.asyncProperty(changing, async ([history, selections]) => {
      await using surveys = await Surveys.open()
      for (const [index, files] of history.entries()) {
        // The rules change once, half way: what was found by others is then of no use.
        const rules = selections[index < history.length / 2 ? 0 : selections.length - 1]!
        await using fresh = await Surveys.open()

        const found = await surveys.next(files, rules)

        expect(found).toEqual({ ...(await fresh.next(files, rules)), revision: found.revision })
        expect(textOf(found)).toBe(textOf({ ...(await fresh.next(files, rules)), revision: found.revision }))
      }
    }),
    { numRuns: lawRuns(300, 1 / 10) },
  )
}, 300_000)

test('a skill that is offered holds every file of its folder, with the bytes that are there', async () => {
  await fc.assert(
    fc.asyncProperty(histories, rules, async ([files], rules) => {
      await using surveys = await Surveys.open()

      const { skills } = await surveys.next(files!, rules)

      for (const skill of skills.filter(({ standing }) => standing !== 'withheld')) {
        const held = new Map(skill.files.map((file) => [file.path, file.sha256]))
        expect(held).toEqual(new Map([...held, ...filesBelow(files!, joinPath(rules.selection.root, skill.path))]))
        expect(held.has('SKILL.md')).toBe(true)
        expect(held.size).toBeLessThanOrEqual(rules.limits.skill.files)
        expect(skill.digest).toBe(digestOf(skill.files))
      }
    }),
    { numRuns: lawRuns(1000, 1 / 5) },
  )
}, 300_000)

/** The SHA-256 of all that is a file and no link, by its path from the folder. */
function filesBelow(files: Files, folder: string): Map<string, string> {
  const below = Object.entries(files).filter(([path]) => isBelow(path, folder))
  return new Map(
    below.flatMap(([path, content]) => {
      if (typeof content === 'object' && ('link' in content || 'submodule' in content)) return []
      const bytes = typeof content === 'object' && 'executable' in content ? content.executable : content
      return [[relativeTo(folder, path), createHash('sha256').update(bytes).digest('hex')] as const]
    }),
  )
}

function textOf(snapshot: Snapshot): string {
  return JSON.stringify(snapshot)
}
