import { CHANNEL_REF, FOLDER_REF, LISTING_REF } from '../../../sync/model/revision.ts'
import { findingProblem } from '../../../sync/model/verdict/skill-problems.ts'
import { stateText } from '../../../sync/model/verdict/verdict.ts'
import type { SkillProblem, Until, Verdict } from '../../../sync/model/verdict/verdict.ts'
import { currentCatalog } from '../../../sync/pull/generation-catalog.ts'
import { readFollowedLock } from '../../../sync/store/followed-lock.ts'
import { readLock } from '../../../sync/store/lock-file.ts'
import { Store } from '../../../sync/store/store.ts'
import { printJson, printLines } from '../../cli/command.ts'
import type { Command } from '../../cli/command.ts'
import { configInUse } from '../../cli/config-in-use.ts'
import { idsOf } from '../../config/config.ts'
import { agreeWithDaemon } from '../../control/running-daemon.ts'
import { lockStateOf } from '../../pull/trust/lock-rules.ts'
import type { LockStanding } from '../../pull/trust/lock-rules.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { admissionOf } from '../../pull/trust/serving-policy.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { signersTexts } from '../../runtime/signer-text.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { leftSkillIn } from '../../status/changes/history.ts'
import { decisionTexts, keptText } from '../../status/decision-text.ts'
import { lockOriginStatusOf, lockOriginText } from '../../status/lock-text.ts'
import { theOnly, theOnlyIfAny } from '../../status/named-skill.ts'
import { provenanceOf } from '../../status/provenance.ts'
import type { LockSide, LockedAs, Provenance } from '../../status/provenance.ts'
import { scanTexts } from '../../status/scan-text.ts'
import { readRows } from '../../status/skill-rows.ts'
import type { SkillRow } from '../../status/skill-rows.ts'
import { UNSERVED_CONTRACT } from '../../status/unserved-contract.ts'
import { problemText, verdictLines } from '../../status/verdict-lines.ts'
import { verifiedText } from '../../status/verified-files.ts'
import { printLeft, scanLines } from './show.ts'

export const why: Command = {
  name: 'why',
  operands: { text: 'SKILL', most: 1, offers: ['skills'] },
  details: `
  It names the rule, the lock entry and the decision behind it. SKILL is an id, a URI, SOURCE/PATH, SOURCE/NAME, a
  path or a name.
`,
  examples: ['skillsyncd why pdf'],
  async run(context) {
    const [asked] = context.operands
    if (asked === undefined)
      throw new UsageError('"why" wants the URI, path or name of a skill; skillsyncd list shows them')
    const config = await configInUse(context)
    const mode = await agreeWithDaemon(config, context.signal)
    const running = mode === undefined ? config : { ...config, mode }
    const rows = await readRows(config)
    const row = theOnlyIfAny(rows, asked)
    const others = row === undefined ? await problemsAbout(asked, config) : []
    if (others.length > 0) {
      if (context.json) printJson(context, { problems: others })
      else
        printLines(
          context,
          others.flatMap((one) => [`! ${problemText(one)}`, `  ${printableLine(one.fix)}`]),
        )
      return 0
    }
    const left =
      row === undefined || row.verdict.state === 'withheld'
        ? await leftSkillIn(config.state, row === undefined ? asked : `${row.source}/${row.path}`)
        : undefined
    if (row === undefined && left !== undefined) {
      printLeft(context, left)
      return 0
    }
    const told = await provenanceFor(row ?? theOnly(rows, asked), running)
    const { until } = left?.verdict ?? {}
    const provenance = until === undefined ? told : { ...told, verdict: { ...told.verdict, until } }
    if (context.json) printJson(context, provenance)
    else printLines(context, linesOf(provenance))
    return 0
  },
}

