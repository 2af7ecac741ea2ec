import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Snapshot } from '../../../../src/sync/model/snapshot.ts'
import { temporaryWorkspace } from '../../../../src/sync/store/objects/temporary-blobs.ts'
import { survey } from '../../../../src/sync/survey/survey.ts'
import { readFolder } from '../../../../src/sync/upstream/folder/folder-tree.ts'
import { FETCH_LIMITS } from '../../../../src/sync/upstream/upstream.ts'
import { fillFolder } from '../../../support/content/folder.ts'
import { histories } from '../../../support/content/random-files.ts'
import type { Files } from '../../../support/git/scripted-upstream.ts'
import { lawRuns } from '../../../support/law-runs.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { never } from '../../store/samples.ts'
import { Surveys, rules } from '../../survey/surveyed.ts'

test('a survey of a folder finds what a survey of a commit with the same files finds', async () => {
  await using folder = await temporaryFolder()
  await using workspace = await temporaryWorkspace()

  await fc.assert(
    fc.asyncProperty(histories, rules, async (history, rules) => {
      const files = withoutSubmodules(history.at(-1)!)
      await using surveys = await Surveys.open()
      await fillFolder(folder.path, files)
      const reading = { ...rules.selection, limits: FETCH_LIMITS, blobs: workspace.blobs }

      await using tree = await readFolder(folder.path, reading, never())
      const found = await survey(tree, rules, undefined, never())

      expect(comparable(found)).toEqual(comparable(await surveys.next(files, rules)))
    }),
    { numRuns: lawRuns(100, 2 / 5) },
  )
})

function withoutSubmodules(files: Files): Files {
  return Object.fromEntries(
    Object.entries(files).filter(([, content]) => typeof content !== 'object' || !('submodule' in content)),
  )
}

/**
 * All but the ids of git objects, which are of another length, the word for what a link leads out of, and links in no
 * skill, which a folder passes over.
 */
function comparable({ skills, findings }: Pick<Snapshot, 'skills' | 'findings'>): unknown {
  const plain = skills.map((skill) => ({ ...skill, files: skill.files.map((file) => ({ ...file, blob: '' })) }))
  const isOfSkill = (path: string): boolean => skills.some((skill) => path.startsWith(`${skill.path}/`))
  const told = findings.filter(({ rule, path }) => rule !== 'link-refused' || isOfSkill(path ?? ''))
  return JSON.parse(JSON.stringify({ skills: plain, findings: told }).replaceAll(OF_A_FOLDER, OF_A_COMMIT))
}

const OF_A_FOLDER = 'is outside the folder of the source'
const OF_A_COMMIT = 'is outside the repository'
