import { fileURLToPath } from 'node:url'
import { agoText, dueText, sinceText } from '../../../base/text/age-text.ts'
import { countOf } from '../../../base/text/plural.ts'
import type { ListingForm } from '../../../sync/model/listing-form.ts'
import { offerTexts } from '../../../sync/model/server-listing.ts'
import type { Signers } from '../../../sync/model/signers.ts'
import { isNoSkill, stateText, tallyText } from '../../../sync/model/verdict/verdict.ts'
import type { SkillProblem, Verdict } from '../../../sync/model/verdict/verdict.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { signersTexts } from '../../runtime/signer-text.ts'
import { decisionTexts } from '../../status/decision-text.ts'
import { isFollowed, lockStandingText } from '../../status/lock-text.ts'
import { carriedText } from '../../status/marketplace-rows.ts'
import { countsText, scanFindingText } from '../../status/scan-text.ts'
import { isFixed, isKept, isUpToDate } from '../../status/source-facts.ts'
import type { PlacedFinding } from '../../status/source-scan.ts'
import type { SourceProblem, HttpStatus, SourceStatus } from '../../status/status.ts'
import { unservedContractsText } from '../../status/unserved-contract.ts'
import { problemText } from '../../status/verdict-lines.ts'
import { verifiedText } from '../../status/verified-files.ts'

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
  const { id, ref, update, decision, served, problem, tally, nextPoll, lookingSince } = source
  const lines = [
    `${id}  ${placeOf(source)}${ref === undefined ? '' : `  ${ref}`}${update === 'auto' ? '' : `  update: ${update}`}`,
    `  ${freshness(source, now)}`,
    ...movedLines(source),
    ...lockLines(source),
    ...formLines(source),
    ...rebuiltLines(served),
    ...signerLines(served?.signers),
    `  ${tallyText(tally)}`,
    ...unservedLines(source),
    ...offerLines(source),
    ...marketplaceLines(source),
    ...verifiedLines(source),
    ...fetchedLines(source),
  ]
  for (const text of decisionTexts(decision, id)) lines.push(`  ${text}`)
  if (lookingSince !== undefined) lines.push(`  fetching (${sinceText(lookingSince, now)})`)
  else if (nextPoll !== undefined) lines.push(`  next poll ${dueText(nextPoll, now)}`)
  if (problem !== undefined)
    lines.push(`  ! ${problem.code}: ${printableLine(problem.message)}`, `    ${mendLine(problem)}`)
  return [...lines, ...scanStatusLines(source, all), ...verdictsLines(source, all)]
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

/** The remedy for the operator, with the credential that it concerns. */
export function mendLine({ fix, credential }: SourceProblem): string {
  return credential === undefined ? fix : `${fix}: ${printableLine(credential)}`
}

function signerLines(signers: Signers | undefined): string[] {
  return [...signersTexts(signers)].map((text) => `  signed: ${printableLine(text)}`)
}

/**
 * "Up to date" appears only with the two commits that prove it, and never for a source that the operator keeps from
 * moving.
 */
function freshness(source: SourceStatus, now: Date): string {
  const { kind, served, upstream, lastAttempt, problem, decision, lock } = source
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
  if (problem === undefined && !isKept(decision) && isUpToDate(source)) return `${at}; up to date: ${seen}`
  return lastAttempt === undefined ? `${at}; ${seen}` : `${at}; ${seen}, last tried ${agoText(lastAttempt, now)}`
}

function lockLines({ lock }: SourceStatus): string[] {
  const text = lockStandingText(lock)
  return text === undefined ? [] : [`  lock: ${text}`]
}

const WHERE = { git: 'upstream', directory: 'the folder', mcp: 'the server', channel: 'the channel' } as const

/** The skills that are not simply served, each with the problem that decides and its fix. `all`: with every problem. */
function verdictsLines({ verdicts, findings }: SourceStatus, all: boolean): string[] {
  const shown = all ? verdicts : verdicts.filter(isUrgent)
  const byState = [...Map.groupBy(shown, ({ state }) => state)].flatMap(([state, alike]) => {
    const few = all ? alike : alike.slice(0, SHOWN_FINDINGS)
    const left = alike.length - few.length
    const lines = few.flatMap((verdict) => verdictLine(verdict, all))
    return left > 0 ? lines.concat(`  ${left} more ${stateText(state)}; skillsyncd list shows them`) : lines
  })
  const few = findings.slice(0, all ? undefined : SHOWN_FINDINGS)
  const total = verdicts.reduce((sum, { reasons }) => sum + reasons.length, findings.length)
  const left = all ? 0 : total - shown.length - few.length
  return [
    ...byState,
    ...few.flatMap((problem) => problemLines('source', problem)),
    ...(left > 0 ? [`  ${countOf(left, 'more finding')}; --findings shows them`] : []),
  ]
}

/** True for what a person should know without a question: not for notes, what is wanted so, and what is no skill. */
export function isUrgent(verdict: Verdict): boolean {
  const code = verdict.reasons[0]?.code
  if (verdict.state === 'served') return code === 'kept-version'
  return code !== 'skill-unlisted' && !isNoSkill(verdict)
}

/** The problem of a skill that decides, or all of them. */
export function verdictLine({ state, reasons }: Verdict, all = false): string[] {
  return reasons.slice(0, all ? undefined : 1).flatMap((problem) => problemLines(stateText(state), problem))
}

function problemLines(word: string, problem: SkillProblem): string[] {
  return [`  - ${problem.code === word ? '' : `${word} `}${problemText(problem)}`, `    ${printableLine(problem.fix)}`]
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
