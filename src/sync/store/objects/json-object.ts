import { canonicalJson } from '../../../base/canonical-json.ts'
import type { Digest, ObjectStore } from './object-store.ts'

/** Stores the value as canonical JSON, and returns its digest. */
export async function putJson(objects: ObjectStore, value: object, label?: string): Promise<Digest> {
  const [digest] = await objects.put([Buffer.from(canonicalJson(value))], label)
  if (digest === undefined) throw new TypeError('A put returns a digest for each object')
  return digest
}

/** The text of an object. Nothing is copied before it is decoded: a start reads some megabytes. */
export function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('utf8')
}
