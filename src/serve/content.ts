import { createHash } from 'node:crypto'
import type { CatalogFile } from '../sync/catalog/catalog-entry.ts'
import { utf8 } from '../sync/skill-md/frontmatter.ts'
import type { Docs } from '../sync/model/docs-folder.ts'
import type { Skill, SkillFile } from '../sync/model/skill.ts'
import type { TraceContext } from '../base/trace-context.ts'

/** What files are stored with. */
export type Stored = Skill | Docs

/** A file of which a client is given nothing but the reason. */
export interface Refused {
  readonly kind: 'refused'
  readonly why: string
}

/** In place of what was to be read; undefined where it is damaged or gone. */
export type Unread = NotNow | Refused | undefined

export function isUnread(read: object | Unread): read is Unread {
  return read === undefined || read === 'not-now' || ('kind' in read && read.kind === 'refused')
}

/** The reason, as a client is given it. */
export function whyUnread(unread: Unread): string {
  if (unread === undefined) return DAMAGED
  return unread === 'not-now' ? NOT_READ_NOW : unread.why
}

/**
 * Reads a stored file; undefined where it is damaged or gone. The daemon hands it over, and sees to the mending: this side
 * knows no store. `trace`: of the request for which it is read, where that has one.
 */
export type ReadFile = (stored: Stored, file: SkillFile, trace?: TraceContext) => Promise<Uint8Array | Unread>

/** A disk or another server refuses for the moment, which says nothing about the file. */
export type NotNow = 'not-now'

export const DAMAGED = 'The stored content is damaged or gone; try again later'
export const NOT_READ_NOW = 'The content cannot be read at this moment; try again'

/** The content of one resource: text where the bytes are UTF-8 to the last one, else base64. Neither loses a byte. */
export type Content = { readonly text: string } | { readonly blob: string }

/** The content of a listed file; undefined where the bytes are not those that the listing promises: they never leave. */
export async function contentOf({ skill, file }: CatalogFile, read: ReadFile): Promise<Content | Unread> {
  return contentIn(skill, file, read)
}

/** The same of a file that is stored with something else. */
export async function contentIn(stored: Stored, file: SkillFile, read: ReadFile): Promise<Content | Unread> {
  const bytes = await bytesIn(stored, file, read)
  if (isUnread(bytes)) return bytes
  const text = utf8(bytes)
  return text === undefined ? { blob: Buffer.from(bytes).toString('base64') } : { text }
}

/** Reads, and goes on in the caller's turn: a large file takes long to check and to put into an answer. */
export function inTurn(read: ReadFile, turn: (() => Promise<void> | undefined) | undefined): ReadFile {
  if (turn === undefined) return read
  return async (...asked) => {
    const bytes = await read(...asked)
    await turn()
    return bytes
  }
}

/** The bytes of a listed file, under the same promise. */
export async function bytesOf(listed: CatalogFile, read: ReadFile): Promise<Uint8Array | Unread> {
  return bytesIn(listed.skill, listed.file, read)
}

async function bytesIn(stored: Stored, file: SkillFile, read: ReadFile): Promise<Uint8Array | Unread> {
  const bytes = await read(stored, file)
  if (isUnread(bytes)) return bytes
  return isAsListed(bytes, file) ? bytes : undefined
}

/** Whether these are the bytes that the listing promises. */
export function isAsListed(bytes: Uint8Array, { size, sha256 }: SkillFile): boolean {
  return bytes.byteLength === size && createHash('sha256').update(bytes).digest('hex') === sha256
}
