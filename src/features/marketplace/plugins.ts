import { createHash } from 'node:crypto'
import type { Steps } from '../../base/async/cooperative.ts'
import { isWindowsDevice } from '../../base/paths.ts'
import type { CatalogSkill, FolderSkill } from '../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../sync/catalog/catalog.ts'
import { folderSkillsIn, isReadByInstallers } from '../../sync/catalog/folder-skills.ts'
import { installNames } from '../../sync/catalog/install-names.ts'
import type { InstallableSkill } from '../../sync/catalog/install-names.ts'
import { packedIn } from '../../sync/catalog/pack.ts'
import type { Pack } from '../../sync/catalog/pack.ts'
import { comparePaths } from '../../sync/model/digest.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import { unportableReason } from '../../sync/skill/skill-path.ts'
import type { MarketplaceConfig } from './marketplace-config.ts'

/** A plugin of the marketplace: a pack, the skills that are in no pack, or a retired plugin. */
export interface Plugin {
  readonly name: string
  readonly description: string
  readonly owner: string
  /** Another string whenever the plugin differs. Valid semver, and the same after a rollback. */
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
  const { listed, folderSkills, leftOut } = yield* portableIn(catalog)
  const plugins: Plugin[] = []
  const add = function* (named: NamedPlugin, isIn: (skill: InstallableSkill) => boolean): Steps<void> {
    const { listed: names } = yield* installNames(listed.filter(isIn), folderSkills.filter(isIn))
    plugins.push(pluginOf(named, names))
  }
  const inPacks = new Set<string>()
  for (const pack of packs) {
    if (visible?.has(pack.id) === false) continue
    const packed = yield* placesIn(catalog, pack)
    for (const place of packed) inPacks.add(place)
    yield* add(namedAfter(pack, config), (skill) => packed.has(placeOf(skill)))
  }
  if (visible === undefined) yield* add({ ...config, name: config.plugin }, (skill) => !inPacks.has(placeOf(skill)))
  const retired = config.retired.filter((name) => visible?.has(name) !== false)
  plugins.push(...retired.map((name) => pluginOf({ ...config, name, description: 'Retired' }, new Map())))
  return { plugins: plugins.toSorted((a, b) => comparePaths(a.name, b.name)), leftOut }
}

type NamedPlugin = Pick<Plugin, 'name' | 'description' | 'owner'>

function namedAfter({ id, description }: Pack, { owner }: MarketplaceConfig): NamedPlugin {
  return { name: id, description: description ?? `The skills of ${id}`, owner }
}

/** Sources can share the values of equal skills, so a skill is told apart by its place. */
function placeOf({ source, skill }: Pick<InstallableSkill, 'source' | 'skill'>): string {
  return `${source}/${skill.path}`
}

function* placesIn(catalog: Catalog, pack: Pack): Steps<ReadonlySet<string>> {
  const places = new Set<string>()
  for (const snapshot of catalog.snapshots) {
    const { source } = snapshot
    for (const skill of packedIn(snapshot, pack)) places.add(placeOf({ source, skill }))
    yield
  }
  return places
}

/** The skills that a plugin can have. */
interface PortableSkills {
  readonly listed: readonly CatalogSkill[]
  readonly folderSkills: readonly FolderSkill[]
  readonly leftOut: readonly LeftOutSkill[]
}

function* portableIn(catalog: Catalog): Steps<PortableSkills> {
  const leftOut: LeftOutSkill[] = []
  const isPortable = (found: InstallableSkill): boolean => {
    const why = leftOutReason(found)
    if (why !== undefined) leftOut.push({ place: placeOf(found), why })
    return why === undefined
  }
  const listed: CatalogSkill[] = []
  for (const skill of catalog.listed) {
    if (isPortable(skill)) listed.push(skill)
    yield
  }
  return { listed, folderSkills: folderSkillsIn(catalog).filter(isPortable), leftOut }
}

function leftOutReason(found: InstallableSkill): string | undefined {
  // Their files are fetched when a client reads them, so their bytes may not be there.
  if (isOfUpstream(found.skill)) return 'it is a skill of another MCP server'
  if (!isReadByInstallers(found)) return 'its frontmatter is not valid YAML'
  if (isWindowsDevice(found.name)) return `its name "${found.name}" is that of a Windows device`
  return unportableReason(found.skill)
}

function pluginOf(named: NamedPlugin, names: ReadonlyMap<string, InstallableSkill>): Plugin {
  const { name, description, owner } = named
  const skills = new Map([...names].toSorted(([a], [b]) => comparePaths(a, b)))
  const hash = createHash('sha256').update(JSON.stringify([name, description, owner]))
  for (const [folder, { digest }] of skills) hash.update(JSON.stringify([folder, digest]))
  // The `g` keeps the semver from beginning a numeric part with a zero.
  return { name, description, owner, version: `0.0.0-g${hash.digest('hex').slice(0, 12)}`, skills }
}
