import { diagnosticsAmong, nameDiagnosticsAmong } from '../../../sync/catalog/contract-diagnostics.ts'
import type { ContractDiagnostic } from '../../../sync/catalog/contract-diagnostics.ts'
import type { Declaration } from './contract-rules.ts'
import type { LintDiagnostic } from './diagnostic.ts'
import { inOrder } from './lint-skill.ts'
import type { Judged, Validation } from './lint.ts'

/** A validated folder, with its name in messages. */
interface Named {
  readonly source: string
  readonly validation: Validation
}

/** The validations, with the problems between all skills in them. */
export function withNeighbours(all: readonly Named[]): Validation[] {
  const byContract = diagnosticsAmong(neighborsIn(all, ({ declared }) => declared))
  const byName = nameDiagnosticsAmong(neighborsIn(all, ({ needs }) => needs))
  return all.map(({ source, validation }) => {
    const skills = validation.skills.map((skill) => {
      const { path, declared, needs } = skill
      const isOwn = ({ skills: about }: ContractDiagnostic): boolean =>
        about.some((one) => one.source === source && one.path === path)
      const more = [
        ...byContract.filter(isOwn).flatMap((diagnostic) => placedIn(declared, diagnostic)),
        ...byName.filter(isOwn).flatMap((diagnostic) => placedIn(needs, diagnostic)),
      ]
      return more.length === 0 ? skill : { ...skill, diagnostics: inOrder([...skill.diagnostics, ...more]) }
    })
    return { ...validation, skills }
  })
}

function neighborsIn(all: readonly Named[], declarationOf: (skill: Judged) => Declaration | undefined) {
  return all.flatMap(({ source, validation }) =>
    validation.skills.flatMap((skill) => {
      const declared = declarationOf(skill)
      return declared === undefined ? [] : [{ ...declared, source, path: skill.path, isListed: true }]
    }),
  )
}

function placedIn(declared: Declaration | undefined, { code, message }: ContractDiagnostic): LintDiagnostic[] {
  if (declared === undefined) return []
  const place = code === 'id-clash' ? declared.idPlace : declared.dependsOnPlace
  // As in a source that only offers the contract: the skill is served.
  const isNote = !declared.isAsked && code !== 'dependency-missing'
  return [{ code: isNote ? 'contract-noted' : code, path: declared.file, place, message }]
}
