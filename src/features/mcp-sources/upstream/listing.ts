import { isMapping } from '../../../base/json-value.ts'
import { isSize, sha256In } from '../../../sync/model/declared-digest.ts'
import type { ListingForm } from '../../../sync/model/listing-form.ts'
import type { Enumeration, Offers } from '../../../sync/model/server-listing.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { frontmatterBy } from '../../../sync/skill/document-reader.ts'
import { OMITTED_LIST } from '../../../sync/skill/entry-faults.ts'
import { declaresOmitted, declaresSkills } from '../client/capabilities.ts'
import { withinDepth } from '../client/depth-limit.ts'
import { EntryUnanswered } from '../client/entry-requests.ts'
import { METHOD_NOT_FOUND } from '../client/message.ts'
import { orSilence } from '../client/rpc-errors.ts'
import { wholeEntries } from './complete-entry.ts'
import { contentsOf, jsonIn } from './contents.ts'
import { fetchFile } from './fetch-file.ts'
import { byIndex } from './index-document.ts'
import { rootOf, skillPathOf, uriOfFile } from './listed-files.ts'
import { entryFinding, madeInTurn } from './listing-context.ts'
import type { ListingContext, MadeEntry } from './listing-context.ts'
import { withNamed } from './named-skills.ts'
import { allOf, enumerationRefusal, SpentBudgetError } from './pages.ts'
import { listedTemplates } from './skill-templates.ts'
import { overLimits } from './unverified-skills.ts'

/**
 * Lists the skills of a FastMCP server: each SKILL.md among its resources that has a manifest next to it. The manifest
 * has the sizes and hashes of all files, so only SKILL.md is read. `undefined` if no skill has a manifest.
 */
async function byManifests(looking: ListingContext): Promise<readonly MadeEntry[] | SyncError | undefined> {
  const resources = await orSilence(looking.lists.resources(looking.rules.connectMs))
  if (resources instanceof Error) return resources
  const uris = new Set([...resources].map(({ uri }) => uri).filter((uri) => /^skill:\/\/.+\/SKILL\.md$/.test(uri)))
  let isFastMcp = false
  let silence: EntryUnanswered | undefined
  const makeAt = async (uri: string, within: ListingContext): Promise<MadeEntry> => {
    const path = skillPathOf(uri)
    if (path === undefined || !looking.rules.isWanted(path)) return {}
    const manifest = await manifestOf(uri, within).catch((error: unknown) => {
      if (error instanceof EntryUnanswered) silence ??= error
      throw error
    })
    isFastMcp ||= manifest !== undefined
    return madeOf(uri, path, manifest, within)
  }
  const made = await madeInTurn([...uris], makeAt, skillPathOf, looking)
  // Without any manifest it is unknown if the server has this form.
  return isFastMcp ? made : silence
}

interface ManifestFile {
  readonly path: string
  readonly size: number
  readonly hash: unknown
}

/** `undefined` if there is no manifest. */
async function manifestOf(
  uri: string,
  looking: ListingContext,
): Promise<readonly ManifestFile[] | 'broken' | undefined> {
  const { entryRequests, budget, signal } = looking
  const reply = await entryRequests.request('resources/read', { uri: `${rootOf(uri)}/_manifest` }, signal)
  if (!reply.ok) return undefined
  const document = contentsOf(reply.result, budget.bytes)
  const manifest = 'why' in document ? undefined : withinDepth(jsonIn(document.bytes))
  if (!isMapping(manifest) || !Array.isArray(manifest['files'])) return 'broken'
  const files: readonly unknown[] = manifest['files']
  return files.every(isManifestFile) ? files : 'broken'
}

function isManifestFile(value: unknown): value is ManifestFile {
  return isMapping(value) && typeof value['path'] === 'string' && value['path'].isWellFormed() && isSize(value['size'])
}

async function madeOf(
  uri: string,
  path: string,
  files: readonly ManifestFile[] | 'broken' | undefined,
  looking: ListingContext,
): Promise<MadeEntry> {
  if (files === undefined) return entryFinding('entry-refused', path, 'The server has no manifest of the skill')
  if (files === 'broken') return entryFinding('entry-refused', path, 'The manifest of the skill is invalid')
  const over = overLimits(
    files,
    files.map((file) => file.path),
    path,
    looking,
  )
  if (over !== undefined) return over
  const document = files.find((file) => file.path === 'SKILL.md')
  const sha256 = sha256In(document?.hash)
  if (document === undefined || sha256 === undefined)
    return entryFinding(
      'entry-refused',
      path,
      'The manifest of the skill has no SKILL.md with its size and its SHA-256',
    )
  const { size } = document
  const file = { uri, said: '', sha256, size }
  const read = await looking.fileCache.read(file, 'bytes', () => fetchFile(uri, size, looking))
  if (!read.ok) return entryFinding(read.rule, path, `SKILL.md differs from its manifest: ${read.why}`)
  const { rules, signal } = looking
  const found = await frontmatterBy(rules.reader, read.bytes ?? new Uint8Array(), rules.frontmatter, signal)
  if (!found.ok) return entryFinding(found.rule, path, found.message)
  return { entry: { uri, frontmatter: found.frontmatter, resources: files.map((one) => resourceOf(one, uri)) } }
}

