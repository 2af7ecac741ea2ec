import { fileURLToPath } from 'node:url'
import { countOf } from '../../serve/count-text.ts'
import { EMPTY_CATALOG } from '../../sync/model/catalog.ts'
import type { Decision } from '../../sync/model/decisions.ts'
import { NONE_DISABLED } from '../../sync/model/disabled.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { Signers } from '../../sync/model/trust.ts'
import { currentCatalog } from '../../sync/publisher.ts'
import { Store } from '../../sync/store/store.ts'
import { admissionOf } from '../admission.ts'
import { idsOf } from '../config.ts'
import type { Config } from '../config.ts'
import { VERSION } from '../../serve/version.ts'
import { ControlError } from '../control-client.ts'
import { printable } from '../log-line.ts'
import { request } from '../requests.ts'
import { decisionTexts, skillOperand } from '../decision-text.ts'
import { signersTexts } from '../signer-text.ts'
import { statusOf, withFindings } from '../status.ts'
import type { Condition, HttpStatus, SourceStatus, Status } from '../status.ts'
import { configOf, printJson, printLines } from './command.ts'
import type { Command, Context } from './command.ts'

export const status: Command = {
  name: 'status',
  summary: 'What is served, from which commit, how old, and what is wrong',
  details: `
      --findings       every finding, not only how many there are
`,
  options: { findings: { type: 'boolean' } },
  async run(context) {
    const config = await configOf(context)
    const now = await statusNow(context, config)
    if (context.json) printJson(context, now)
    else printLines(context, linesOf(now, context.values['findings'] === true))
    return 0
  },
}

async function statusNow({ signal }: Context, config: Config): Promise<Status> {
  const answer = await request(config, 'status', {}, { signal })
  const store = await Store.openExisting(config.state)
  const ids = idsOf(config)
  // A daemon says itself what was decided, as it knows it: a damaged file does not keep it from that.
  const decisions = answer === undefined ? await store?.decisions.read() : undefined
  const catalog = store === undefined ? EMPTY_CATALOG : await currentCatalog(store, ids, admissionOf(config))
  if (answer !== undefined) return withFindings(ofThisVersion(answer.result), catalog, config)
  const records = new Map(await Promise.all(ids.map(async (id) => [id, await store?.records.read(id)] as const)))
  const now = statusOf({
    config,
    catalog,
    recordOf: (id) => records.get(id),
    decisions: decisions ?? new Map<SourceId, Decision>(),
    disabled: store?.decisions.disabled ?? NONE_DISABLED,
    nextPolls: new Map<SourceId, Date>(),
    lookingSince: new Map<SourceId, Date>(),
    startedAt: undefined,
    http: undefined,
  })
  return withFindings(now, catalog, config)
}

/** Another version of this program may say other things in its status. */
function ofThisVersion(result: unknown): Status {
  if (isStatus(result)) return result
  throw new ControlError('other-version', 'The daemon is another version of this program; restart it')
}

function isStatus(result: unknown): result is Status {
  return typeof result === 'object' && result !== null && 'version' in result && result.version === VERSION
}

function linesOf(now: Status, all: boolean): string[] {
  const daemon =
    now.daemon === undefined ? 'no daemon runs' : `daemon ${now.daemon.pid}, up since ${now.daemon.startedAt}`
  const head = `skillsyncd ${now.version}: ${daemon}; generation ${now.generation}, ${countOf(now.skills, 'skill')} served`
  const clients =
    now.http && `${now.http.url}/mcp: ${countOf(now.http.sessions, 'session')}, ${countOf(now.http.streams, 'stream')}`
  const access = now.http && accessText(now.http.tokens)
  const hooks = now.http?.operations && `${now.http.operations.url}/hooks: webhooks`
  return [
    head,
    `state ${now.state}`,
    ...[clients, access, hooks].filter((line) => line !== undefined),
    ...now.sources.flatMap((source) => ['', ...sourceLines(source, all)]),
    ...problemLines(now, all),
  ]
}

function accessText({ required, count }: HttpStatus['tokens']): string {
  const need = required ? 'a token is required' : 'no token is required'
  if (count === undefined) return `${need}; they cannot be read, so nobody is let in by one`
  if (count < 2) return `${need}; there is ${count === 0 ? 'none' : 'one'}`
  return `${need}; there are ${count}`
}

