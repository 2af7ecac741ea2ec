import { isMapping } from '../../../base/json-value.ts'
import type { ListingForm } from '../../model/listing-form.ts'
import type { Enumeration } from '../../model/server-listing.ts'
import { declaresSkills } from './client/capabilities.ts'
import { withinDepth } from './client/depth-limit.ts'
import { METHOD_NOT_FOUND } from './client/message.ts'
import { isAbsence } from './client/rpc-errors.ts'
import { wholeEntry } from './complete-entry.ts'
import { entryFinding } from './listing-context.ts'
import type { ListingContext, MadeEntry } from './listing-context.ts'
import type { NamedSkill } from './look-rules.ts'
import { enumerationRefusal } from './pages.ts'
import { firstRead } from './unverified-skills.ts'

/** Adds the skills that the operator named by URI and the server does not list. */
export async function withNamed(listing: Enumeration, looking: ListingContext): Promise<Enumeration> {
  const listed = new Set(listing.entries.map((entry) => (isMapping(entry) ? entry['uri'] : undefined)))
  const made: (MadeEntry & NamedSkill)[] = []
  for (const named of looking.rules.named().filter(({ uri }) => !listed.has(uri)))
    made.push({ ...named, ...(await namedSkill(named, listing.form, looking)) })
  const entries = made.flatMap((one) => ('entry' in one ? [one.entry] : []))
  const read = made.flatMap(({ uri, isFirstRead }) => (isFirstRead === true ? [uri] : []))
  const dynamic = made.flatMap(({ uri, isDynamic }) => (isDynamic === true ? [uri] : []))
  return {
    form: listing.form === 'none' && entries.length > 0 ? 'uris' : listing.form,
    entries: [...listing.entries, ...entries],
    findings: [...listing.findings, ...made.flatMap(({ findings = [] }) => findings)],
    firstRead: new Set([...listing.firstRead, ...read]),
    dynamic: new Set([...listing.dynamic, ...dynamic]),
    packed: listing.packed,
  }
}

/** Looks up a named skill at a server that lists in this form. */
export async function namedSkill(named: NamedSkill, form: ListingForm, looking: ListingContext): Promise<MadeEntry> {
  const { uri, isUnverified } = named
  const isOfToday = form === 'skills/list' || form === 'none' || form === 'uris'
  const asked = isOfToday && declaresSkills(looking.connection) ? await byMethod(uri, looking) : undefined
  if (asked !== undefined) return asked
  // The URI proves nothing, so a file of an older server is read only if the operator allows it.
  if (isUnverified) return firstRead({ uri, frontmatter: undefined, digest: undefined, said: '' }, looking)
  return entryFinding(
    'entry-refused',
    '',
    `"${uri}" cannot be verified: the server has no skills/get, the only method that declares its files; --unverified accepts what the server sends`,
  )
}

/** `undefined` if the server has no such method. */
async function byMethod(uri: string, looking: ListingContext): Promise<MadeEntry | undefined> {
  const { connection, hints, rules, signal } = looking
  const reply = await connection.request('skills/get', { uri }, signal, rules.connectMs)
  if (!reply.ok && reply.code === METHOD_NOT_FOUND) return undefined
  if (!reply.ok && !isAbsence(reply)) throw enumerationRefusal('skills/get', reply)
  if (!reply.ok) return absent(uri, `the server answers ${reply.code}, "${reply.message.slice(0, 200)}"`)
  hints.hear('skills/get', reply.result)
  const skill = withinDepth(reply.result['skill'])
  if (!isMapping(skill) || skill['uri'] !== uri) return absent(uri, 'the server answers with something else')
  return wholeEntry(skill, looking)
}

function absent(uri: string, why: string): MadeEntry {
  return entryFinding('entry-refused', '', `"${uri}" is not there: ${why}`)
}
