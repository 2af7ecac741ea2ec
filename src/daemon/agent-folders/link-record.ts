import type { SourceId } from '../../sync/model/source-id.ts'

/** What was put into agents' folders: all of it, and nothing else is ever removed there. */
export interface Links {
  /** The skill that each name stands for, in every folder. It stays, whichever other skills come to have that name. */
  readonly skills: ReadonlyMap<string, LinkedSkill>
  /** By their paths, without links in them. */
  readonly folders: ReadonlyMap<string, LinkedFolder>
}

export interface LinkedSkill {
  readonly source: SourceId
  /** The true folder, relative to the source's root. */
  readonly path: string
}

/** A folder that agents read. */
export interface LinkedFolder {
  /** For whom: an agent of the user's, or an agent in one project. Several can read the same folder. */
  readonly uses: readonly Use[]
  /** The folders that were made for it, outermost first. */
  readonly made: readonly string[]
  /** Copies were asked for, not links. */
  readonly copies: boolean
  /** Absent: all that is served. */
  readonly only?: Only | undefined
  /** By name. */
  readonly entries: ReadonlyMap<string, Entry>
}

export interface Use {
  readonly agent: string
  /** The folder of the project; absent for the user's own. */
  readonly project?: string | undefined
}

/** The sources and skills that were asked for, as the user named them. */
export interface Only {
  readonly sources: readonly string[]
  readonly skills: readonly string[]
}

/**
 * By what one of ours is known: a link to exactly this target, or a folder with exactly this content. What was there before
 * is among them: a run can be killed before the one took the place of the other.
 */
export interface Entry {
  readonly targets: readonly string[]
  readonly digests: readonly string[]
}

export const NO_LINKS: Links = { skills: new Map(), folders: new Map() }

/** What is about to be put into one folder. */
export interface Put {
  readonly folder: string
  readonly uses: readonly Use[]
  readonly made: readonly string[]
  readonly copies: boolean
  readonly only?: Only | undefined
  readonly skills: readonly (LinkedSkill & Entry & { readonly name: string })[]
}

/** What was taken out of one folder. */
export interface Drop {
  readonly folder: string
  readonly uses: readonly Use[]
  readonly names: readonly string[]
}

/** A name that stands for another skill. */
export interface Taken {
  readonly name: string
  readonly by: LinkedSkill
}

/** The links once something is put into a folder, but for the names that stand for another skill already. */
export function withPut(before: Links, put: Put): { readonly links: Links; readonly taken: readonly Taken[] } {
  const earlier = before.folders.get(put.folder)
  const skills = new Map(before.skills)
  const entries = new Map(earlier?.entries)
  const taken: Taken[] = []
  for (const { name, source, path, targets, digests } of put.skills) {
    const by = skills.get(name)
    if (by !== undefined && (by.source !== source || by.path !== path)) {
      taken.push({ name, by })
      continue
    }
    skills.set(name, { source, path })
    entries.set(name, { targets, digests })
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

/** The links once something was taken out of a folder. A name that is in no folder any more stands for nothing. */
export function withDropped(before: Links, drop: Drop): Links {
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

/** Whether a name is in one of the folders. */
export function isNameIn(folders: readonly LinkedFolder[]): (name: string) => boolean {
  return (name) => folders.some(({ entries }) => entries.has(name))
}

export function isSameUse(one: Use, other: Use): boolean {
  return one.agent === other.agent && one.project === other.project
}

function distinctUses(uses: readonly Use[]): readonly Use[] {
  return uses.filter((use, at) => uses.findIndex((other) => isSameUse(use, other)) === at)
}

/** All, where one of the two was all. */
function bothOf(one: Only | undefined, other: Only | undefined): Only | undefined {
  if (one === undefined || other === undefined) return undefined
  return {
    sources: [...new Set([...one.sources, ...other.sources])],
    skills: [...new Set([...one.skills, ...other.skills])],
  }
}
