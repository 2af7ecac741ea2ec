import { BadArchive, TooLargeArchive } from './archive-error.ts'
import { ArchiveMembers } from './archive-members.ts'
import type { UnpackedFile, UnpackLimits } from './archive-members.ts'
import { gunzipStream } from './gunzip.ts'
import { untar } from './tar.ts'
import { unzip } from './zip.ts'

/** The archive formats of skills before July 2026. */
export type ArchiveForm = 'tar.gz' | 'zip'

/**
 * The files of an archive, sorted by raw path bytes, and their total size; or the reason for its refusal, and the bytes
 * that were unpacked until then.
 */
export type Unpacked =
  | { readonly ok: true; readonly files: readonly UnpackedFile[]; readonly bytes: number }
  | { readonly ok: false; readonly why: string; readonly bytes: number; readonly isTooLarge?: true }

/** The default limits. */
export const UNPACK_LIMITS: UnpackLimits = {
  bytes: 50 * 2 ** 20,
  entries: 1024,
  depth: 32,
  pathBytes: 1024,
  segmentBytes: 200,
}

/** Returns the form by the declared type; if that is not an archive's, by the suffix of the URI. */
export function archiveFormOf(mimeType: string | undefined, uri: string): ArchiveForm | undefined {
  const essence = mimeType?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const end = uri.slice(-8).toLowerCase()
  return MIME_TYPES.get(essence) ?? [...SUFFIXES].find(([suffix]) => end.endsWith(suffix))?.[1]
}

/**
 * Unpacks an archive of one skill in memory. One bad member refuses the whole archive. Every link is refused, and so is
 * everything that two readers could interpret differently. Rejects only with the signal's reason.
 */
export async function unpack(
  archive: Uint8Array,
  form: ArchiveForm,
  limits: UnpackLimits,
  signal: AbortSignal,
): Promise<Unpacked> {
  const members = new ArchiveMembers(limits)
  try {
    await take(Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength), form, members, signal)
    return { ok: true, ...members.all() }
  } catch (error) {
    if (!(error instanceof BadArchive)) throw error
    const isTooLarge = error instanceof TooLargeArchive
    // A header can declare bytes that do not exist.
    const bytes = Math.min(members.reached, archive.byteLength * MOST_INFLATED)
    return { ok: false, why: error.message, bytes, ...(isTooLarge && { isTooLarge }) }
  }
}

async function take(archive: Buffer, form: ArchiveForm, members: ArchiveMembers, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  switch (form) {
    case 'tar.gz': {
      const { bytes, entries } = members.limits
      return untar(gunzipStream(archive, bytes + TAR_END_BYTES + entries * TAR_MEMBER_BYTES, signal), members)
    }
    case 'zip':
      return unzip(archive, members, signal)
  }
}

/** The maximum inflated bytes per compressed byte. */
const MOST_INFLATED = 1032

/** The overhead of a tar in addition to its files: the headers and padding of each member, and the zeros at the end. */
const TAR_MEMBER_BYTES = 2 ** 13
const TAR_END_BYTES = 2 ** 16

const MIME_TYPES: ReadonlyMap<string, ArchiveForm> = new Map([
  ['application/gzip', 'tar.gz'],
  ['application/x-gzip', 'tar.gz'],
  ['application/x-compressed-tar', 'tar.gz'],
  ['application/zip', 'zip'],
  ['application/x-zip-compressed', 'zip'],
])

const SUFFIXES: ReadonlyMap<string, ArchiveForm> = new Map([
  ['.tar.gz', 'tar.gz'],
  ['.tgz', 'tar.gz'],
  ['.zip', 'zip'],
])
