import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { disabledAt, followEntries, recallIn } from '../../../../src/sync/model/decisions/disabled-entries.ts'
import { disabledIn } from '../../../../src/sync/model/decisions/disabled-matches.ts'
import type { OutOfService } from '../../../../src/sync/model/decisions/out-of-service.ts'
import { newRecall, recalledContents } from '../../../../src/sync/model/decisions/recalled-skills.ts'
import type { Skill } from '../../../../src/sync/model/skill.ts'
import type { Snapshot } from '../../../../src/sync/model/snapshot.ts'
import { ADA } from '../../../support/decided.ts'
import { lawRuns } from '../../../support/law-runs.ts'
import { sample, snapshotOf, sourceId } from '../../store/samples.ts'

/** A folder with a SKILL.md that has this name, or that cannot be read as one. */
interface Folder {
  readonly path: string
  readonly name: string | undefined
  readonly text: string
}

/** One thing that an author does in a commit, to a folder with the skill. */
type Act = 'break' | 'mend' | 'move' | 'rename' | 'edit' | 'copy' | 'remove copy'

const acts = fc.array(
  fc.tuple(fc.constantFrom<Act>('break', 'mend', 'move', 'move', 'rename', 'edit', 'copy', 'remove copy'), fc.nat()),
  { minLength: 1, maxLength: 12 },
)

test.each(['disabled', 'recalled'] as const)(
  'a %s skill does not return in any steps of its author, and takes no neighbor along',
  (how) => {
    fc.assert(
      fc.property(acts, (walk) => {
        let folders: readonly Folder[] = [{ path: 'pdf', name: 'pdf', text: 'the body' }]
        let out = outOf(how, snapshotIn(folders))
        for (const [at, [act, pick]] of walk.entries()) {
          folders = after(folders, act, { pick, fresh: `n${at}` })
          const snapshot = snapshotIn(folders)
          out = followEntries(out, [snapshot]).out

          expect([...disabledIn(snapshot, out).keys()].toSorted()).toEqual(folders.map(({ path }) => path).toSorted())
        }
      }),
      { numRuns: lawRuns(3_000, 0.1) },
    )
  },
)

function outOf(how: 'disabled' | 'recalled', snapshot: Snapshot): OutOfService {
  if (how === 'disabled') return disabledAt([], { source: sourceId('team'), path: 'pdf', decider: ADA }, [snapshot])
  const document = snapshot.skills.find(({ path }) => path === 'pdf')?.files[0]?.sha256
  const decider = { at: '2026-01-01T00:00:00.000Z', by: 'person' } as const
  return [recallIn(newRecall(recalledContents('pdf', snapshot, document), 'harmful', decider), [snapshot])]
}

function after(
  folders: readonly Folder[],
  act: Act,
  { pick, fresh }: { readonly pick: number; readonly fresh: string },
): readonly Folder[] {
  const index = pick % folders.length
  const one = folders[index]!
  switch (act) {
    case 'break':
      return folders.with(index, { ...one, name: undefined, text: `no frontmatter ${fresh}` })
    case 'mend':
      return folders.with(index, { ...one, name: fresh, text: 'the body' })
    case 'move':
      return folders.with(index, { ...one, path: `${fresh}/deep` })
    case 'rename':
      return one.name === undefined ? folders : folders.with(index, { ...one, name: fresh })
    case 'edit':
      return folders.with(index, { ...one, text: `${one.text} ${fresh}` })
    case 'copy':
      return [...folders, { ...one, path: `${fresh}/copy` }]
    case 'remove copy':
      return folders.length === 1 ? folders : folders.toSpliced(index, 1)
    default:
      return act satisfies never
  }
}

/** With neighbors of all kinds, which are no copies of the skill. */
function snapshotIn(folders: readonly Folder[]): Snapshot {
  const neighbors: readonly Folder[] = [
    { path: 'xls', name: 'xls', text: 'other' },
    { path: 'broken', name: undefined, text: 'broken' },
    { path: 'empty', name: undefined, text: '' },
    { path: 'empty-too', name: undefined, text: '' },
  ]
  const samples = [...folders, ...neighbors].map(({ path, name, text }) => {
    const one = sample(path, { 'SKILL.md': name === undefined ? text : `---\nname: ${name}\n---\n${text}` })
    const said: Partial<Skill> =
      name === undefined
        ? { name, description: undefined, frontmatter: undefined, servedPath: undefined, standing: 'withheld' }
        : { name, servedPath: path.replace(/[^/]*$/, name) }
    return Object.assign(one, { skill: Object.assign(one.skill, said) })
  })
  return snapshotOf(...samples.toSorted((a, b) => (a.skill.path < b.skill.path ? -1 : 1)))
}
