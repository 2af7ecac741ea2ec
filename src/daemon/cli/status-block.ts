import { fileURLToPath } from 'node:url'
import { agoText, dueText, sinceText } from '../../base/text/age-text.ts'
import { countOf } from '../../base/text/plural.ts'
import type { ListingForm } from '../../sync/model/listing-form.ts'
import { offerTexts } from '../../sync/model/server-listing.ts'
import type { Signers } from '../../sync/model/signers.ts'
import type { Tally } from '../../sync/model/snapshot.ts'
import { printableLine } from '../runtime/log/log-line.ts'
import { signersTexts } from '../runtime/signer-text.ts'
import { decisionTexts, matchedText, recalledText, scannedText, skillOperand } from '../status/decision-text.ts'
import { isFollowed, lockStandingText } from '../status/lock-text.ts'
import { carriedText } from '../status/marketplace-rows.ts'
import { countsText, scanFindingText } from '../status/scan-text.ts'
import { isFixed, isKept, isUpToDate } from '../status/source-facts.ts'
import type { PlacedFinding } from '../status/source-scan.ts'
import type { Condition, HttpStatus, SourceDiagnostic, SourceStatus } from '../status/status.ts'
import { unservedContractsText } from '../status/unserved-contract.ts'
import { verifiedText } from '../status/verified-files.ts'

export interface BlockLook {
  readonly now: Date
  readonly http: HttpStatus | undefined
  /** True to show every finding. */
  readonly all: boolean
}

/** The full block of lines about one source. */
export function blockOf(source: SourceStatus, look: BlockLook): string[] {
  return [...sourceLines(source, look), ...privacyLines(source, look.http)]
}

function sourceLines(source: SourceStatus, { now, all }: BlockLook): string[] {
  const { id, ref, update, decision, served, condition, tally, nextPoll, lookingSince } = source
  const lines = [
    `${id}  ${placeOf(source)}${ref === undefined ? '' : `  ${ref}`}${update === 'auto' ? '' : `  update: ${update}`}`,
    `  ${freshness(source, now)}`,
    ...movedLines(source),
    ...lockLines(source),
    ...formLines(source),
    ...rebuiltLines(served),
    ...signerLines(served?.signers),
    `  ${tallyText(tally)}`,
    ...disabledLines(source),
    ...pendingLines(source),
    ...unservedLines(source),
    ...mismatchLines(source),
    ...offerLines(source),
    ...marketplaceLines(source),
    ...verifiedLines(source),
    ...fetchedLines(source),
  ]
  for (const text of decisionTexts(decision, id)) lines.push(`  ${text}`)
  if (lookingSince !== undefined) lines.push(`  fetching (${sinceText(lookingSince, now)})`)
  else if (nextPoll !== undefined) lines.push(`  next poll ${dueText(nextPoll, now)}`)
  if (condition !== undefined)
    lines.push(`  ! ${condition.code}: ${printableLine(condition.message)}`, `    ${mendLine(condition)}`)
  return [...lines, ...scanStatusLines(source, all), ...findingLines(source, all)]
}

function tallyText({ seen, clean, noted, tools, withheld, links, disabled, pending }: Tally): string {
  return [
    `${seen} SKILL.md: ${clean} served, ${noted} served with a note, ${tools} for tools only, ${withheld} withheld`,
    ...(links === 0 ? [] : [`${countOf(links, 'link')} to nothing, called as a skill that is served`]),
    ...(disabled === 0 ? [] : [`${disabled} disabled`]),
    ...(pending === 0 ? [] : [`${pending} waiting for approval`]),
  ].join(', ')
}

/** Hosts remove such redirects after a time. */
function movedLines({ movedTo }: SourceStatus): string[] {
  return movedTo === undefined
    ? []
    : [`  ! source-moved: its host redirects to ${printableLine(movedTo)}; write that into \`url\``]
}

function rebuiltLines(served: SourceStatus['served']): string[] {
  if (served?.rebuiltFrom === undefined) return []
  return [`  its commit was lost: its skills are those of ${served.rebuiltFrom} with the locked digests`]
}

function marketplaceLines({ id, marketplace }: SourceStatus): string[] {
  if (marketplace === undefined || marketplace.files.length === 0) return []
  const { groups, suggested, unsupported, carried } = marketplace
  const parts = [
    countOf(groups, 'plugin'),
    ...(suggested === 0 ? [] : [countOf(suggested, 'suggested source')]),
    ...(unsupported === 0 ? [] : [`${unsupported} unsupported`]),
  ]
  const others = carriedText(carried)
  const notServed = others === '' ? '' : `; carries ${others}: not served`
  return [`  marketplace: ${parts.join(', ')}${notServed}; skillsyncd list --plugins ${id} shows them`]
}

