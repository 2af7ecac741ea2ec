import { baseName, foldedPath, isBelow, relativeTo } from '../../../base/paths.ts'
import type { Offered } from '../../../sync/catalog/tool-catalog.ts'
import type { SkillFile } from '../../../sync/model/skill.ts'
import { utf8 } from '../../../sync/skill/frontmatter.ts'
import { withDeceitEscaped, withHiddenEscaped } from '../../../sync/skill/hidden-unicode.ts'
import { isAsListed, isUnread } from '../../content.ts'
import type { ReadContent } from '../../content.ts'
import type { Params } from '../rpc/params.ts'
import { invalidParams } from '../rpc/rpc-error.ts'
import { hiddenNote, markedAs, refusal, notReadReason } from './tool-answer.ts'
import type { ToolAnswer } from './tool-answer.ts'

/** The arguments of `read_skill_file`. */
export interface FileAsked {
  readonly id: string
  /** The path relative to the folder of the skill, as `get_skill` lists it. */
  readonly path: string
  /** The offset in bytes. */
  readonly offset: number
}

/** Parses the arguments. Throws -32602 if the schema of the tool does not allow them. */
export function fileAsked({ id, path, offset = 0 }: Params): FileAsked {
  if (typeof id !== 'string') throw invalidParams('`id` is required, and is a string')
  if (typeof path !== 'string') throw invalidParams('`path` is required, and is a string')
  if (!(typeof offset === 'number' && Number.isSafeInteger(offset) && offset >= 0))
    throw invalidParams('`offset` is a whole number from 0 on')
  return { id, path, offset }
}

/**
 * Returns one part of one file of a skill, read at the call and verified by its digest. It is text if the whole file is
 * UTF-8, else base64. A part of text ends between two characters. Paths are never joined: the file must be one that the
 * catalog lists.
 */
export async function readSkillFile(offered: Offered, asked: FileAsked, read: ReadContent): Promise<ToolAnswer> {
  const file = fileAt(offered, asked.path)
  if (file === undefined) return refusal(unknownPath(offered, asked.path))
  const bytes = await read(offered.skill, file)
  if (isUnread(bytes)) return refusal(notReadReason(offered, bytes))
  if (!isAsListed(bytes, file)) return refusal(notReadReason(offered, undefined))
  if (asked.offset > bytes.length)
    return refusal(`The file has ${bytes.length} bytes, and the offset is ${asked.offset}`)
  return partOf(offered, file, bytes, asked.offset)
}

/** Estimates the bytes of the response. */
export function bytesOfFile(offered: Offered | undefined, { path }: Params): number {
  const file = offered === undefined || typeof path !== 'string' ? undefined : fileAt(offered, path)
  return file === undefined ? 0 : file.size + 2 * Math.min(file.size, MOST_PART_BYTES)
}

function partOf(offered: Offered, file: SkillFile, bytes: Uint8Array, offset: number): ToolAnswer {
  const isText = utf8(bytes) !== undefined
  if (isText && !isStart(bytes, offset))
    return refusal(`The offset ${offset} is inside a character; use the next_offset of the previous part`)
  const end = isText ? startBefore(bytes, offset + MOST_PART_BYTES) : Math.min(offset + MOST_PART_BYTES, bytes.length)
  const part = Buffer.from(bytes.subarray(offset, end))
  const text = isText ? part.toString('utf8') : undefined
  const hidden = text === undefined ? undefined : hiddenNote(text)
  const told = {
    path: withHiddenEscaped(file.path),
    size: file.size,
    offset,
    ...(end < bytes.length && { next_offset: end }),
    encoding: text === undefined ? 'base64' : 'utf-8',
    content: text === undefined ? part.toString('base64') : markedAs(offered, withDeceitEscaped(text)),
    ...(hidden !== undefined && { hidden }),
  }
  return { content: [{ type: 'text', text: JSON.stringify(told) }], structuredContent: told }
}

/** About 16,000 tokens of text. */
const MOST_PART_BYTES = 65_536

/** Finds a file by its path, or by its listed path, in which hidden characters are escaped. */
function fileAt({ skill }: Offered, path: string): SkillFile | undefined {
  return (
    skill.files.find((file) => file.path === path) ?? skill.files.find((file) => withHiddenEscaped(file.path) === path)
  )
}

function unknownPath(offered: Offered, path: string): string {
  const near = path.length > MOST_QUOTED ? undefined : nearPath(offered, path)
  const meant = near === undefined ? '' : `; near it is ${JSON.stringify(near)}`
  return `The skill ${JSON.stringify(offered.id)} has no file ${JSON.stringify(path.slice(0, MOST_QUOTED))}${meant}; get_skill lists its files, with their paths below its folder`
}

/** Returns the listed path for a path with `./`, with folders above the skill, or in another case. */
function nearPath({ id, skill }: Offered, path: string): string | undefined {
  const segments = path.split(/[/\\]/).filter((segment) => segment !== '' && segment !== '.')
  const plain = segments.join('/')
  const folders = ['', id, baseName(skill.path)].filter((folder) => isBelow(plain, folder))
  const meant = new Set(folders.map((folder) => foldedPath(relativeTo(folder, plain))))
  const found = skill.files.find((file) => meant.has(foldedPath(withHiddenEscaped(file.path))))
  return found && withHiddenEscaped(found.path)
}

const MOST_QUOTED = 1_200

/** True if a UTF-8 character begins at this byte, or the text ends. */
function isStart(bytes: Uint8Array, at: number): boolean {
  return ((bytes[at] ?? 0) & 0b1100_0000) !== 0b1000_0000
}

function startBefore(bytes: Uint8Array, at: number): number {
  let end = Math.min(at, bytes.length)
  while (!isStart(bytes, end)) end -= 1
  return end
}