/** The paths of a manifest are not percent-encoded. */
function resourceOf({ path, size, hash }: ManifestFile, uri: string): object {
  return { uri: uriOfFile(uri, path), digest: hash, size }
}

/**
 * Lists the skills of a server, by the newest form that answers; `known` is the form that answered last. If none
 * answers and one failed, that failure is thrown: it says nothing about the skills.
 */
export async function listingOf(looking: ListingContext, known: ListingForm | undefined): Promise<Enumeration> {
  let failure: SyncError | undefined
  for (const { form, made } of FORMS) {
    const found = await made(looking)
    if (found instanceof SyncError) {
      // Otherwise a temporary server failure would look like other skills, or none.
      if (known === form) throw found
      failure ??= found
    } else if (found !== undefined) return withNamed(listingIn(form, found), looking)
  }
  if (failure !== undefined) throw failure
  return withNamed(listingIn('none', await templatesAlone(looking)), looking)
}

interface Form {
  readonly form: ListingForm
  /** Returns `undefined` if the server lacks the form, or the failure if that is unknown. */
  readonly made: (looking: ListingContext) => Promise<readonly MadeEntry[] | SyncError | undefined>
}

const FORMS: readonly Form[] = [
  { form: 'skills/list', made: byMethod },
  { form: 'index', made: byIndex },
  { form: 'fastmcp', made: byManifests },
]

/**
 * Lists by `skills/list`. PHP's server declares the extension, lacks the method, and sends an answer that clients
 * cannot receive.
 */
async function byMethod(looking: ListingContext): Promise<readonly MadeEntry[] | SyncError | undefined> {
  if (!declaresSkills(looking.connection)) return undefined
  const asked = { method: 'skills/list', key: 'skills', firstMs: looking.rules.connectMs }
  const spent = new SpentBudgetError(looking.budget)
  const entries = await orSilence(allOf(asked, looking, spent))
  if (entries instanceof Error) return entries
  if ('ok' in entries) return entries.code === METHOD_NOT_FOUND ? undefined : enumerationRefusal('skills/list', entries)
  const made = await wholeEntries(entries, looking)
  return declaresOmitted(looking.connection) ? [...made, ...(await omittedBy(looking, spent))] : made
}

function listingIn(form: ListingForm, made: readonly MadeEntry[]): Enumeration {
  const entries = made.flatMap((one) => ('entry' in one ? [one.entry] : []))
  const findings = made.flatMap((one) => one.findings ?? [])
  const urisOf = (chosen: readonly MadeEntry[]): ReadonlySet<string> => new Set(chosen.flatMap(uriIn))
  const firstRead = urisOf(made.filter(({ isFirstRead }) => isFirstRead === true))
  const proved = urisOf(made.filter(({ isDocumentProved }) => isDocumentProved === true))
  const dynamic = urisOf(made.filter(({ isDynamic }) => isDynamic === true))
  const packed = made.flatMap(({ entry, archive }): [string, string][] => {
    const [uri] = uriIn({ entry })
    return archive !== undefined && uri !== undefined ? [[uri, archive]] : []
  })
  return { form, entries, findings, firstRead, proved, dynamic, packed: new Map(packed), offers: offersIn(made) }
}

function offersIn(made: readonly MadeEntry[]): Offers | undefined {
  const countOf = (kind: keyof Offers): number => made.filter(({ offer }) => offer === kind).length
  const offers = { templates: countOf('templates'), archives: countOf('archives') }
  return offers.templates + offers.archives > 0 ? offers : undefined
}

/** The templates of a server that lists no skills. A failure costs nothing: they are only counted. */
async function templatesAlone(looking: ListingContext): Promise<readonly MadeEntry[]> {
  try {
    const templates = await listedTemplates(looking)
    return templates.map(() => ({ offer: 'templates' as const }))
  } catch (error) {
    looking.signal.throwIfAborted()
    if (!(error instanceof SyncError)) throw error
    return []
  }
}

function uriIn({ entry }: MadeEntry): readonly string[] {
  return isMapping(entry) && typeof entry['uri'] === 'string' ? [entry['uri']] : []
}

/**
 * Lists the skills that another skillsyncd leaves out of `skills/list`. A failure costs no skill of the list: it
 * becomes a finding, and the previously known skills stay. `spent`: the part of the budget used by `skills/list`, which
 * both share.
 */
async function omittedBy(looking: ListingContext, spent: SpentBudgetError): Promise<readonly MadeEntry[]> {
  try {
    const asked = { method: OMITTED_LIST, key: 'skills', firstMs: looking.rules.connectMs }
    const entries = await allOf(asked, looking, spent)
    if ('ok' in entries) throw enumerationRefusal(OMITTED_LIST, entries)
    return await wholeEntries(entries, looking)
  } catch (error) {
    looking.signal.throwIfAborted()
    if (!(error instanceof SyncError)) throw error
    // No freshness for this list, so the schedule tries again, whatever the other answers allow.
    looking.hints.hear(OMITTED_LIST, {})
    const message = `The skills that skills/list leaves out cannot be learnt, and stay as they were: ${error.message}`
    return [entryFinding('listing-incomplete', '', message)]
  }
}
