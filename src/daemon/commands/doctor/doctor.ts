import { resolve } from 'node:path'
import { systemClock } from '../../../base/async/clock.ts'
import { countOf } from '../../../base/text/plural.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import {
  diagnosticsAbout,
  nameDiagnosticsAmong,
  contractDiagnostics,
  type ContractCode,
} from '../../../sync/catalog/contract-diagnostics.ts'
import { lackingDependencies, lackingText } from '../../../sync/catalog/pack-dependencies.ts'
import { offerTexts } from '../../../sync/model/server-listing.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { Source } from '../../../sync/model/source.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { currentCatalog } from '../../../sync/pull/generation-catalog.ts'
import { lifecycleOf } from '../../../sync/skill/lifecycle.ts'
import { Store } from '../../../sync/store/store.ts'
import { printChecks, runChecks, verdicts } from '../../cli/check.ts'
import type { Check, CheckResult, Ground } from '../../cli/check.ts'
import { configFor, progressOf } from '../../cli/command.ts'
import type { Command, Context } from '../../cli/command.ts'
import { withWriter } from '../../cli/daemon-client.ts'
import { idsOf, reachedBy } from '../../config/config.ts'
import type { Config } from '../../config/config.ts'
import { ifHomeIsKnown } from '../../config/environment.ts'
import { sourcesNamed } from '../../config/named-sources.ts'
import { ConfigError } from '../../config/rules/config-error.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { admissionOf } from '../../pull/trust/serving-policy.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { summarizeContract } from '../../status/contract-news.ts'
import { isContractUnserved, unservedContractsText } from '../../status/unserved-contract.ts'
import { connectAsEachEra } from './connect.ts'
import { credentialChecks } from './credential-checks.ts'
import { folderChecks } from './folder-checks.ts'
import { hostChecks } from './host-checks.ts'
import { listenChecks } from './listen-checks.ts'
import { programChecks } from './program-checks.ts'
import { secondOpinions } from './second-opinion.ts'
import { serviceChecks } from './service-checks.ts'
import { sourceChecks } from './source-checks.ts'
import { stateChecks } from './state-checks.ts'
import { statusChecks, withoutPast } from './status-checks.ts'
import { writerChecks } from './writer-checks.ts'

/** The groups of local checks, each made from the configuration. */
const GROUPS: readonly ((ground: Ground) => Check[])[] = [
  programChecks,
  stateChecks,
  writerChecks,
  listenChecks,
  credentialChecks,
  folderChecks,
]

/** Those that stand below the checks of features. */
const LAST_GROUPS = [statusChecks, serviceChecks] as const

/** The checks that need the network. */
const AWAY: readonly ((ground: Ground) => Check[])[] = [hostChecks, sourceChecks]

