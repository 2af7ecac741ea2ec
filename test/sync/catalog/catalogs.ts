import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { buildCatalog, type Catalog } from '../../../src/sync/catalog/catalog.ts'
import type { Generation } from '../../../src/sync/model/generation.ts'
import type { Snapshot } from '../../../src/sync/model/snapshot.ts'
import { histories } from '../../support/content/random-files.ts'
import type { Files } from '../../support/git/scripted-upstream.ts'
import { lawRuns } from '../../support/law-runs.ts'
import { Surveys, rules, rulesWith, type Edited } from '../survey/surveyed.ts'

/** The catalog of these snapshots, each of a source of its own, as a generation of them has it. */
export function catalogOf(...snapshots: readonly Snapshot[]): Catalog {
  return buildCatalog(generationOf(snapshots), snapshots)
}

export function generationOf(snapshots: readonly Snapshot[]): Generation {
  const sources = snapshots.map((snapshot) => ({ source: snapshot.source, snapshot: digestOf(snapshot) }))
  return { number: 1, createdAt: '2026-01-01T00:00:00.000Z', sources }
}

/** The catalogs of a repository's commits, one after another, surveyed with the same rules. */
export async function catalogsOf(commits: readonly Files[], edit: Edited = {}): Promise<Catalog[]> {
  await using surveys = await Surveys.open()
  const catalogs: Catalog[] = []
  for (const files of commits) catalogs.push(catalogOf(await surveys.next(files, rulesWith(edit))))
  return catalogs
}

/**
 * Holds for the catalogs of any repository (of so many where all laws run), commit by commit, while an operator edits the rules to and fro: what no one
 * skill shows is how they meet.
 */
export async function holdsForCatalogs(all: number, check: (catalogs: readonly Catalog[]) => void): Promise<void> {
  await fc.assert(
    fc.asyncProperty(histories, rules, rules, async (history, even, odd) => {
      await using surveys = await Surveys.open()
      const catalogs: Catalog[] = []
      for (const [index, files] of history.entries()) {
        catalogs.push(catalogOf(await surveys.next(files, index % 4 < 2 ? even : odd)))
      }
      check(catalogs)
    }),
    { numRuns: lawRuns(all, 1 / 5) },
  )
}

function digestOf(snapshot: Snapshot): string {
  return createHash('sha256').update(JSON.stringify(snapshot)).digest('hex')
}
