import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { Offered } from '../../../sync/catalog/tool-catalog.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { isAsListed, isUnread } from '../../content.ts'
import type { ReadFile, Unread } from '../../content.ts'
import type { Lacking } from './unserved-sources.ts'

/** What the tools need of the process that offers them: this side knows no upstream and no disk. */
export interface ToolHost {
  /**
   * Looks at the sources that are stale, or at this one however fresh it is. Resolves when what they have is served, or when
   * a caller has waited for so long; without a figure, for as long as a call may. Says how much of that is left.
   */
  look(source?: SourceId, mostMs?: number): Promise<number>
  /** The sources of which the catalog has nothing. None of them is named where callers may know of no source that they do not see. */
  readonly lacking?: (catalog: Catalog) => Promise<Lacking>
  /** Sources that cost next to nothing to look at. */
  readonly folders?: readonly SourceId[]
  /** Only where the callers share the disk, and may be told where skills lie. */
  readonly disk?: SharedDisk
}

/** Where skills lie, for who can read them there. */
export interface SharedDisk {
  /** Where the SKILL.md of the stored version is: absolute. Undefined for what is stored for nobody but us. */
  pathOf(skill: Skill): string | undefined
  /**
   * What the folder that is the source has at the moment: the SKILL.md as it lies there, or that a file beside it is not the
   * one that is served. Undefined where the source is no folder, is not followed freely, or has no such file to read.
   */
  present(source: SourceId, skill: Skill): Promise<Present | 'differs' | undefined>
}

export interface Present {
  readonly path: string
  readonly bytes: Uint8Array
}

/** The SKILL.md of a skill, checked against its digest. */
export interface Document {
  readonly bytes: Uint8Array
  /** Absolute; only where the caller shares the disk. */
  readonly path?: string
  /** The folder that is its source has something else by now. */
  readonly isBehind: boolean
}

/** What the catalog promises of a skill's SKILL.md, from where the caller can follow; undefined where it is damaged. */
export async function readDocument(
  { source, skill }: Offered,
  read: ReadFile,
  disk: SharedDisk | undefined,
): Promise<Document | Unread> {
  const file = skill.files.find(({ path }) => path === 'SKILL.md')
  if (file === undefined) return undefined
  const present = await disk?.present(source, skill)
  if (present !== undefined && present !== 'differs' && isAsListed(present.bytes, file)) {
    return { bytes: present.bytes, path: present.path, isBehind: false }
  }
  const bytes = await read(skill, file)
  if (isUnread(bytes)) return bytes
  if (!isAsListed(bytes, file)) return undefined
  const path = disk?.pathOf(skill)
  return { bytes, isBehind: present !== undefined, ...(path !== undefined && { path }) }
}

/** Whether a look at its source would bring something else. */
export function isBehind(document: Document | Unread): boolean {
  return !isUnread(document) && document.isBehind
}
