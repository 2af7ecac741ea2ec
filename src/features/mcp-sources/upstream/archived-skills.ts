import { isMapping } from '../../../base/json-value.ts'
import { sha256In } from '../../../sync/model/declared-digest.ts'
import { tooManyFiles } from '../../../sync/model/skill.ts'
import type { SkillLimits } from '../../../sync/model/skill.ts'
import type { SkillCode } from '../../../sync/skill/skill-diagnostic.ts'
import { archiveFormOf, unpack, UNPACK_LIMITS } from '../../../sync/upstream/archive/unpack.ts'
import type { ArchiveForm, Unpacked } from '../../../sync/upstream/archive/unpack.ts'
import type { UnpackedArchives, OpenedArchive, ReadArchive } from './archives.ts'
import { fetchFile } from './fetch-file.ts'
import type { Unusable } from './file-cache.ts'
import { skillPathOf, uriOfFile, saidIn } from './listed-files.ts'
import { entryFinding } from './listing-context.ts'
import type { ListingContext, MadeEntry } from './listing-context.ts'
import { documentIn } from './unverified-skills.ts'

/** A skill that an index offers only as an archive. */
export interface ArchiveOffer {
  readonly url: string
  readonly form: ArchiveForm | undefined
  /** The frontmatter that the index copied from SKILL.md; `undefined` if it has none. */
  readonly frontmatter: unknown
  /** The digest of the archive. */
  readonly digest: unknown
  /** Other statements of the index about the skill. */
  readonly said: string
}

/**
 * Returns the parcel of an entry of the first revisions, or the first parcel of a later entry with a supported archive
 * form.
 */
export function archiveInEntry(item: Readonly<Record<string, unknown>>): ArchiveOffer | undefined {
  const { type, name, description, frontmatter, archives } = item
  if (type === 'archive') return parcelOf(item, frontmatter, saidIn([name, description]))
  const offers = Array.isArray(archives) ? archives : []
  const parcels = offers.filter(isMapping).flatMap((offer) => parcelOf(offer, frontmatter, '') ?? [])
  return parcels.find(({ form }) => form !== undefined) ?? parcels[0]
}

function parcelOf(
  { url, mimeType, digest }: Readonly<Record<string, unknown>>,
  frontmatter: unknown,
  said: string,
): ArchiveOffer | undefined {
  if (typeof url !== 'string') return undefined
  const form = archiveFormOf(typeof mimeType === 'string' ? mimeType : undefined, url)
  return { url, form, frontmatter, digest, said }
}

/**
 * Returns the URI for the SKILL.md in an archive. No server has it; its folder is the archive's own URI without the
 * suffix.
 */
export function packedUri({ url }: Pick<ArchiveOffer, 'url'>): string {
  return `${url.replace(/\.(?:tar\.gz|tgz|zip)$/i, '')}/SKILL.md`
}

/**
 * Creates the entry of a skill in an archive. The archive's content defines the skill, and its files are never
 * requested one by one.
 */
export async function packedSkill(
  parcel: ArchiveOffer,
  archives: UnpackedArchives,
  looking: ListingContext,
): Promise<MadeEntry> {
  const uri = packedUri(parcel)
  const path = skillPathOf(uri)
  // An entry with this URI is refused; the judge of entries reports the reason.
  if (path === undefined) return { entry: { uri, resources: [] } }
  if (!looking.rules.isWanted(path)) return {}
  const read = await readParcel(parcel, archives, looking)
  if (!read.ok) return entryFinding(read.rule, path, `The archive "${parcel.url}" is refused: ${read.why}`)
  const document = await documentIn(read.document, parcel.frontmatter, path, looking)
  if ('findings' in document) return document
  const resources = read.files.map((file) => {
    return { uri: uriOfFile(uri, file.path), digest: `sha256:${file.sha256}`, size: file.size }
  })
  const entry = { uri, frontmatter: document.frontmatter, resources }
  return { entry, archive: parcel.url, isFirstRead: parcel.digest === undefined }
}

async function readParcel(
  parcel: ArchiveOffer,
  archives: UnpackedArchives,
  looking: ListingContext,
): Promise<ReadArchive> {
  const { url, form, digest } = parcel
  const { fileBytes } = looking.rules
  if (form === undefined) return refusal('entry-refused', 'it is neither a gzipped tar nor a zip')
  const sha256 = digest === undefined ? undefined : sha256In(digest)
  if (digest !== undefined && sha256 === undefined)
    return refusal('entry-refused', 'its digest is not sha256: with 64 digits of 0-9 and a-f')
  const listed = (await looking.lists.resources()).at(url)
  const { size, said = '' } = listed ?? {}
  if (size !== undefined && size > fileBytes)
    return refusal('limit-bytes', `it has ${size} bytes, over budgets.file_bytes (${fileBytes})`)
  // If a digest identifies the archive, no other statement can change it.
  const archive = { uri: url, said: sha256 === undefined ? `${form} ${parcel.said}${said}` : form, sha256, size }
  return archives.read(archive, {
    fetch: () => fetchFile(url, size ?? fileBytes, looking),
    unpack: (bytes, mostBytes) => openArchive(bytes, form, mostBytes, looking),
  })
}

async function openArchive(
  archive: Uint8Array,
  form: ArchiveForm,
  mostBytes: number,
  { rules, signal }: ListingContext,
): Promise<OpenedArchive> {
  const limits = { ...UNPACK_LIMITS, bytes: Math.min(mostBytes, UNPACK_LIMITS.bytes) }
  const unpacked = await unpack(archive, form, limits, signal)
  const { bytes } = unpacked
  if (unpacked.ok) {
    const over = overLimits(unpacked, rules.skill)
    return over === undefined ? unpacked : { ...over, bytes }
  }
  const { why, isTooLarge } = unpacked
  if (isTooLarge !== true) return { ...refusal('entry-refused', why), bytes }
  // With the full limit, the archive might have been accepted.
  if (limits.bytes < UNPACK_LIMITS.bytes) return { ...refusal('not-read', why), bytes, lacksRoom: true }
  return { ...refusal('limit-bytes', why), bytes }
}

function overLimits({ files, bytes }: Extract<Unpacked, { ok: true }>, most: SkillLimits): Unusable | undefined {
  if (files.length > most.files)
    return refusal(
      'limit-files',
      `it holds ${tooManyFiles(
        files.map(({ path }) => path),
        most.files,
      )}`,
    )
  if (bytes > most.bytes)
    return refusal('limit-bytes', `its files hold ${bytes} bytes, over the limit of ${most.bytes}`)
  return undefined
}

function refusal(rule: SkillCode, why: string): Unusable {
  return { ok: false, rule, why }
}
