import { countOf } from '../../../base/text/plural.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { contractDiagnostics, diagnosticsAbout, type ContractCode } from '../../../sync/catalog/contract-diagnostics.ts'
import { offerTexts } from '../../../sync/model/server-listing.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { Source } from '../../../sync/model/source.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { currentCatalog } from '../../../sync/pull/generation-catalog.ts'
import { Store } from '../../../sync/store/store.ts'
import { verdicts } from '../../cli/check.ts'
import type { Check, CheckResult } from '../../cli/check.ts'
import { idsOf } from '../../config/config.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { admissionOf } from '../../pull/trust/serving-policy.ts'
import { summarizeContract } from '../../status/contract-news.ts'
import { isContractUnserved, unservedContractsText } from '../../status/unserved-contract.ts'

/**
 * Checks the skills of the contract against each other. `whole` is needed because dependencies can lead to sources
 * other than `asked`.
 */
export function contractChecks(whole: ServedConfig, asked: readonly SourceId[]): Check[] {
  return asked.length === 0 ? [] : [{ name: 'contract', look: async () => contractChecked(whole, asked) }]
}

async function contractChecked(config: ServedConfig, asked: readonly SourceId[]): Promise<CheckResult[]> {
  const catalog = await servedCatalog(config)
  if (catalog === undefined) return []
  const sources = config.sources.flatMap(({ source }) => (asked.includes(source.id) ? [source] : []))
  const unserved = sources.flatMap((source) => unservedChecked(source, catalog))
  return [...heldChecked(catalog, sources), ...unserved]
}

/** Tells what the MCP servers among the sources offer and is not taken. It is no fault. */
export function offerChecks(config: ServedConfig, asked: readonly SourceId[]): Check[] {
  if (!config.sources.some(({ source }) => source.kind === 'mcp' && asked.includes(source.id))) return []
  const look = async (): Promise<readonly CheckResult[]> =>
    ((await servedCatalog(config))?.snapshots ?? []).flatMap(({ source, offers }) =>
      offers === undefined || !asked.includes(source)
        ? []
        : offerTexts(source, offers).map((text) => verdicts('offers', source).ok(`it offers ${text}`)),
    )
  return [{ name: 'offers', look }]
}

/** Not a fault: most authors with the block do not need it served here. */
function unservedChecked(source: Source, { snapshots }: Catalog): CheckResult[] {
  const skills = snapshots.find((snapshot) => snapshot.source === source.id)?.skills ?? []
  const count = skills.filter((skill) => isContractUnserved(source, skill)).length
  return count === 0 ? [] : [verdicts('contract', source.id).ok(unservedContractsText(count))]
}

function heldChecked(catalog: Catalog, sources: readonly Source[]): CheckResult[] {
  const asked = new Set(sources.flatMap(({ id, contract }) => (contract === true ? [id] : [])))
  if (asked.size === 0) return []
  const summaries = summarizeContract(diagnosticsAbout(asked, contractDiagnostics(catalog)))
  if (summaries.length > 0) return summaries.map(({ code, message }) => checkResultOf(code, message))
  const held = [...catalog.skills.values()].filter(({ source, skill }) => asked.has(source) && skill.contract)
  return [verdicts('contract').ok(`${countOf(held.length, 'skill')} of the contract, without conflicts between them`)]
}

/** `undefined` if it cannot be read: other checks report the reason. */
export async function servedCatalog(config: ServedConfig): Promise<Catalog | undefined> {
  try {
    using store = await Store.openExisting(config.state)
    await store?.decisions.read()
    return store && (await currentCatalog(store, idsOf(config), admissionOf(config)))
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    return undefined
  }
}

function checkResultOf(code: ContractCode, message: string): CheckResult {
  const { warn, fail } = verdicts('contract')
  const text = `${code}: ${message}`
  // A dependency is the author's statement; the skill is served regardless.
  return code === 'id-clash' ? fail(text, MENDS[code]) : warn(text, MENDS[code])
}

const MENDS: Readonly<Record<ContractCode, string>> = {
  'id-clash': 'Rename all but one in their repositories, or disable the others with skillsyncd disable',
  'dependency-missing': 'Correct depends_on in the repository, or serve a skill that has the id',
  'dependency-cycle': 'Remove one of the dependencies in the repository',
}
