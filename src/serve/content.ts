import { createHash } from 'node:crypto'
import type { TraceContext } from '../base/trace-context.ts'
import type { CatalogFile } from '../sync/catalog/catalog-file.ts'
import type { Docs } from '../sync/model/docs-folder.ts'
import type { Skill, SkillFile } from '../sync/model/skill.ts'
import { utf8 } from '../sync/skill/frontmatter.ts'

/** The skill or documents that files are stored with. */
export type StoredLocation = Skill | Docs

/** A file of which the client receives only the reason for the refusal. */
export interface RefusedFile {
  readonly kind: 'refused'
  readonly why: string
}

/** Result of a read that failed; `undefined` if the file is damaged or gone. */
export type UnreadContent = NotNow | RefusedFile | undefined

export function isUnread(read: object | UnreadContent): read is UnreadContent {
  return read === undefined || read === 'not-now' || ('kind' in read && read.kind === 'refused')
}

/** The reason sent to the client. */
export function unreadReason(unread: UnreadContent): string {
  if (unread === undefined) return DAMAGED
  return unread === 'not-now' ? NOT_READ_NOW : unread.why
}

/**
 * Reads a stored file; `undefined` if it is damaged or gone. The daemon passes this function in and arranges the
 * repair, because `serve` knows no store. `trace`: the trace context of the request behind the read, if it has one.
 */
export type ReadContent = (
  stored: StoredLocation,
  file: SkillFile,
  trace?: TraceContext,
) => Promise<Uint8Array | UnreadContent>

/** A disk or another server refuses for the moment. This says nothing about the file. */
export type NotNow = 'not-now'

export const DAMAGED = 'The stored content is damaged or missing; try again later'
export const NOT_READ_NOW = 'The content cannot be read at this moment; try again'

/** The content of one resource: text if all bytes are valid UTF-8, else base64. Neither loses a byte. */
export type ResourceContent = { readonly text: string } | { readonly blob: string }

/**
 * Reads the content of a listed file; `undefined` if the bytes differ from the listed digest or size. Such bytes are
 * never sent.
 */
export async function contentOf(
  { skill, file }: CatalogFile,
  read: ReadContent,
): Promise<ResourceContent | UnreadContent> {
  return contentIn(skill, file, read)
}

/** Works like `contentOf`, for a file that is stored with another skill or with documents. */
export async function contentIn(
  stored: StoredLocation,
  file: SkillFile,
  read: ReadContent,
): Promise<ResourceContent | UnreadContent> {
  const bytes = await bytesIn(stored, file, read)
  if (isUnread(bytes)) return bytes
  const text = utf8(bytes)
  return text === undefined ? { blob: Buffer.from(bytes).toString('base64') } : { text }
}

/**
 * Makes each read wait for the caller's turn before it returns: the check and the encoding of a large file take long.
 */
export function inTurn(read: ReadContent, turn: (() => Promise<void> | undefined) | undefined): ReadContent {
  if (turn === undefined) return read
  return async (...asked) => {
    const bytes = await read(...asked)
    await turn()
    return bytes
  }
}

/** Reads the bytes of a listed file, with the same check as `contentOf`. */
export async function bytesOf(listed: CatalogFile, read: ReadContent): Promise<Uint8Array | UnreadContent> {
  return bytesIn(listed.skill, listed.file, read)
}

async function bytesIn(
  stored: StoredLocation,
  file: SkillFile,
  read: ReadContent,
): Promise<Uint8Array | UnreadContent> {
  const bytes = await read(stored, file)
  if (isUnread(bytes)) return bytes
  return isAsListed(bytes, file) ? bytes : undefined
}

/** True if the bytes have the listed size and digest. */
export function isAsListed(bytes: Uint8Array, { size, sha256 }: SkillFile): boolean {
  return bytes.byteLength === size && createHash('sha256').update(bytes).digest('hex') === sha256
}