function sourceLines(source: SourceStatus, all: boolean): string[] {
  const { id, ref, update, decision, served, condition, tally, nextPoll, lookingSince } = source
  const { seen, clean, noted, tools, withheld, disabled } = tally
  const lines = [
    `${id}  ${placeOf(source)}${ref === undefined ? '' : `  ${ref}`}${update === 'auto' ? '' : `  update: ${update}`}`,
    `  ${freshness(source)}`,
    ...signerLines(served?.signers),
    `  ${seen} SKILL.md: ${clean} served, ${noted} served with a note, ${tools} for tools only, ${withheld} withheld${disabled === 0 ? '' : `, ${disabled} disabled`}`,
    ...disabledLines(source),
  ]
  for (const text of decisionTexts(decision, id)) lines.push(`  ${text}`)
  if (lookingSince !== undefined) lines.push(`  looking since ${lookingSince}`)
  else if (nextPoll !== undefined) lines.push(`  next poll ${nextPoll}`)
  if (condition !== undefined)
    lines.push(`  ! ${condition.code}: ${printable(condition.message)}`, `    ${mendLine(condition)}`)
  return [...lines, ...findingLines(source, all)]
}

function placeOf({ kind, url }: SourceStatus): string {
  return kind === 'directory' ? `the folder ${printable(fileURLToPath(url))}` : url
}

function disabledLines({ id, disabled: { count, paths } }: SourceStatus): string[] {
  const lines = paths
    .slice(0, SHOWN_DISABLED)
    .map((path) => `  disabled until skillsyncd enable ${printable(skillOperand(id, path))}`)
  const left = count - lines.length
  return left > 0 ? [...lines, `  ${left} more are disabled; skillsyncd list shows them`] : lines
}

const SHOWN_DISABLED = 5

function mendLine({ mend, credential }: Condition): string {
  return credential === undefined ? mend : `${mend}: ${printable(credential)}`
}

function signerLines(signers: Signers | undefined): string[] {
  return [...signersTexts(signers)].map((text) => `  signed: ${printable(text)}`)
}

/** "Up to date" is never said without the two commits that prove it, nor of what a person keeps from moving. */
function freshness({ kind, served, upstream, lastAttempt, condition, decision }: SourceStatus): string {
  if (served === undefined)
    return lastAttempt === undefined ? 'never pulled' : `nothing is served; last tried ${lastAttempt}`
  const at = `serves ${served.ref} at ${served.commit.slice(0, 12)}`
  const where = kind === 'directory' ? 'the folder' : 'upstream'
  if (upstream === undefined) return `${at}; ${where} was not seen yet`
  const seen = `${where} was at ${upstream.commit.slice(0, 12)} on ${upstream.at}`
  if (served.commit !== upstream.commit) return `${at}; behind: ${seen}`
  const isKept = decision.paused === true || decision.frozen !== undefined
  return condition === undefined && !isKept ? `${at}; up to date: ${seen}` : `${at}; ${seen}, last tried ${lastAttempt}`
}

function problemLines({ problems }: Status, all: boolean): string[] {
  if (problems.length === 0) return []
  const shown = all ? problems : problems.slice(0, SHOWN_FINDINGS)
  const lines = shown.map(({ kind, message }) => `  - ${kind}: ${printable(message)}`)
  const left = problems.length - shown.length
  const more = left > 0 ? [`  ${left} more; --findings shows them`] : []
  return ['', 'Between skills of the contract:', ...lines, ...more]
}

/** As many as fit on a screen with the rest. */
const SHOWN_FINDINGS = 5

function findingLines({ findings }: SourceStatus, all: boolean): string[] {
  const shown = all ? findings : findings.filter(({ standing }) => standing !== 'served').slice(0, SHOWN_FINDINGS)
  const lines = shown.map(
    ({ standing, rule, path, message }) => `  - ${standing} ${rule} ${printable(path)}: ${printable(message)}`,
  )
  const left = findings.length - shown.length
  return left > 0 ? [...lines, `  ${left} more findings; --findings shows them`] : lines
}
