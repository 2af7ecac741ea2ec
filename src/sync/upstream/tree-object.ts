import { isUtf8 } from 'node:buffer'
import { isObjectId, type ObjectFormat } from '../model/revision.ts'
import { SyncError } from '../model/sync-error.ts'
import type { TreeEntry } from '../model/tree.ts'
import { ID_BYTES } from './git-object.ts'

/**
 * The entries of a raw tree object. A name that could reach outside of its folder, or into a `.git`, is
 * `content-refused`; one that is not UTF-8, or longer than `segmentBytes`, makes its entry unusable; one that is only
 * unusual is not judged here. `path` is where the tree stands, for the message.
 */
export function parseTree(
  tree: Uint8Array,
  format: ObjectFormat,
  segmentBytes: number,
  path = '',
): readonly TreeEntry[] {
  const idBytes = ID_BYTES[format]
  const bytes = Buffer.from(tree.buffer, tree.byteOffset, tree.byteLength)
  const entries: TreeEntry[] = []
  const names = new Set<string>()
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(' ', at)
    const end = bytes.indexOf(0, space)
    if (space < at || end < space || end + idBytes >= bytes.length) throw refused(path, 'its tree object is malformed')
    const { name, raw, isUsable } = nameOf(bytes.subarray(space + 1, end), segmentBytes, path)
    if (names.has(raw)) throw refused(pathTo(path, name), 'the name is there twice')
    names.add(raw)
    const kind = kindOf(bytes.toString('latin1', at, space))
    const id = bytes.toString('hex', end + 1, end + 1 + idBytes)
    if (kind === undefined || !isObjectId(id)) throw refused(pathTo(path, name), 'its mode is none of git')
    entries.push({ name, kind: isUsable ? kind : kind === 'folder' ? 'unusable-folder' : 'unusable-file', id })
    at = end + 1 + idBytes
  }
  return entries
}

/** A path made longer by a name. */
export function pathTo(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`
}

/** A path as a message shows it: bounded, each character visible. */
export function shown(path: string): string {
  const bounded = path.length > SHOWN_LENGTH ? `${path.slice(0, SHOWN_LENGTH)}…` : path
  return JSON.stringify(bounded).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{fffd}')
}

const SHOWN_LENGTH = 300

interface Name {
  readonly name: string
  /** What tells it from all others. */
  readonly raw: string
  readonly isUsable: boolean
}

function nameOf(bytes: Buffer, segmentBytes: number, path: string): Name {
  const name = bytes.toString('utf8')
  if (name === '') throw refused(path, 'an entry has no name')
  if (name === '.' || name === '..' || name.includes('/') || isDotGit(name)) {
    throw refused(pathTo(path, name), 'the name could lead elsewhere')
  }
  if (bytes.length <= segmentBytes && isUtf8(bytes)) return { name, raw: name, isUsable: true }
  const letters = bytes.toString('latin1')
  const start = letters.slice(0, UNUSABLE_SHOWN).replaceAll(/[^ -.0-[\]-~]/g, hexOf)
  // The NUL, which no name holds, keeps it apart from names that are UTF-8.
  return { name: letters.length > UNUSABLE_SHOWN ? `${start}…` : start, raw: `\0${letters}`, isUsable: false }
}

/** No name that is UTF-8 and within the limits needs more to be told from its neighbours. */
const UNUSABLE_SHOWN = 60

function hexOf(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}

/** Whether some file system takes the name for `.git`: case, an 8.3 alias, a stream, trailing dots, ignored characters. */
export function isDotGit(name: string): boolean {
  const plain = name.replaceAll(IGNORED_BY_HFS, '')
  return /^(?:\.git|git~1)[ .]*(?::.*)?$/is.test(plain)
}

const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

function kindOf(mode: string): TreeEntry['kind'] | undefined {
  if (!/^[0-7]{5,6}$/.test(mode)) return undefined
  const bits = Number.parseInt(mode, 8)
  switch (bits & 0o170000) {
    case 0o100000:
      return (bits & 0o100) === 0 ? 'file' : 'executable'
    case 0o120000:
      return 'link'
    case 0o040000:
      return 'folder'
    case 0o160000:
      return 'submodule'
    default:
      return undefined
  }
}

function refused(path: string, why: string): SyncError {
  return new SyncError('content-refused', `Cannot take ${shown(path)}: ${why}`)
}
