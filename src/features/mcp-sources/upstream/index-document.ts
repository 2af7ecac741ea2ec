import { isMapping } from '../../../base/json-value.ts'
import { sha256In } from '../../../sync/model/declared-digest.ts'
import { tooManyFiles } from '../../../sync/model/skill.ts'
import type { SkillLimits } from '../../../sync/model/skill.ts'
import type { SyncError } from '../../../sync/model/sync-error.ts'
import type { SkillCode } from '../../../sync/skill/skill-diagnostic.ts'
import { archiveFormOf, unpack, UNPACK_LIMITS } from '../../../sync/upstream/archive/unpack.ts'
import type { ArchiveForm, Unpacked } from '../../../sync/upstream/archive/unpack.ts'
import { withinDepth } from '../client/depth-limit.ts'
import { isAbsence, orSilence } from '../client/rpc-errors.ts'
import type { OpenedArchive, ReadArchive, UnpackedArchives } from './archives.ts'
import { wholeEntry } from './complete-entry.ts'
import { contentsOf, jsonIn } from './contents.ts'
import { fetchFile } from './fetch-file.ts'
import type { Unusable } from './file-cache.ts'
import { saidIn, skillPathOf, uriOfFile } from './listed-files.ts'
import { entryFinding, madeInTurn } from './listing-context.ts'
import type { ListingContext, MadeEntry } from './listing-context.ts'
import { enumerationFault, enumerationRefusal, tooManyItems } from './pages.ts'
import { documentIn, firstRead } from './unverified-skills.ts'

const INDEX = 'skill://index.json'

/** The schema that the first revisions name. Later ones name none. */
const SCHEMA = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'

/**
 * Lists the skills of `skill://index.json`, in any of its forms before `skills/list`. `undefined` if there is no index;
 * the failure if that is unknown. Throws for a broken index: then the previous listing stays.
 */
export async function byIndex(looking: ListingContext): Promise<readonly MadeEntry[] | SyncError | undefined> {
  const items = await indexItems(looking)
  if (items === undefined || items instanceof Error) return items
  const entries = items.map(withinDepth)
  const taken = new Set(entries.flatMap((entry) => unpackedPathOf(entry) ?? []))
  return madeInTurn(
    entries,
    (entry, within) => madeOf(entry, taken, within),
    (entry) => unpackedPathOf(entry) ?? packedPathOf(entry),
    looking,
  )
}

/** Returns the entries of the index as received. Same results and errors as `byIndex`. */
export async function indexItems(looking: ListingContext): Promise<readonly unknown[] | SyncError | undefined> {
  const { connection, budget, hints, rules, signal } = looking
  const reply = await orSilence(connection.request('resources/read', { uri: INDEX }, signal, rules.connectMs))
  if (reply instanceof Error) return reply
  if (!reply.ok) return isAbsence(reply) ? undefined : enumerationRefusal(INDEX, reply)
  hints.hear('resources/read', reply.result)
  const document = contentsOf(reply.result, budget.bytes)
  if ('why' in document)
    throw document.isTooLarge
      ? tooManyItems(INDEX, 'listing_bytes', budget.bytes)
      : enumerationFault(INDEX, document.why)
  const items = itemsIn(document.bytes, looking)
  if (items.length > budget.entries) throw tooManyItems(INDEX, 'listing_entries', budget.entries)
  return items
}

function itemsIn(bytes: Uint8Array, { rules }: ListingContext): readonly unknown[] {
  const document = jsonIn(bytes)
  if (!isMapping(document)) throw enumerationFault(INDEX, 'it is not a JSON object')
  const { $schema, skills } = document
  if (!Array.isArray(skills)) throw enumerationFault(INDEX, 'it has no list "skills"')
  if ($schema !== undefined && $schema !== SCHEMA)
    rules.onOddity(
      `The index names the schema ${JSON.stringify(withinDepth($schema)).slice(0, 200)}, which is not known here`,
    )
  return skills
}

/** The fields of an entry identify its revision: one document may serve readers of all revisions. */
async function madeOf(item: unknown, taken: Set<string>, looking: ListingContext): Promise<MadeEntry> {
  if (!isMapping(item)) return unusable()
  if (isPacked(item)) return madeOfParcel(item, taken, looking)
  const { type, uri, url, name, description, frontmatter, resources, digest } = item
  // The first revisions require a client to skip unknown types.
  if (!isKnown(type)) return type === 'mcp-resource-template' ? { offer: 'templates' } : {}
  if (typeof uri === 'string' && (resources !== undefined || url === undefined))
    return wholeEntry({ uri, frontmatter, resources: resources ?? 'dynamic' }, looking)
  if (typeof url === 'string')
    return firstRead({ uri: url, frontmatter, digest, said: saidIn([name, description]) }, looking)
  return unusable()
}

function isKnown(type: unknown): boolean {
  return type === undefined || type === 'skill-md'
}

/** True if this entry offers the skill only as an archive. */
function isPacked({ type, uri, url, archives }: Readonly<Record<string, unknown>>): boolean {
  return type === 'archive' || (isKnown(type) && uri === undefined && url === undefined && Array.isArray(archives))
}

/** Skips the archive if any entry offers the skill file by file, or if another archive of it was taken. */
async function madeOfParcel(
  item: Readonly<Record<string, unknown>>,
  taken: Set<string>,
  looking: ListingContext,
): Promise<MadeEntry> {
  const { archives } = looking
  if (archives === undefined) return { offer: 'archives' }
  const parcel = archiveInEntry(item)
  if (parcel === undefined) return unusable()
  const path = skillPathOf(packedUri(parcel))
  if (path !== undefined && taken.has(path)) return {}
  if (path !== undefined) taken.add(path)
  return packedSkill(parcel, archives, looking)
}

function packedPathOf(item: unknown): string | undefined {
  const parcel = isMapping(item) && isPacked(item) ? archiveInEntry(item) : undefined
  return parcel && skillPathOf(packedUri(parcel))
}

function unpackedPathOf(item: unknown): string | undefined {
  if (!isMapping(item) || !isKnown(item['type'])) return undefined
  const { uri, url } = item
  if (typeof uri === 'string') return skillPathOf(uri)
  return typeof url === 'string' ? skillPathOf(url) : undefined
}

function unusable(): MadeEntry {
  const message = 'An entry of the index names no skill'
  return { findings: [{ rule: 'entry-refused', path: '', message }] }
}

/** A skill that an index offers only as an archive. */
interface ArchiveOffer {
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
function archiveInEntry(item: Readonly<Record<string, unknown>>): ArchiveOffer | undefined {
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
function packedUri({ url }: Pick<ArchiveOffer, 'url'>): string {
  return `${url.replace(/\.(?:tar\.gz|tgz|zip)$/i, '')}/SKILL.md`
}

/**
 * Creates the entry of a skill in an archive. The archive's content defines the skill, and its files are never
 * requested one by one.
 */
async function packedSkill(
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
