import { runNow } from '../../base/async/cooperative.ts'
import { folderOf } from '../../base/paths.ts'
import { placesTold } from '../../serve/mcp/tools/search/hits.ts'
import { packingCatalog } from '../../sync/catalog/catalog-packs.ts'
import { EMPTY_CATALOG } from '../../sync/catalog/catalog.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { packedIn } from '../../sync/catalog/pack.ts'
import { offeredIn } from '../../sync/catalog/tool-catalog.ts'
import type { OfferedSkills } from '../../sync/catalog/tool-catalog.ts'
import { digestText } from '../../sync/model/digest.ts'
import type { Marketplace } from '../../sync/model/marketplace.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { KeptVersion, Skill } from '../../sync/model/skill.ts'
import { originOfSkill } from '../../sync/model/snapshot.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { uriOf } from '../../sync/model/uris/skill-uri.ts'
import { findingProblem } from '../../sync/model/verdict/skill-problems.ts'
import { decidedIn } from '../../sync/model/verdict/skill-states.ts'
import type { SkillProblem, Verdict } from '../../sync/model/verdict/verdict.ts'
import { currentCatalog } from '../../sync/pull/generation-catalog.ts'
import type { Contract } from '../../sync/skill/contract/contract.ts'
import { lifecycleOf } from '../../sync/skill/lifecycle.ts'
import type { Lifecycle } from '../../sync/skill/lifecycle.ts'
import { NO_SCANS } from '../../sync/store/scan-records.ts'
import type { SourceScans } from '../../sync/store/scan-records.ts'
import { Store } from '../../sync/store/store.ts'
import { configuredIn, idsOf } from '../config/config.ts'
import type { ServedConfig } from '../pull/trust/serving-policy.ts'
import { admissionOf } from '../pull/trust/serving-policy.ts'
import { scanIn } from './source-scan.ts'
import type { ScanRow } from './source-scan.ts'
import { isContractUnserved } from './unserved-contract.ts'
import { verdictsIn } from './verdicts.ts'
import { verifiedOf, type KeptDigests, type Verified } from './verified-files.ts'

/** One skill for display and `--json`: its state and its origin. */
export interface SkillRow {
  readonly source: string
  /** The real folder, relative to the source's root. */
  readonly path: string
  /**
   * The id in search and the tools, if the skill is offered. For a disabled skill, or one that waits for approval, the
   * id that it has without that decision. Absent if it is withheld, or in no list.
   */
  readonly id?: string
  /**
   * The ids of the places that have the same content under this name, including this one. Present only if there are
   * several; limited to the first of them.
   */
  readonly places?: readonly string[]
  /** The URI of its SKILL.md; only if it is served, or would be if it were not disabled. */
  readonly uri: string | undefined
  /** Its URI on the other MCP server, if it comes from one. */
  readonly upstream?: string
  readonly name: string | undefined
  readonly description: string | undefined
  readonly verdict: Verdict
  /** The statements about its life, by `metadata` in its frontmatter and by the operator. Absent if there are none. */
  readonly lifecycle?: Lifecycle
  /** The ids of the packs that it belongs to. */
  readonly packs: readonly string[]
  /** The plugins of the marketplace in its repository that it belongs to: the first of them; absent if there are none. */
  readonly plugins?: readonly string[]
  /** The commit that it is from, and its ref: for an earlier version, that of the version. */
  readonly commit: string
  readonly ref: string
  /** Present for an earlier version that is served because a later commit broke the skill. */
  readonly kept?: Omit<KeptVersion, 'faults'> & { readonly faults: readonly SkillProblem[] }
  /** The digest of its content, as `docs/protocol.md` defines it. */
  readonly digest: string | undefined
  readonly size: number
  readonly files: readonly {
    readonly path: string
    readonly size: number
    readonly digest: string
    readonly executable: boolean
  }[]
  /** Its `x-personal-mcp` block, if its source uses the contract and the block is valid. */
  readonly contract?: Contract
  /** True if it has such a block although its source does not use the contract. */
  readonly hasUnservedContract?: true
  /** Present for skills of other MCP servers. */
  readonly verified?: Verified
  /** The last scan of its content by the scanner of `gate`. Absent if it was not scanned. */
  readonly scan?: ScanRow
}

/**
 * One row for each SKILL.md of the sources in the state folder, served or not. It reads the stored state, with or
 * without a running daemon. Empty if the state folder does not exist yet.
 */
export async function readRows(config: ServedConfig): Promise<SkillRow[]> {
  return (await readSkillRows(config)).map(({ row }) => row)
}

/** The rows, each with the full data of its skill. */
export async function readSkillRows(
  config: ServedConfig,
): Promise<{ readonly row: SkillRow; readonly skill: Skill }[]> {
  using store = await Store.openExisting(config.state)
  if (store === undefined) return []
  await store.decisions.read()
  const catalog = await currentCatalog(store, idsOf(config), admissionOf(config))
  const ids = catalog.snapshots.map(({ source }) => source)
  const scans = new Map(await Promise.all(ids.map(async (id) => [id, await store.scans.read(id)] as const)))
  const known = { catalog, ids: idsIn(catalog), places: placesIn(catalog), kept: await keptOf(catalog, store), scans }
  return catalog.snapshots.flatMap((snapshot) => rowsOf(snapshot, store, config, known))
}

/** The digests of the stored files of other MCP servers, by source. */
export async function keptOf({ snapshots }: Catalog, { upstreams }: Store): Promise<KeptDigests> {
  const sources = snapshots.filter(({ skills }) => skills.some(isOfUpstream)).map(({ source }) => source)
  return new Map(await Promise.all(sources.map(async (id) => [id, await upstreams.kept(id)] as const)))
}

