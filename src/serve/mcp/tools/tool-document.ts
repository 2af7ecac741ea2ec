import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { Offered } from '../../../sync/catalog/tool-catalog.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { isAsListed, isUnread } from '../../content.ts'
import type { ReadContent, UnreadContent } from '../../content.ts'
import type { UnservedSources } from './unserved-sources.ts'

/** The services that the tools need from their process, because `serve` knows no upstream and no disk. */
export interface ToolHost {
  /**
   * Checks the stale sources, or the given source even if it is fresh. Resolves when their content is served, or at the
   * time limit; by default, that of a call. Returns the remaining time.
   */
  look(source?: SourceId, mostMs?: number): Promise<number>
  /**
   * Returns the sources without served skills. It names none if callers must not learn of sources that they do not see.
   */
  readonly lacking?: (catalog: Catalog) => Promise<UnservedSources>
  /** Sources that are cheap to check. */
  readonly folders?: readonly SourceId[]
  /** Defined only if the callers share the disk and may learn the paths of skills. */
  readonly disk?: SharedDisk
}

/** The paths of skills for callers that share the disk. */
export interface SharedDisk {
  /** Returns the absolute path of a SKILL.md that is as stored. `undefined` if there is none that the caller may read. */
  pathOf(skill: Skill): Promise<string | undefined>
  /**
   * Returns the current state of a folder source: its SKILL.md, or `differs` if another file differs from the served
   * one. `undefined` if the source is not a folder, is not followed freely (because of a lock, a gate or a decision),
   * or has no such readable file.
   */
  present(source: SourceId, skill: Skill): Promise<SharedFolder | 'differs' | undefined>
}

export interface SharedFolder {
  readonly path: string
  readonly bytes: Uint8Array
}

/** The SKILL.md of a skill, verified by its digest. */
export interface SkillDocument {
  readonly bytes: Uint8Array
  /** The absolute path; only if the caller shares the disk. */
  readonly path?: string
  /** True if its source folder has other content now. */
  readonly isBehind: boolean
}

/**
 * Returns the SKILL.md that the catalog promises, from a path that the caller can use if possible; `undefined` if it is
 * damaged.
 */
export async function readSkillDocument(
  { source, skill }: Offered,
  read: ReadContent,
  disk: SharedDisk | undefined,
): Promise<SkillDocument | UnreadContent> {
  const file = skill.files.find(({ path }) => path === 'SKILL.md')
  if (file === undefined) return undefined
  const present = await disk?.present(source, skill)
  if (present !== undefined && present !== 'differs' && isAsListed(present.bytes, file)) {
    return { bytes: present.bytes, path: present.path, isBehind: false }
  }
  const bytes = await read(skill, file)
  if (isUnread(bytes)) return bytes
  if (!isAsListed(bytes, file)) return undefined
  const path = await disk?.pathOf(skill)
  return { bytes, isBehind: present !== undefined, ...(path !== undefined && { path }) }
}

/** True if a new check of its source would find other content. */
export function isBehind(document: SkillDocument | UnreadContent): boolean {
  return !isUnread(document) && document.isBehind
}
