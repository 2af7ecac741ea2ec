import { isMapping } from '../../../base/json-value.ts'
import type { SyncError } from '../../../sync/model/sync-error.ts'
import { withinDepth } from '../client/depth-limit.ts'
import { isAbsence, orSilence } from '../client/rpc-errors.ts'
import { packedSkill, packedUri, archiveInEntry } from './archived-skills.ts'
import { wholeEntry } from './complete-entry.ts'
import { contentsOf, jsonIn } from './contents.ts'
import { skillPathOf, saidIn } from './listed-files.ts'
import { madeInTurn } from './listing-context.ts'
import type { ListingContext, MadeEntry } from './listing-context.ts'
import { enumerationRefusal, enumerationFault, tooManyItems } from './pages.ts'
import { firstRead } from './unverified-skills.ts'

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
