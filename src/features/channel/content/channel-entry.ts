import type { Digest } from '../../../sync/store/objects/object-store.ts'
import { parseTilePath } from '../../../sync/transparency-log/tiles.ts'
import type { Tile } from '../../../sync/transparency-log/tiles.ts'

/** The path of an object below the address of a channel. */
export function objectPath(digest: Digest): string {
  return `object/${digest.slice(0, 2)}/${digest}`
}

/** The path of the objects that are new with an entry, below the address of a channel. */
export function changesPath(index: number): string {
  return `changes/${index}`
}

/** A path below the address of a channel. */
export type ChannelPath =
  | { readonly kind: 'object' | 'files'; readonly digest: Digest }
  | { readonly kind: 'changes'; readonly index: number }
  | { readonly kind: 'tile' | 'entries'; readonly tile: Tile }

/** Reads a path as a client wrote it; `undefined` for any that no channel has, and for that of the checkpoint. */
export function readChannelPath(path: string): ChannelPath | undefined {
  const [, folder = '', digest = ''] = /^object\/([\da-f]{2})\/([\da-f]{64})$/.exec(path) ?? []
  if (digest !== '') return digest.startsWith(folder) ? { kind: 'object', digest } : undefined
  const [, skills] = /^files\/([\da-f]{64})$/.exec(path) ?? []
  if (skills !== undefined) return { kind: 'files', digest: skills }
  const [, index] = /^changes\/(0|[1-9]\d{0,14})$/.exec(path) ?? []
  if (index !== undefined) return { kind: 'changes', index: Number(index) }
  return parseTilePath(path)
}

/** The path of the files of one list of skills, packed, below the address of a channel. */
export function filesPath(skills: Digest): string {
  return `files/${skills}`
}

/** The path of the signed head of the log, below the address of a channel. */
export const CHECKPOINT_PATH = 'checkpoint'
