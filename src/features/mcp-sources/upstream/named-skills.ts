import { isMapping } from '../../../base/json-value.ts'
import type { ListingForm } from '../../../sync/model/listing-form.ts'
import type { Enumeration } from '../../../sync/model/server-listing.ts'
import type { NamedSkill } from '../../../sync/model/source.ts'
import { declaresSkills } from '../client/capabilities.ts'
import { withinDepth } from '../client/depth-limit.ts'
import { EntryUnanswered } from '../client/entry-requests.ts'
import { METHOD_NOT_FOUND } from '../client/message.ts'
import { isAbsence } from '../client/rpc-errors.ts'
import { wholeEntry } from './complete-entry.ts'
import { skillPathOf } from './listed-files.ts'
import { entryFinding, madeInTurn } from './listing-context.ts'
import type { ListingContext, MadeEntry } from './listing-context.ts'
import { enumerationRefusal } from './pages.ts'
import { firstRead } from './unverified-skills.ts'

/** Adds the skills that the operator named by URI and the server does not list. */
export async function withNamed(listing: Enumeration, looking: ListingContext): Promise<Enumeration> {
  const listed = new Set(listing.entries.map((entry) => (isMapping(entry) ? entry['uri'] : undefined)))
  const wanted = looking.rules.named().filter(({ uri }) => !listed.has(uri))
  const make = (named: NamedSkill, within: ListingContext): Promise<MadeEntry> =>
    namedSkill(named, listing.form, within)
  const found = await madeInTurn(wanted, make, ({ uri }) => skillPathOf(uri), looking)
  const urisOf = (isChosen: (one: MadeEntry) => boolean | undefined): readonly string[] =>
    wanted.flatMap(({ uri }, index) => (isChosen(found[index] ?? {}) === true ? [uri] : []))
  const entries = found.flatMap((one) => ('entry' in one ? [one.entry] : []))
  return {
    form: listing.form === 'none' && entries.length > 0 ? 'uris' : listing.form,
    entries: [...listing.entries, ...entries],
    findings: [...listing.findings, ...found.flatMap(({ findings = [] }) => findings)],
    firstRead: new Set([...listing.firstRead, ...urisOf(({ isFirstRead }) => isFirstRead)]),
    proved: listing.proved,
    dynamic: new Set([...listing.dynamic, ...urisOf(({ isDynamic }) => isDynamic)]),
    packed: listing.packed,
    offers: listing.offers,
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
    `"${uri}" cannot be verified: the server has no skills/get, the only method that declares its files; skillsyncd mcp-source add --unverified accepts what the server sends, and so does { uri: "${uri}", unverified: true } in \`uris\``,
  )
}

/** `undefined` if the server has no such method. */
async function byMethod(uri: string, looking: ListingContext): Promise<MadeEntry | undefined> {
  const { entryRequests, hints, signal } = looking
  const reply = await entryRequests.request('skills/get', { uri }, signal)
  if (!reply.ok && reply.code === METHOD_NOT_FOUND) return undefined
  if (!reply.ok && !isAbsence(reply)) throw new EntryUnanswered(uri, enumerationRefusal('skills/get', reply))
  if (!reply.ok) return absent(uri, `the server answers ${reply.code}, "${reply.message.slice(0, 200)}"`)
  hints.hear('skills/get', reply.result)
  const skill = withinDepth(reply.result['skill'])
  if (!isMapping(skill) || skill['uri'] !== uri) return absent(uri, 'the server answers with something else')
  return wholeEntry(skill, looking)
}

function absent(uri: string, why: string): MadeEntry {
  return entryFinding('entry-refused', '', `"${uri}" is not there: ${why}`)
}