/** The ids of the skills that tools offer, and of those that they would offer without the operator's decisions. */
function idsIn(catalog: Catalog): ReadonlyMap<Skill, string> {
  const undecided: Catalog = { ...catalog, sources: [] }
  return new Map([undecided, catalog].flatMap((of) => offeredIn(of).listed.map(({ skill, id }) => [skill, id])))
}

type Places = Pick<SkillRow, 'places'>

function placesIn(catalog: Catalog): ReadonlyMap<Skill, Places> {
  const offered = offeredIn(catalog)
  return new Map(offered.listed.map((one) => [one.skill, placesTold(offered.placesOf(one))]))
}

/** Facts from the whole catalog, by skill. */
interface Known {
  readonly catalog: Catalog
  readonly ids: ReadonlyMap<Skill, string>
  readonly places: ReadonlyMap<Skill, Places>
  readonly kept: KeptDigests
  readonly scans: ReadonlyMap<SourceId, SourceScans>
}

/**
 * The skills in the state folder that tools offer, ordered by id, with or without a running daemon. With `packs`: the
 * skills that clients of these packs see.
 */
export async function readOffered(config: ServedConfig, packs?: readonly string[]): Promise<OfferedSkills> {
  using store = await Store.openExisting(config.state)
  if (store === undefined) return offeredIn(EMPTY_CATALOG)
  await store.decisions.read()
  const whole = await currentCatalog(store, idsOf(config), admissionOf(config))
  if (packs === undefined) return offeredIn(whole)
  const named = config.packs.filter(({ id }) => packs.includes(id))
  return offeredIn(runNow(packingCatalog(whole, named)))
}

/** Ordered by path. */
function rowsOf(
  snapshot: Snapshot,
  { decisions }: Store,
  config: ServedConfig,
  { catalog, ids, places, kept, scans }: Known,
): { readonly row: SkillRow; readonly skill: Skill }[] {
  const { source, skills } = snapshot
  const configured = configuredIn(config, source)
  const decided = decidedIn(snapshot, configured.source, decisions)
  const verdictOf = verdictsIn(snapshot, decided, { config, catalog })
  const packs = config.packs.map((pack) => ({ id: pack.id, skills: packedIn(snapshot, pack) }))
  const pluginsOf = pluginsIn(snapshot.marketplace)
  return skills.map((skill) => {
    const own = packs.filter(({ skills: packed }) => packed.has(skill)).map(({ id }) => id)
    const verified = verifiedOf(skill, kept.get(source))
    const plugins = pluginsOf(skill.path)
    const scan = scanIn(scans.get(source) ?? NO_SCANS, 'skill', skill.digest)
    const row = {
      ...rowOf(skill, {
        source,
        ...originOfSkill(snapshot, skill),
        id: ids.get(skill),
        verdict: verdictOf(skill),
        packs: own,
      }),
      ...places.get(skill),
      ...(plugins !== undefined && { plugins }),
      ...(verified !== undefined && { verified }),
      ...(scan !== undefined && { scan }),
    }
    return { row: isContractUnserved(configured.source, skill) ? { ...row, hasUnservedContract: true } : row, skill }
  })
}

/** Returns a function: the names of the plugins that a skill belongs to; `undefined` if there are none. */
function pluginsIn(marketplace: Marketplace | undefined): (path: string) => readonly string[] | undefined {
  if (marketplace === undefined) return () => undefined
  const byPlace = new Map<string, string[]>()
  for (const { name, skills } of marketplace.groups)
    for (const place of skills) {
      const there = byPlace.get(place) ?? []
      // An author may list thousands of plugins with the same folder.
      if (there.length < MOST_PLUGINS) byPlace.set(place, [...there, name])
    }
  return (path) => {
    const names = new Set([path, folderOf(path)].flatMap((place) => byPlace.get(place) ?? []))
    return names.size === 0 ? undefined : [...names].slice(0, MOST_PLUGINS)
  }
}

const MOST_PLUGINS = 20

/** The facts of a row that its skill does not have. */
interface RowFacts {
  readonly source: string
  readonly revision: { readonly commit: string; readonly ref: string }
  readonly id: string | undefined
  readonly verdict: Verdict
  readonly packs: readonly string[]
}

function rowOf(skill: Skill, { source, revision, id, verdict, packs }: RowFacts): SkillRow {
  const { path, name, description, standing, digest, size, contract, servedPath, kept } = skill
  const lifecycle = lifecycleOf(skill)
  const isServed = (standing === 'served' || standing === 'unlisted') && servedPath !== undefined
  return {
    source,
    path,
    ...(id !== undefined && { id }),
    uri: isServed ? uriOf(source, `${servedPath}/SKILL.md`) : undefined,
    verdict,
    name,
    description,
    packs,
    commit: revision.commit,
    ref: revision.ref,
    ...(kept && { kept: { ...kept, faults: kept.faults.map((fault) => findingProblem(source, path, fault)) } }),
    digest: digest && digestText(digest),
    size,
    files: skill.files.map((file) => ({
      path: file.path,
      size: file.size,
      digest: digestText(file.sha256),
      executable: file.executable,
    })),
    ...(skill.upstream !== undefined && { upstream: skill.upstream.uri }),
    ...(contract !== undefined && { contract }),
    ...(Object.keys(lifecycle).length > 0 && { lifecycle }),
  }
}
