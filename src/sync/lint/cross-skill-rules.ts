import { problemsAmong } from '../catalog/contract-diagnostics.ts'
import type { ContractProblem } from '../catalog/contract-diagnostics.ts'
import type { Flaw } from './diagnostic.ts'
import { inOrder } from './lint-skill.ts'
import type { Judged, Validation } from './lint.ts'

/** A validated folder, with its name in messages. */
interface Named {
  readonly source: string
  readonly validation: Validation
}

/** The validations, with the problems between all contract skills in them. */
export function withNeighbours(all: readonly Named[]): Validation[] {
  const declared = all.flatMap(({ source, validation }) =>
    validation.skills.flatMap(({ path, declared: own }) =>
      own === undefined ? [] : [{ ...own, source, path, isListed: true }],
    ),
  )
  const problems = problemsAmong(declared)
  return all.map(({ source, validation }) => {
    const skills = validation.skills.map((skill) => {
      const more = problems.flatMap((problem) => flawsOf(problem, source, skill))
      return more.length === 0 ? skill : { ...skill, flaws: inOrder([...skill.flaws, ...more]) }
    })
    return { ...validation, skills }
  })
}

function flawsOf({ kind, message, skills }: ContractProblem, source: string, { path, declared }: Judged): Flaw[] {
  if (declared === undefined || !skills.some((skill) => skill.source === source && skill.path === path)) return []
  const place = kind === 'id-clash' ? declared.idPlace : declared.dependsOnPlace
  return [{ rule: kind, path: declared.file, place, message }]
}
