import type { SourceStatus } from '../../src/daemon/status/status.ts'
import type { SkillProblem, VerdictState } from '../../src/sync/model/verdict/verdict.ts'

/** A problem in a status, with the path of the skill, the file or the entry in its source. */
export type PlacedProblem = SkillProblem & { readonly path: string; readonly state?: VerdictState }

/** Every problem that a status has of a source: those of skills with the state, and those of no skill. */
export function problemsIn({ id, verdicts, findings }: Told): readonly PlacedProblem[] {
  const ofSkills = verdicts.flatMap(({ state, reasons }) => reasons.map((reason) => ({ ...reason, state })))
  return [...ofSkills, ...findings].map((problem) => {
    const path = problem.place === id ? '' : problem.place.slice(id.length + 1)
    return Object.assign({ path }, problem)
  })
}

/** The folders of the skills of a source that are in a state. */
export function pathsIn({ verdicts }: Pick<SourceStatus, 'verdicts'>, state: VerdictState): readonly string[] {
  return verdicts.filter((verdict) => verdict.state === state).map(({ path }) => path)
}

type Told = Pick<SourceStatus, 'id' | 'verdicts' | 'findings'>