export const doctor: Command = {
  name: 'doctor',
  operands: { text: '[SOURCE… | URL]', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  mayHang: true,
  details: `
  The exit status is 3 for a failure. With SOURCE, only those sources are checked, and a second reader (isomorphic-git)
  fetches the served commit of each once more, to compare all files of its skills.

  With --connect, only the configured or named address is checked: it is opened as clients of both eras of MCP open
  it, which list, read, verify and subscribe. The token comes from a file or from the variable SKILLSYNCD_TOKEN, the
  proxy from HTTP_PROXY and HTTPS_PROXY.
`,
  examples: ['skillsyncd doctor', 'skillsyncd doctor --connect https://skills.example.com/mcp'],
  options: {
    connect: { type: 'boolean', help: 'open the address as clients of both eras do, through its proxies' },
    'token-file': {
      type: 'string',
      value: 'FILE',
      help: 'with --connect: the file with the token',
      offers: 'files',
    },
    offline: { type: 'boolean', help: 'do not check whether hosts can be reached' },
    strict: { type: 'boolean', help: 'exit with 3 for a warning too' },
  },
  async run(context: Context) {
    if (context.values['connect'] === true) {
      const { checks, ...ends } = await connectAsEachEra(context)
      return printChecks(context, checks, { about: ends })
    }
    if (context.values['token-file'] !== undefined) throw new UsageError('--token-file is only used with --connect')
    const { environment, redactor, signal, values } = context
    const { config: whole, told, isUnusable } = await readConfiguration(context)
    const named = told.verdict === 'ok' && context.operands.length > 0 ? sourcesNamed(context.operands, whole) : []
    const config = named.length === 0 ? whole : sourcesAlone(whole, named)
    const ofFeatures = await context.features.checks()
    const ground = {
      config: { ...config, sources: reachedBy(config) },
      whole,
      isUnusable,
      environment,
      redactor,
      clock: systemClock,
      asked: ofFeatures.flatMap((feature) => feature.asked?.(whole) ?? []),
      features: context.features,
    }
    const offline = values['offline'] === true
    const local = [
      ...GROUPS.flatMap((group) => group(ground)),
      ...ofFeatures.flatMap((feature) => feature.ofMachine?.(ground) ?? []),
      ...LAST_GROUPS.flatMap((group) => group(ground)),
    ]
    const away = [
      ...AWAY.flatMap((group) => group(ground)),
      ...ofFeatures.flatMap((feature) => feature.ofNetwork?.(ground) ?? []),
    ]
    const asked = idsOf(config)
    const checksOfSkills = [
      ...contractChecks(whole, asked),
      ...offerChecks(whole, asked),
      ...dependencyChecks(whole, asked),
    ]
    const checks = [...local, ...(offline ? [] : away), ...checksOfSkills]
    const found = [told, ...withoutPast(await runChecks(checks, systemClock, signal))]
    const all = [...found, ...(offline ? [] : await seconds(context, whole, named))]
    return printChecks(context, all, { end: offline ? '; no host was queried' : '', about: { offline } })
  },
}

function sourcesAlone(config: ServedConfig, named: readonly SourceId[]): ServedConfig {
  return { ...config, sources: config.sources.filter(({ source }) => named.includes(source.id)) }
}

async function seconds(
  context: Context,
  config: ServedConfig,
  named: readonly SourceId[],
): Promise<readonly CheckResult[]> {
  using progress = progressOf(context)
  const ground = { config, show: (text: string): void => progress.show(text), signal: context.signal }
  const checked = await secondOpinions(named, ground, (work) => withWriter(context, config, work))
  progress.show('')
  return checked
}

function sourcesText({ sources, follow }: Config): string {
  const count = countOf(sources.length, 'source')
  return follow === undefined ? count : `${count} of the hub at ${follow.source.url}`
}

/** Reads the configuration. If it is unusable, the machine is still checked, without sources. */
async function readConfiguration(
  context: Context,
): Promise<{ readonly config: ServedConfig; readonly told: CheckResult; readonly isUnusable: boolean }> {
  const { ok, fail } = verdicts('configuration')
  try {
    // `--offline` limits only this command: a daemon that was started without it must still answer.
    const config = { ...(await configFor(context)), mode: { locked: false, offline: false } }
    const where = config.file ?? 'the command line'
    return { config, told: ok(`${where}: valid, ${sourcesText(config)}`), isUnusable: false }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const { environment, values } = context
    const state = typeof values['state'] === 'string' ? values['state'] : ifHomeIsKnown(() => environment.state)
    if (state === undefined) throw error
    const { configOfSources } = await context.configuration()
    const config = { ...configOfSources({ urls: [ANY], state: resolve(state) }, environment), sources: [] }
    return {
      config,
      told: fail(error.message, 'Fix what the message names; sources are not checked until then'),
      isUnusable: true,
    }
  }
}

/** A configuration has at least one source; this one is removed again. */
const ANY = 'https://localhost/any.git'

/** Checks the skills that depend on others by `metadata`: across sources, then in each pack. */
function dependencyChecks(whole: ServedConfig, asked: readonly SourceId[]): Check[] {
  if (asked.length === 0) return []
  return [{ name: 'dependencies', look: async () => dependenciesChecked(whole, asked) }]
}

async function dependenciesChecked(config: ServedConfig, asked: readonly SourceId[]): Promise<CheckResult[]> {
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

/**
 * Checks the skills of the contract against each other. `whole` is needed because dependencies can lead to sources
 * other than `asked`.
 */
function contractChecks(whole: ServedConfig, asked: readonly SourceId[]): Check[] {
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
function offerChecks(config: ServedConfig, asked: readonly SourceId[]): Check[] {
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
async function servedCatalog(config: ServedConfig): Promise<Catalog | undefined> {
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
