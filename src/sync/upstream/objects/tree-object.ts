import { isUtf8 } from 'node:buffer'
import { printablePath } from '../../../base/text/printable.ts'
import { isObjectId, type ObjectFormat } from '../../model/revision.ts'
import { SyncError } from '../../model/sync-error.ts'
import type { TreeEntry } from '../../model/tree.ts'
import { isDotGit } from '../../skill/skill-path.ts'
import { ID_BYTES } from './git-object.ts'

/**
 * Parses the entries of a raw tree object. A name that could lead out of its folder, or into a `.git`, is
 * `content-refused`. A name that is not UTF-8, or exceeds `segmentBytes`, makes its entry unusable. Merely unusual
 * names are accepted here. `path` is the path of the tree, for messages.
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
    const space = spaceAfter(bytes, at)
    const end = bytes.indexOf(0, space)
    if (space < at || end < space || end + idBytes >= bytes.length) throw refusal(path, 'its tree object is malformed')
    const { name, raw, isUsable } =
      plainName(bytes, space + 1, end, segmentBytes) ?? nameOf(bytes.subarray(space + 1, end), segmentBytes, path)
    if (names.has(raw)) throw refusal(pathTo(path, name), 'the name is there twice')
    names.add(raw)
    const kind = kindOf(bytes.toString('latin1', at, space))
    const id = bytes.toString('hex', end + 1, end + 1 + idBytes)
    if (kind === undefined || !isObjectId(id)) throw refusal(pathTo(path, name), 'its mode is not one of git')
    entries.push({ name, kind: isUsable ? kind : kind === 'folder' ? 'unusable-folder' : 'unusable-file', id })
    at = end + 1 + idBytes
  }
  return entries
}

/** Returns the end of the mode: after five digits or six, except for modes that git never writes. */
function spaceAfter(bytes: Buffer, at: number): number {
  if (bytes[at + 5] === SPACE) return at + 5
  return bytes[at + 6] === SPACE ? at + 6 : bytes.indexOf(SPACE, at)
}

const SPACE = 0x20

/** Appends a name to a path. */
export function pathTo(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`
}

interface Name {
  readonly name: string
  /** The key that identifies the name among its siblings. */
  readonly raw: string
  readonly isUsable: boolean
}

/**
 * Returns the name if it is plain, as nearly all are; otherwise `undefined`, and `nameOf` checks it. This fast path
 * saves most of the time in a tree of thousands.
 */
function plainName(bytes: Buffer, start: number, end: number, segmentBytes: number): Name | undefined {
  if (end === start || end - start > segmentBytes) return undefined
  // Every name that could lead elsewhere starts with one of these, or has a slash, or has characters that some file
  // system ignores.
  const first = bytes[start]
  if (first === DOT || first === UPPER_G || first === LOWER_G) return undefined
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at]
    if (byte === undefined || byte === SLASH || byte >= FIRST_BEYOND_ASCII) return undefined
  }
  const name = bytes.toString('latin1', start, end)
  return { name, raw: name, isUsable: true }
}

const [DOT, SLASH, UPPER_G, LOWER_G, FIRST_BEYOND_ASCII] = [0x2e, 0x2f, 0x47, 0x67, 0x80]

function nameOf(bytes: Buffer, segmentBytes: number, path: string): Name {
  const name = bytes.toString('utf8')
  if (name === '') throw refusal(path, 'an entry has no name')
  if (name === '.' || name === '..' || name.includes('/') || isDotGit(name)) {
    throw refusal(pathTo(path, name), 'the name could lead elsewhere')
  }
  if (bytes.length <= segmentBytes && isUtf8(bytes)) return { name, raw: name, isUsable: true }
  const letters = bytes.toString('latin1')
  const start = letters.slice(0, UNUSABLE_SHOWN).replaceAll(/[^ -.0-[\]-~]/g, hexOf)
  // The NUL, which no name can hold, keeps it distinct from UTF-8 names.
  return { name: letters.length > UNUSABLE_SHOWN ? `${start}…` : start, raw: `\0${letters}`, isUsable: false }
}

/** The maximum shown length of an unusable name. Usable names are never shortened. */
const UNUSABLE_SHOWN = 60

function hexOf(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}

function kindOf(mode: string): TreeEntry['kind'] | undefined {
  return USUAL_KINDS.get(mode) ?? kindOfBits(mode)
}

/** The modes as git writes them. */
const USUAL_KINDS: ReadonlyMap<string, TreeEntry['kind']> = new Map([
  ['40000', 'folder'],
  ['100644', 'file'],
  ['100755', 'executable'],
])

function kindOfBits(mode: string): TreeEntry['kind'] | undefined {
  // git reads the number: old importers wrote zeros before it.
  if (!/^0*[0-7]{5,6}$/.test(mode)) return undefined
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

function refusal(path: string, why: string): SyncError {
  return new SyncError('content-refused', `Cannot take ${printablePath(path)}: ${why}`)
}
