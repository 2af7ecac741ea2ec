import { createHash } from 'node:crypto'
import type { Steps } from '../../base/cooperative.ts'
import type { CatalogSkill, FolderSkill } from '../../sync/catalog/catalog-entry.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { folderSkillsIn, isReadByInstallers } from '../../sync/catalog/folder-skills.ts'
import { installNames } from '../../sync/catalog/install-names.ts'
import type { InstallableSkill } from '../../sync/catalog/install-names.ts'
import { packedIn } from '../../sync/catalog/pack.ts'
import type { Pack } from '../../sync/catalog/pack.ts'
import { comparePaths } from '../../sync/model/digest.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { Skill } from '../../sync/model/skill.ts'
import { unportableReason } from './portable-path.ts'

/** The operator's configuration of the plugin marketplace. */
export interface MarketplaceConfig {
  /** The name by which clients know the marketplace: they refuse another one later. */
  readonly name: string
  /** The name of the organization. */
  readonly owner: string
  readonly description: string
  /** The name of the plugin with the skills that are in no pack. */
  readonly plugin: string
  /** The names of withdrawn plugins: each is served without skills, because clients keep a plugin that vanishes. */
  readonly retired: readonly string[]
  /** The old names of plugins, with the new ones. */
  readonly renames: Readonly<Record<string, string>>
}

/** A plugin of the marketplace: a pack, the skills that are in no pack, or a withdrawn plugin. */
export interface Plugin {
  readonly name: string
  readonly description: string
  /** Another string whenever a file of the plugin is another. Valid semver, and the same at each rollback. */
  readonly version: string
  /** The skills by the names of their folders, in order. */
  readonly skills: ReadonlyMap<string, InstallableSkill>
}

/** A skill that is in no plugin, and the reason. */
export interface LeftOutSkill {
  /** Its source and path. */
  readonly place: string
  readonly why: string
}

/** The plugins of a catalog that a caller sees, in the order of their names. */
export interface PluginList {
  readonly plugins: readonly Plugin[]
  readonly leftOut: readonly LeftOutSkill[]
}

/**
 * Returns the plugins of the packs `visible`, the same for each caller that sees them; `undefined`: all plugins,
 * with the one of the skills that are in no pack.
 */
export function* pluginsIn(
  catalog: Catalog,
  packs: readonly Pack[],
  config: MarketplaceConfig,
  visible: ReadonlySet<string> | undefined,
): Steps<PluginList> {
  const { taken, leftOut } = yield* portableIn(catalog)
  const plugins: Plugin[] = []
  const isVisible = (name: string): boolean => visible?.has(name) !== false
  const inPacks = new Set<Skill>()
  for (const pack of packs) {
    if (!isVisible(pack.id)) continue
    const packed = yield* packing(catalog, pack)
    for (const skill of packed) inPacks.add(skill)
    const description = pack.description ?? `The skills of ${pack.id}`
    plugins.push(yield* making({ name: pack.id, description }, taken, ({ skill }) => packed.has(skill)))
  }
  if (visible === undefined) {
    const { plugin: name, description } = config
    plugins.push(yield* making({ name, description }, taken, ({ skill }) => !inPacks.has(skill)))
  }
  const served = new Set(plugins.map(({ name }) => name))
  for (const name of config.retired)
    if (isVisible(name) && !served.has(name)) plugins.push(pluginOf({ name, description: 'Withdrawn' }, new Map()))
  return { plugins: plugins.toSorted((a, b) => comparePaths(a.name, b.name)), leftOut }
}

function* packing(catalog: Catalog, pack: Pack): Steps<ReadonlySet<Skill>> {
  const packed = new Set<Skill>()
  for (const snapshot of catalog.snapshots) {
    for (const skill of packedIn(snapshot, pack)) packed.add(skill)
    yield
  }
  return packed
}

/** The skills that a plugin can have. */
interface Portable {
  readonly listed: readonly CatalogSkill[]
  readonly folderSkills: readonly FolderSkill[]
}

function* portableIn(catalog: Catalog): Steps<{ readonly taken: Portable; readonly leftOut: readonly LeftOutSkill[] }> {
  const leftOut: LeftOutSkill[] = []
  const isTaken = (found: InstallableSkill): boolean => {
    const why = leftOutReason(found)
    if (why !== undefined) leftOut.push({ place: `${found.source}/${found.skill.path}`, why })
    return why === undefined
  }
  const listed: CatalogSkill[] = []
  for (const skill of catalog.listed) {
    if (isTaken(skill)) listed.push(skill)
    yield
  }
  const folderSkills = folderSkillsIn(catalog).filter(isTaken)
  return { taken: { listed, folderSkills }, leftOut }
}

function leftOutReason(found: InstallableSkill): string | undefined {
  // Their files are fetched when a client reads them, so their bytes may not be there.
  if (isOfUpstream(found.skill)) return 'it is a skill of another MCP server'
  if (!isReadByInstallers(found)) return 'its frontmatter is not valid YAML'
  return unportableReason(found.skill)
}

function* making(
  named: Pick<Plugin, 'name' | 'description'>,
  { listed, folderSkills }: Portable,
  isIn: (skill: InstallableSkill) => boolean,
): Steps<Plugin> {
  const { listed: names } = yield* installNames(listed.filter(isIn), folderSkills.filter(isIn))
  return pluginOf(named, new Map([...names].toSorted(([a], [b]) => comparePaths(a, b))))
}

function pluginOf(named: Pick<Plugin, 'name' | 'description'>, skills: Plugin['skills']): Plugin {
  return { ...named, version: versionOf(named, skills), skills }
}

/** The `g` keeps a semver from beginning a numeric part with a zero. */
function versionOf({ name, description }: Pick<Plugin, 'name' | 'description'>, skills: Plugin['skills']): string {
  const hash = createHash('sha256').update(JSON.stringify([name, description]))
  for (const [folder, { digest }] of skills) hash.update(JSON.stringify([folder, digest]))
  return `0.0.0-g${hash.digest('hex').slice(0, 12)}`
}
