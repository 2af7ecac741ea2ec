import { folderOf } from '../../base/paths.ts'
import { countOf } from '../../base/text/plural.ts'
import { CARRIED_KINDS } from '../../sync/model/marketplace.ts'
import type { Carried, CarriedKind, Marketplace, MarketplaceFile, PluginGroup } from '../../sync/model/marketplace.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import { sumOf } from '../../sync/survey/marketplace/declared.ts'

/** The marketplace of a source in numbers: a status has room for no more. */
export interface MarketplaceCounts {
  readonly files: readonly MarketplaceFile[]
  /** The plugins in the repository. */
  readonly groups: number
  /** The plugins in other repositories. */
  readonly suggested: number
  readonly unsupported: number
  /** The counts of all plugins together, each folder once. */
  readonly carried: Carried
}

/** Counts the plugins of a marketplace. */
export function countsOf({ files, groups, suggested, unsupported }: Marketplace): MarketplaceCounts {
  // Old names of a plugin are further plugins with the same folder.
  const distinct = new Map(groups.map(({ path, carried }) => [JSON.stringify([path, carried]), carried])).values()
  return {
    files,
    groups: groups.length,
    suggested: suggested.length,
    unsupported: unsupported.length,
    carried: sumOf([...distinct]),
  }
}

/** The marketplace of a source for display and `--json`. */
export interface MarketplaceRow extends Pick<Marketplace, 'files' | 'suggested' | 'unsupported' | 'renames'> {
  readonly source: string
  readonly commit: string
  /** The plugins in the repository. `skills` has the paths of their skills, except withheld ones. */
  readonly groups: readonly PluginGroup[]
}

/** The marketplace of a snapshot, with the skills of each group; empty lists if it has none. */
export function marketplaceRowOf({ source, revision, skills, marketplace }: Snapshot): MarketplaceRow {
  const { files = [], groups = [], suggested = [], unsupported = [], renames = [] } = marketplace ?? {}
  const pathsAt = placesOf(skills.filter(({ standing }) => standing !== 'withheld').map(({ path }) => path))
  const rows = groups.map((group) => Object.assign({}, group, { skills: pathsAt(group.skills) }))
  return { source, commit: revision.commit, files, groups: rows, suggested, unsupported, renames }
}

/** Returns a function: the skills at some places and directly below them. Equal places have one list. */
function placesOf(paths: readonly string[]): (places: readonly string[]) => readonly string[] {
  const byPlace = Map.groupBy(
    paths.flatMap((path) => [...new Set([path, folderOf(path)])].map((place) => ({ place, path }))),
    ({ place }) => place,
  )
  const known = new Map<string, readonly string[]>()
  return (places) => {
    const key = JSON.stringify(places)
    const found = known.get(key) ?? [
      ...new Set(places.flatMap((place) => byPlace.get(place) ?? []).map(({ path }) => path)),
    ]
    known.set(key, found)
    return found
  }
}

/** The parts of plugins that are not served, in words: `2 hooks, 1 MCP server`; empty if there are none. */
export function carriedText(carried: Carried): string {
  return CARRIED_KINDS.flatMap((kind) => {
    const count = carried[kind] ?? 0
    return count === 0 ? [] : [countOf(count, CARRIED_NAMES[kind])]
  }).join(', ')
}

const CARRIED_NAMES: Readonly<Record<CarriedKind, string>> = {
  hooks: 'hook',
  commands: 'command',
  agents: 'agent',
  mcpServers: 'MCP server',
  lspServers: 'LSP server',
  monitors: 'monitor',
  programs: 'program',
  settings: 'setting',
}
