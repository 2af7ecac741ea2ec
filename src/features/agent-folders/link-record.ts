import type { SourceId } from '../../sync/model/source-id.ts'

/** The record of everything that was put into agents' folders. Only recorded content is ever removed there. */
export interface Links {
  /** The skill that each name stands for, in every folder. It stays even if other skills get that name later. */
  readonly skills: ReadonlyMap<string, LinkedSkill>
  /** By path, with links resolved. */
  readonly folders: ReadonlyMap<string, LinkedFolder>
}

export interface LinkedSkill {
  readonly source: SourceId
  /** The real folder, relative to the source's root. */
  readonly path: string
}

/** A folder that agents read. */
export interface LinkedFolder {
  /** The agents that use the folder: for the user or in one project. Several agents can read the same folder. */
  readonly uses: readonly Use[]
  /** The folders that were created for it, outermost first. */
  readonly made: readonly string[]
  /** True if the operator requested copies instead of links. */
  readonly copies: boolean
  /** Absent: all served skills. */
  readonly only?: LinkFilter | undefined
  /** By name. */
  readonly entries: ReadonlyMap<string, LinkEntry>
}

export interface Use {
  /** The id of an agent, or `NO_AGENT`. */
  readonly agent: string
  /** The folder of the project; absent for the user's own. With `NO_AGENT`, the folder of the skills itself. */
  readonly project?: string | undefined
}

/** Stands for the readers of a folder that the operator named by its path. */
const NO_AGENT = 'folder'

/** The use of a folder that the operator named by its path. */
export function useOfFolder(path: string): Use {
  return { agent: NO_AGENT, project: path }
}

/** The folder that the operator named by its path; `undefined` for the folder of an agent. */
export function namedFolderOf({ agent, project }: Use): string | undefined {
  return agent === NO_AGENT ? project : undefined
}

/** The requested sources and skills, as the user named them. */
export interface LinkFilter {
  readonly sources: readonly string[]
  readonly skills: readonly string[]
}

/**
 * The data that identifies one of our entries: a link to exactly this target, or a folder with exactly this content. It
 * includes the previous content, because a run can be killed before the replacement.
 */
export interface LinkEntry {
  readonly targets: readonly string[]
  readonly digests: readonly string[]
}

/** True for an entry that `readLinks` left without what identifies it. */
export function isOfOtherState({ targets, digests }: LinkEntry): boolean {
  return targets.length + digests.length === 0
}

export const NO_LINKS: Links = { skills: new Map(), folders: new Map() }

/** The content that is about to be put into one folder. */
export interface LinkAdded {
  readonly folder: string
  readonly uses: readonly Use[]
  readonly made: readonly string[]
  readonly copies: boolean
  readonly only?: LinkFilter | undefined
  readonly skills: readonly (LinkedSkill & LinkEntry & { readonly name: string })[]
}

/** The content that was removed from one folder. */
export interface LinkRemoved {
  readonly folder: string
  readonly uses: readonly Use[]
  readonly names: readonly string[]
}

/** A name that stands for another skill. */
export interface NameTaken {
  readonly name: string
  readonly by: LinkedSkill
}

/** The links after a put into a folder, except for names that already stand for another skill. */
export function withPut(
  before: Links,
  put: LinkAdded,
): { readonly links: Links; readonly taken: readonly NameTaken[] } {
  const earlier = before.folders.get(put.folder)
  const skills = new Map(before.skills)
  const entries = new Map(earlier?.entries)
  const taken: NameTaken[] = []
  for (const { name, source, path, targets, digests } of put.skills) {
    const by = skills.get(name)
    if (by !== undefined && (by.source !== source || by.path !== path)) {
      taken.push({ name, by })
      continue
    }
    skills.set(name, { source, path })
    entries.set(name, unitedEntry({ targets, digests }, entries.get(name)))
  }
  const only = earlier === undefined || earlier.entries.size === 0 ? put.only : bothOf(earlier.only, put.only)
  const folder: LinkedFolder = {
    uses: distinctUses([...(earlier?.uses ?? []), ...put.uses]),
    made: [...new Set([...(earlier?.made ?? []), ...put.made])],
    copies: put.copies,
    ...(only !== undefined && { only }),
    entries,
  }
  return { links: { skills, folders: new Map(before.folders).set(put.folder, folder) }, taken }
}

/** Another process may be about to place what it recorded of an earlier plan. */
function unitedEntry(put: LinkEntry, earlier: LinkEntry = { targets: [], digests: [] }): LinkEntry {
  return {
    targets: [...new Set([...put.targets, ...earlier.targets])].slice(0, MOST_TARGETS),
    digests: [...new Set([...put.digests, ...earlier.digests])].slice(0, MOST_DIGESTS),
  }
}

/** The most targets of an entry: those of two puts that run at once. */
export const MOST_TARGETS = 4

/** The most digests of an entry, likewise. */
export const MOST_DIGESTS = 8

/** The links after a removal from a folder. A name that is in no folder any more stands for nothing. */
export function withDropped(before: Links, drop: LinkRemoved): Links {
  const earlier = before.folders.get(drop.folder)
  if (earlier === undefined) return before
  const names = new Set(drop.names)
  const entries = new Map([...earlier.entries].filter(([name]) => !names.has(name)))
  const uses = earlier.uses.filter((use) => !drop.uses.some((other) => isSameUse(use, other)))
  const folders = new Map(before.folders)
  if (entries.size === 0 && uses.length === 0) folders.delete(drop.folder)
  else folders.set(drop.folder, { ...earlier, uses, entries })
  const isUsed = isNameIn([...folders.values()])
  return { skills: new Map([...before.skills].filter(([name]) => isUsed(name))), folders }
}

/** Returns a test for names that are in one of the folders. */
export function isNameIn(folders: readonly LinkedFolder[]): (name: string) => boolean {
  return (name) => folders.some(({ entries }) => entries.has(name))
}

export function isSameUse(one: Use, other: Use): boolean {
  return one.agent === other.agent && one.project === other.project
}

function distinctUses(uses: readonly Use[]): readonly Use[] {
  return uses.filter((use, at) => uses.findIndex((other) => isSameUse(use, other)) === at)
}

/** All, if one of the two is all. */
function bothOf(one: LinkFilter | undefined, other: LinkFilter | undefined): LinkFilter | undefined {
  if (one === undefined || other === undefined) return undefined
  return {
    sources: [...new Set([...one.sources, ...other.sources])],
    skills: [...new Set([...one.skills, ...other.skills])],
  }
}