function unservedLines({ unservedContracts }: SourceStatus): string[] {
  return unservedContracts === 0 ? [] : [`  ${unservedContractsText(unservedContracts)}`]
}

function verifiedLines({ verified }: SourceStatus): string[] {
  return verified === undefined ? [] : [`  checked: ${verifiedText(verified)}`]
}

function fetchedLines({ fetched }: SourceStatus): string[] {
  if (fetched === undefined || fetched.bytes === 0) return []
  return [`  ${fetched.bytes} bytes of its files came in the last hour, of ${fetched.most} (budgets.hourly_bytes)`]
}

/** The usual form of current servers needs no line. */
function formLines({ form }: SourceStatus): string[] {
  return form === undefined || form === 'skills/list' ? [] : [`  listed by ${FORM_TEXTS[form]}`]
}

const FORM_TEXTS: Readonly<Record<Exclude<ListingForm, 'skills/list'>, string>> = {
  index: 'skill://index.json, as older servers do',
  fastmcp: 'its resources, as FastMCP does',
  uris: 'only the URIs in the configuration',
  none: 'nothing: it lists skills in no known form',
}

/** Items of an MCP server that wait for a command or a key. */
function offerLines({ id, offers }: SourceStatus): string[] {
  if (offers === undefined) return []
  return offerTexts(id, offers).map((text) => `  offers ${text}`)
}

/** One token counts as one client; over stdio it is the user of the system. */
function privacyLines({ isPrivate }: SourceStatus, http: HttpStatus | undefined): string[] {
  if (isPrivate !== true || http === undefined) return []
  const { required, count } = http.tokens
  if (required && count === 1) return []
  return ['  its server declares its list as private to the sent credential; here every client with access gets it']
}

function placeOf({ kind, url }: SourceStatus): string {
  return kind === 'directory' ? `the folder ${printableLine(fileURLToPath(url))}` : url
}

/** The skills that a person, a scan or a recall took out of service, one in a line. */
export function disabledLines(source: SourceStatus): string[] {
  return [...decidedLines(source), ...scannedOutLines(source), ...returnedLines(source)]
}

function scannedOutLines({ id, disabled: { matches } }: SourceStatus): string[] {
  const scanned = matches.filter(({ by }) => by === 'scan')
  const lines = scanned.slice(0, SHOWN_DISABLED).map(({ path, as }) => `  ! ${id}/${path}: ${scannedText(as)}`)
  const left = scanned.length - lines.length
  return [...lines.map(printableLine), ...(left > 0 ? [`  ${left} more; skillsyncd list shows them`] : [])]
}

/** The skills that are out of service because another skill was disabled, or this one at another place. */
function returnedLines({ id, disabled: { matching, matches } }: SourceStatus): string[] {
  const elsewhere = matches.filter(
    ({ as, path, by, recall }) => recall !== undefined || (as !== `${id}/${path}` && by !== 'scan'),
  )
  const lines = elsewhere
    .slice(0, SHOWN_DISABLED)
    .map(({ path, as, by, recall }) =>
      recall === undefined
        ? printableLine(`  ! disabled-returns: ${id}/${path} is out of service: ${matchedText(by)} ${as}`)
        : printableLine(`  ! skill-recalled: ${id}/${path} is out of service: ${recalledText(recall)}`),
    )
  const left = matching - matches.length + elsewhere.length - lines.length
  return left > 0 ? [...lines, `  ${left} more are out of service for one that is disabled`] : lines
}

function decidedLines({ id, disabled: { count, paths } }: SourceStatus): string[] {
  const lines = paths
    .slice(0, SHOWN_DISABLED)
    .map((path) => `  disabled until skillsyncd enable ${printableLine(skillOperand(id, path))}`)
  const left = count - lines.length
  return left > 0 ? [...lines, `  ${left} more are disabled; skillsyncd list shows them`] : lines
}

function pendingLines({ id, pending: { count, paths } }: SourceStatus): string[] {
  const lines = paths
    .slice(0, SHOWN_DISABLED)
    .map((path) => `  waits for skillsyncd approve ${printableLine(skillOperand(id, path))}`)
  const left = count - lines.length
  return left > 0
    ? [...lines, `  ${left} more wait; skillsyncd list shows them, skillsyncd approve ${id}/ approves all`]
    : lines
}