/** Problems of what was asked for, of sources in which it is no skill: an entry that was left out, or a refused URI. */
async function problemsAbout(asked: string, config: ServedConfig): Promise<readonly SkillProblem[]> {
  using store = await Store.openExisting(config.state)
  if (store === undefined) return []
  const { snapshots } = await currentCatalog(store, idsOf(config), admissionOf(config))
  const wanted = asked.replace(/^skill:\/\//, '').replace(/\/SKILL\.md$/, '')
  return snapshots.flatMap(({ source, findings }) =>
    findings.flatMap((finding) => {
      const { path, message } = finding
      const isMeant = path !== '' && (wanted === path || wanted === `${source}/${path}`)
      const below = wanted.startsWith(`${source}/`) ? wanted.slice(source.length + 1) : wanted
      return isMeant || message.includes(`"${asked}"`) || message.includes(`://${below}/SKILL.md"`)
        ? [findingProblem(source, path, finding)]
        : []
    }),
  )
}

async function provenanceFor(row: SkillRow, config: ServedConfig): Promise<Provenance> {
  using store = await Store.openExisting(config.state)
  const configured = config.sources.find(({ source }) => source.id === row.source)
  const snapshots = store && (await currentCatalog(store, idsOf(config), admissionOf(config))).snapshots
  const snapshot = snapshots?.find(({ source }) => source === row.source)
  const skill = snapshot?.skills.find(({ path }) => path === row.path)
  if (store === undefined || configured === undefined || snapshot === undefined || skill === undefined)
    throw new OperatorError('unknown-skill', `"${row.source}/${row.path}" was removed meanwhile`)
  const { source } = configured
  const lock = config.lock === undefined ? undefined : await readLock(config.lock)
  const decision = (await store.decisions.read()).get(source.id)
  const side: LockSide = {
    standing: lockStateOf(lock, config, source, decision),
    entry: lock?.sources.get(source.id),
  }
  const origin = config.lockFrom && lockOriginStatusOf(config.lockFrom, await readFollowedLock(config.state))
  const provenance = await provenanceOf({ source, snapshot, skill, row }, side, store)
  return { ...provenance, ...(origin && { lockOrigin: origin }) }
}

function linesOf(told: Provenance): string[] {
  const { name, path, source, url, digest, rebuiltFrom, verdict } = told
  return [
    `${printableLine(name ?? path)} (${stateText(verdict.state)})`,
    `  source  ${source}, ${url}`,
    `  ${revisionText(told)}`,
    ...(told.kept === undefined ? [] : [`  kept    ${keptText(told.kept)}`]),
    ...upstreamTexts(told.upstream).map((text) => `  server  ${printableLine(text)}`),
    ...publishedTexts(told).map((text) => `  hub     ${printableLine(text)}`),
    ...(told.verified === undefined ? [] : [`  checked ${verifiedText(told.verified)}`]),
    `  rule    ${printableLine(ruleText(told))}`,
    `  update  ${updateText(told)}`,
    ...decisionTexts(told.decision, source).map((text) => `  ! ${text}`),
    `  lock    ${lockText(told.lock)}`,
    ...lockOriginTexts(told.lockOrigin).map((text) => `  lock    ${printableLine(text)}`),
    ...signersTexts(told.signers).map((text) => `  signed  ${printableLine(text)}`),
    ...(rebuiltFrom === undefined
      ? []
      : [`  from    ${rebuiltFrom}, by the locked digest: upstream no longer had the commit`]),
    ...(digest === undefined ? [] : [`  digest  ${digest}`]),
    ...sinceTexts(verdict).map((text) => `  since   ${text}`),
    ...(verdict.until === undefined ? [] : [`  until   ${untilText(verdict.until)}`]),
    ...(told.hasUnservedContract === true ? [`  - ${UNSERVED_CONTRACT}`] : []),
    ...verdictLines(verdict),
    ...scanLines(told.scan),
    ...nextScanLines(told.nextScan),
  ]
}

function nextScanLines(next: Provenance['nextScan']): string[] {
  if (next === undefined) return []
  const { summary, findings } = scanTexts(next.scan)
  const ends = next.verdict === 'hold' ? 'waits for skillsyncd approve' : 'is refused'
  return [
    `  next    its content in ${next.commit}, which ${ends}: ${summary}`,
    ...findings.map((text) => `  ! next scan ${printableLine(text)}`),
  ]
}

function revisionText({ asked, ref, commit, tag }: Provenance): string {
  if (ref === FOLDER_REF) return `folder  as of content ${commit}`
  if (ref === LISTING_REF) return `listing ${commit}`
  if (ref === CHANNEL_REF) return `channel ${commit}`
  return `ref     ${printableLine(asked)} -> ${printableLine(ref)} -> ${commit}${tag === undefined ? '' : ` (tag object ${tag})`}`
}

/** The origin of the skill at the hub whose channel it comes from, and its proof. */
function publishedTexts({ published }: Provenance): string[] {
  if (published === undefined) return []
  const { log, entry, source } = published
  const { ref, commit, tag } = source
  const at = tag === undefined ? commit : `${commit} (tag object ${tag})`
  return [
    `${source.source}, ${source.url}, ${ref} -> ${at}`,
    ...[...signersTexts(source.signers)].map((text) => `signed ${text}`),
    entry === undefined ? `in the log ${log}` : `entry ${entry.index + 1} of the log ${log}, of ${entry.at}`,
  ]
}

function upstreamTexts(upstream: Provenance['upstream']): string[] {
  if (upstream === undefined) return []
  const { uri, approved } = upstream
  const by = approved === undefined ? [] : [`approved by ${approved.by} on ${approved.at}, as it is declared now`]
  return [`calls it ${uri}`, ...by]
}

/** Sources that are not repositories, by their ref. */
const PLACES: Readonly<Record<string, { readonly root: string; readonly followed: string }>> = {
  [FOLDER_REF]: { root: 'folder', followed: 'folder' },
  [LISTING_REF]: { root: 'server', followed: 'listing' },
  [CHANNEL_REF]: { root: 'channel', followed: 'channel' },
}

const UPDATES = {
  locked: 'locked: only the lock moves it',
  review: 'review: each commit waits for skillsyncd approve',
} as const

/** The cause of moves of the source: only the lock, if the source follows it. */
function updateText({ update, ref, lock: { follows, source } }: Provenance): string {
  if (follows && source.by === '--locked') return `${update}, but the daemon runs with --locked: only the lock moves it`
  if (follows && source.by === undefined) return `${update}, but there is a lock: only the lock moves it`
  return update === 'auto' ? `auto: the ${PLACES[ref]?.followed ?? 'ref'} is followed` : UPDATES[update]
}

function ruleText({ path, name, ref, rule: { root, include, unlisted, renamed } }: Provenance): string {
  const where = `${path === '' ? 'the root itself' : `"${path}"`} below ${root === '' ? `the root of the ${PLACES[ref]?.root ?? 'repository'}` : `root "${root}"`}`
  const taken = include === undefined ? ', which no include matches now' : `, matched by include "${include}"`
  const hidden = unlisted === undefined ? '' : `, in no list because of unlisted "${unlisted}"`
  return `${where}${taken}${hidden}${renamed ? `; served by its name, "${name}"` : ''}`
}

function lockText(lock: LockedAs): string {
  const follows = lock.follows
    ? ', and its source serves only that'
    : `, ${UNFOLLOWED[lock.source.state] ?? 'which its source does not follow'}`
  switch (lock.state) {
    case 'no-lock':
      return 'there is none'
    case 'source-not-locked':
      return 'does not have its source; skillsyncd lock adds it'
    case 'not-locked':
      return `does not have it${follows}`
    case 'same':
      return `has it with this digest, at ${lock.commit}${follows}`
    case 'other':
      return `has it with digest ${lock.digest}, at ${lock.commit}${follows}`
    default:
      return lock satisfies never
  }
}

/** The commit of the lock in force, if it is followed from a repository. */
function lockOriginTexts(origin: Provenance['lockOrigin']): string[] {
  if (origin === undefined) return []
  const { problem } = origin
  return [
    `is ${lockOriginText(origin)}`,
    ...(problem === undefined ? [] : [`is not moved since ${problem.since}: ${problem.code}: ${problem.message}`]),
  ]
}

const UNFOLLOWED: Partial<Record<LockStanding['state'], string>> = {
  ignored: 'which is not followed (lock: ignore)',
  overruled: 'which is not followed while the source is held',
  differs: 'which is for another configuration of its source',
}

function sinceTexts({ state, since }: Verdict): string[] {
  if (state !== 'served' && state !== 'partly') return []
  if (since === undefined) return ['not known']
  const { generation, createdAt, isOldestKept, approvedAt } = since
  if (approvedAt !== undefined)
    return [
      `served with this digest since it was approved on ${approvedAt}; it came with generation ${generation} of ${createdAt}`,
    ]
  const kept = isOldestKept ? ', the oldest stored one, or earlier' : ''
  return [`served with this digest since generation ${generation} of ${createdAt}${kept}`]
}

function untilText({ generation, next, at, commit }: Until): string {
  return `served until generation ${generation}; not in generation ${next} of ${at}${commit === undefined ? '' : `, by commit ${commit.slice(0, 12)}`}`
}
