import { folderOf } from '../../base/paths.ts'
import type { SkillDiagnostic } from '../skill/skill-diagnostic.ts'

/** The plugin marketplaces in one revision: groups of its skills, and other data that is reported and never served. */
export interface Marketplace {
  /** In order of precedence: where two files differ, the first one counts. */
  readonly files: readonly MarketplaceFile[]
  /** The plugins in this repository. One plugin name is one group. */
  readonly groups: readonly PluginGroup[]
  /** The plugins in other repositories. They are never fetched unless the operator adds them as sources. */
  readonly suggested: readonly SuggestedSource[]
  /** The plugins from a package registry, an archive or a command. */
  readonly unsupported: readonly UnsupportedPlugin[]
  readonly renames: readonly PluginRename[]
  /** The folders of the plugins in this repository, as they were read: an unchanged folder is not read again. */
  readonly folders: readonly PluginFolder[]
  /** True if a part is refused or not read, so skills may belong to further groups. */
  readonly isIncomplete?: true
}

export interface MarketplaceFile {
  readonly path: string
  /** The name that the file declares. */
  readonly name?: string
  /** The number of its plugins. */
  readonly plugins: number
  /** True if the file is not usable, so its groups are unknown. */
  readonly isUnread?: true
}

/** A plugin in this repository, as a group of skills. */
export interface PluginGroup {
  readonly name: string
  /** A label. It need not change with the content. */
  readonly version?: string
  /** The folder of the plugin, from the root of the repository. */
  readonly path: string
  /** A skill at one of these paths, or directly below one, belongs to the group. */
  readonly skills: readonly string[]
  readonly carried: Carried
}

/** The number of things of each kind in a plugin, apart from skills. They are never run and never served. */
export type Carried = { readonly [Kind in CarriedKind]?: number }

export type CarriedKind = (typeof CARRIED_KINDS)[number]

/** In the order of reports. */
export const CARRIED_KINDS = [
  'hooks',
  'commands',
  'agents',
  'mcpServers',
  'lspServers',
  'monitors',
  'programs',
  'settings',
] as const

/** A plugin in another git repository, with the pin that the marketplace has for it. */
export interface SuggestedSource {
  readonly name: string
  readonly url: string
  readonly ref?: string
  /** The full commit id. It wins over `ref`. */
  readonly sha?: string
  /** The folder of the plugin in that repository. */
  readonly path?: string
}

export interface UnsupportedPlugin {
  readonly name: string
  /** The kind of its source, as the file declares it. */
  readonly kind: string
}

/** A plugin with a new name, or a removed one. */
export interface PluginRename {
  readonly from: string
  /** `null` if the plugin was removed. */
  readonly to: string | null
}

/** The content of the folder of a plugin. It depends only on the files below `path`. */
export interface PluginFolder {
  readonly path: string
  /** The number of files that were read in it. */
  readonly opened: number
  readonly version?: string
  /** The folders of skills that its manifests name, from the root of the repository. */
  readonly skills: readonly string[]
  readonly carried: Carried
  readonly findings: readonly SkillDiagnostic[]
  /** True if the repository has no such folder. */
  readonly isMissing?: true
  /** True if a manifest or a path of skills in one is not usable, so further folders of skills may be unknown. */
  readonly isUnread?: true
}

/** The files in a repository that may be a marketplace, in order of precedence. */
export const MARKETPLACE_FILES: readonly string[] = [
  '.claude-plugin/marketplace.json',
  '.agents/plugins/marketplace.json',
  '.cursor-plugin/marketplace.json',
  '.github/plugin/marketplace.json',
  '.plugin/marketplace.json',
  'marketplace.json',
]

/** Returns a predicate: true if one of the groups has a skill at the path. */
export function groupedIn(groups: readonly Pick<PluginGroup, 'skills'>[]): (skillPath: string) => boolean {
  const places = new Set(groups.flatMap(({ skills }) => skills))
  return (path) => places.has(path) || (path !== '' && places.has(folderOf(path)))
}