/** The findings describe the bytes that arrived. */
function mismatchLines({ id, mismatched: { count, paths } }: SourceStatus): string[] {
  const lines = paths
    .slice(0, SHOWN_DISABLED)
    .map(
      (path) =>
        `  ! content-mismatch: skillsyncd mcp-source mirror ${printableLine(skillOperand(id, path))} has its files read again`,
    )
  const left = count - lines.length
  return left > 0 ? [...lines, `  ${left} more are withheld for other bytes; skillsyncd list shows them`] : lines
}

const SHOWN_DISABLED = 5

/** The remedy for the operator, with the credential that it concerns. */
export function mendLine({ mend, credential }: Condition): string {
  return credential === undefined ? mend : `${mend}: ${printableLine(credential)}`
}

function signerLines(signers: Signers | undefined): string[] {
  return [...signersTexts(signers)].map((text) => `  signed: ${printableLine(text)}`)
}

/**
 * "Up to date" appears only with the two commits that prove it, and never for a source that the operator keeps from
 * moving.
 */
function freshness(source: SourceStatus, now: Date): string {
  const { kind, served, upstream, lastAttempt, condition, decision, lock } = source
  if (served === undefined)
    return lastAttempt === undefined ? 'never pulled' : `nothing is served; last tried ${agoText(lastAttempt, now)}`
  const from = served.url === undefined ? '' : ` of ${served.url}, the earlier address of the source`
  const at = `serves ${served.ref} at ${served.commit.slice(0, 12)}${from}`
  const where = WHERE[kind]
  if (isFixed(source)) return `${at}; the configuration pins this commit, and ${where} is not queried for another`
  if (upstream === undefined && isFollowed(lock) && lock.commit === served.commit)
    return `serves the locked commit ${served.commit.slice(0, 12)} of ${served.ref}; ${where} was not queried yet`
  if (upstream === undefined) return `${at}; ${where} was not queried yet`
  const seen = `${where} was at ${upstream.commit.slice(0, 12)} ${agoText(upstream.at, now)}`
  if (served.commit !== upstream.commit) return `${at}; behind: ${seen}`
  if (condition === undefined && !isKept(decision) && isUpToDate(source)) return `${at}; up to date: ${seen}`
  return lastAttempt === undefined ? `${at}; ${seen}` : `${at}; ${seen}, last tried ${agoText(lastAttempt, now)}`
}

function lockLines({ lock }: SourceStatus): string[] {
  const text = lockStandingText(lock)
  return text === undefined ? [] : [`  lock: ${text}`]
}

const WHERE = { git: 'upstream', directory: 'the folder', mcp: 'the server', channel: 'the channel' } as const

function findingLines({ findings, pending }: SourceStatus, all: boolean): string[] {
  const isUrgent = ({ standing, rule }: SourceDiagnostic): boolean =>
    rule === 'kept-version' || (standing !== 'served' && standing !== 'link')
  const shown = all ? findings : findings.filter(isUrgent).slice(0, SHOWN_FINDINGS)
  const waiting = new Set(pending.paths)
  const lines = shown.map(({ standing, rule, path, message }) => {
    const word = standing === 'served' && waiting.has(path) ? 'waiting' : standing
    return `  - ${word} ${rule} ${printableLine(path)}: ${printableLine(message)}`
  })
  const left = findings.length - shown.length
  return left > 0 ? [...lines, `  ${left} more findings; --findings shows them`] : lines
}

function scanStatusLines({ id, scan }: SourceStatus, all: boolean): string[] {
  if (scan === undefined) return []
  const { scanned, counts, findings, next } = scan
  const lineOf = (prefix: string, { skill, ...finding }: PlacedFinding): string =>
    `  - ${prefix} ${printableLine(`${id}/${skill}`)}: ${printableLine(scanFindingText(finding))}`
  const ofNext = (next?.findings ?? []).slice(0, all ? undefined : SHOWN_FINDINGS)
  const served = findings.filter(({ level }) => all || level === 'error' || level === 'warning')
  const shown = served.slice(0, all ? undefined : SHOWN_FINDINGS)
  return [
    `  scanned: ${scanned} of what is served, ${countsText(counts)}`,
    ...shown.map((finding) => lineOf('scan', finding)),
    ...(next === undefined ? [] : [`  the scan of ${next.commit.slice(0, 12)}, which is ${NEXT[next.verdict]}:`]),
    ...ofNext.map((finding) => lineOf('next scan', finding)),
  ]
}

const NEXT = { hold: 'waiting', refuse: 'refused' } as const

/** As many as fit on a screen with the rest. */
const SHOWN_FINDINGS = 5
