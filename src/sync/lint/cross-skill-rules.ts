import { diagnosticsAmong } from '../catalog/contract-diagnostics.ts'
import type { ContractDiagnostic } from '../catalog/contract-diagnostics.ts'
import type { LintDiagnostic } from './diagnostic.ts'
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
  const diagnostics = diagnosticsAmong(declared)
  return all.map(({ source, validation }) => {
    const skills = validation.skills.map((skill) => {
      const more = diagnostics.flatMap((diagnostic) => diagnosticsOf(diagnostic, source, skill))
      return more.length === 0 ? skill : { ...skill, diagnostics: inOrder([...skill.diagnostics, ...more]) }
    })
    return { ...validation, skills }
  })
}

function diagnosticsOf(
  { code, message, skills }: ContractDiagnostic,
  source: string,
  { path, declared }: Judged,
): LintDiagnostic[] {
  if (declared === undefined || !skills.some((skill) => skill.source === source && skill.path === path)) return []
  const place = code === 'id-clash' ? declared.idPlace : declared.dependsOnPlace
  return [{ code, path: declared.file, place, message }]
}
