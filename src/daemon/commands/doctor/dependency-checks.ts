import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { nameDiagnosticsAmong, diagnosticsAbout } from '../../../sync/catalog/contract-diagnostics.ts'
import { lackingDependencies, lackingText } from '../../../sync/catalog/pack-dependencies.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { lifecycleOf } from '../../../sync/skill/lifecycle.ts'
import { verdicts } from '../../cli/check.ts'
import type { CheckResult, DoctorCheck } from '../../cli/check.ts'
import type { Config } from '../../config/config.ts'
import { servedCatalog } from './contract-checks.ts'

/** Checks the skills that depend on others by `metadata`: across sources, then in each pack. */
export function dependencyChecks(whole: Config, asked: readonly SourceId[]): DoctorCheck[] {
  if (asked.length === 0) return []
  return [{ name: 'dependencies', look: async () => dependenciesChecked(whole, asked) }]
}

async function dependenciesChecked(config: Config, asked: readonly SourceId[]): Promise<CheckResult[]> {
  const catalog = await servedCatalog(config)
  if (catalog === undefined) return []
  return [...namesChecked(catalog, asked), ...packsChecked(config, catalog, asked)]
}

/** No skill is withheld for a dependency, so none of these is a failure. */
function namesChecked({ skills }: Catalog, asked: readonly SourceId[]): CheckResult[] {
  const named = [...skills.values()].map(({ name, source, skill }) => ({
    id: name,
    dependsOn: lifecycleOf(skill).dependsOn ?? [],
    source,
    path: skill.path,
    isListed: skill.standing === 'served',
  }))
  const { warn } = verdicts('dependencies')
  return diagnosticsAbout(new Set(asked), nameDiagnosticsAmong(named)).map(({ code, message }) =>
    warn(`${code}: ${message}`, 'Correct metadata.depends_on in the repository, or serve a skill of that name'),
  )
}

function packsChecked({ packs }: Config, { snapshots }: Catalog, asked: readonly SourceId[]): CheckResult[] {
  const isAsked = (place: string): boolean => asked.some((id) => place.startsWith(`${id}/`) || place === id)
  return packs.flatMap((pack) =>
    lackingDependencies(pack, snapshots)
      .filter(({ neededBy }) => neededBy.some(isAsked))
      .map((lacking) =>
        verdicts('dependencies').warn(
          `pack "${pack.id}" ${lackingText(lacking)}`,
          'Extend the pack in the configuration, or leave the dependent skill out of it',
        ),
      ),
  )
}
