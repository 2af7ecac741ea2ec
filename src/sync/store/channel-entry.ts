import { canonicalJson, isTime } from '../../base/canonical-json.ts'
import { isObject } from '../../base/json-object.ts'
import { parseJson } from '../../base/json-value.ts'
import { ProofRefusedError } from '../transparency-log/tlog-proof.ts'
import type { LogProof } from '../transparency-log/tlog-proof.ts'
import type { Digest } from './objects/object-store.ts'
import { isDigest } from './skills/stored-path.ts'

/** An entry of the log of a channel: what it had from this time on. Some hundred bytes, since bundles have up to 256. */
export interface ChannelEntry {
  /** ISO 8601, UTC. */
  readonly at: string
  /** The object that names everything else: `ChannelHead`. */
  readonly head: Digest
}

/** The bytes of an entry: canonical JSON and a line break. */
export function encodeEntry({ at, head }: ChannelEntry): Buffer {
  return Buffer.from(canonicalJson({ at, head }))
}

/** Parses an entry; `undefined` if it is none. Fields of later versions are ignored. */
export function parseEntry(bytes: Uint8Array): ChannelEntry | undefined {
  const value = parseJson(Buffer.from(bytes).toString('utf8'))
  if (!isObject(value)) return undefined
  const { at, head } = value
  return isTime(at) && typeof head === 'string' && isDigest(head) ? { at, head } : undefined
}

/** A proof of an entry that has the bytes of the entry with it. */
export type EntryProof = LogProof & { readonly extra: Uint8Array }

/** Returns the proof if it has the bytes of its entry. The entry counts once the proof is opened with these bytes. */
export function entryProofOf({ extra, ...proof }: LogProof): EntryProof {
  if (extra === undefined) throw new ProofRefusedError('it has no entry')
  return { ...proof, extra }
}

/** The entry that a proof has with it. Throws `ProofRefusedError` if it is none. */
export function loggedEntry({ extra }: EntryProof): ChannelEntry {
  const entry = parseEntry(extra)
  if (entry === undefined) throw new ProofRefusedError('its entry has the wrong form')
  return entry
}
