import { join } from 'node:path'
import type { z } from 'zod'
import { systemClock } from '../../../base/async/clock.ts'
import { countOf } from '../../../base/text/plural.ts'
import { FOLDER_REF } from '../../../sync/model/revision.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { SyncError, mendOf } from '../../../sync/model/sync-error.ts'
import { revisionText } from '../../../sync/pull/move-policy.ts'
import { lastPublished } from '../../../sync/store/generation-store.ts'
import { isCorruption } from '../../../sync/store/objects/database.ts'
import { Store } from '../../../sync/store/store.ts'
import { failedCheck, printChecks, runChecks, verdicts } from '../../cli/check.ts'
import type { Check, CheckResult } from '../../cli/check.ts'
import { MODE_OPTIONS, progressOf } from '../../cli/command.ts'
import type { Command, Context } from '../../cli/command.ts'
import { configInUse } from '../../cli/config-in-use.ts'
import { withWriter } from '../../cli/daemon-client.ts'
import type { AskWriter } from '../../cli/daemon-client.ts'
import type { StateRecord } from '../../cli/feature.ts'
import { variantIn } from '../../cli/variant.ts'
import { idsOf } from '../../config/config.ts'
import { sourcesNamed } from '../../config/named-sources.ts'
import { agreeWithDaemon } from '../../control/running-daemon.ts'
import { compareRequest } from '../../control/upstream-requests.ts'
import { lockRead, lockStateOf } from '../../pull/trust/lock-rules.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { refusalOf } from '../../pull/trust/serving-policy.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { lockAgrees } from './lock-checks.ts'
import { proofsHold } from './proof-checks.ts'
import { compareFiles } from './second-opinion-checks.ts'
import {
  databaseDamage,
  databaseIsWhole,
  decisionsAreWhole,
  filesAreWhole,
  keptAreWhole,
  objectsAreWhole,
  recordsAreWhole,
  servedIsWhole,
} from './store-checks.ts'
import type { Verifying, StoreCheck } from './verify-context.ts'
import { isIn, verifyingOf } from './verify-context.ts'

const CHECKS: readonly StoreCheck[] = [lockAgrees, databaseIsWhole, servedIsWhole, signaturesHold, filesAreWhole]

/** The checks that take long on a large state folder. */
const DEEP_CHECKS: readonly StoreCheck[] = [keptAreWhole, recordsAreWhole, proofsHold, objectsAreWhole]

const MODES = Object.keys(MODE_OPTIONS)
const VARIANTS = {
  '': ['deep', ...MODES],
  log: ['against', ...MODES],
  proof: ['key', ...MODES],
  scan: ['fresh', 'withhold', ...MODES],
} as const

export const verify: Command = {
  name: 'verify',
  operands: { text: '[SOURCE… | FOLDER]', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  details: `
  The exit status is 3 for a finding. With --deep, isomorphic-git fetches each served commit once more, and all files
  of served skills are compared with what it read. For a source with backend: isomorphic the built-in reader does so.

  --proof checks a file of skillsyncd hub export --proof and prints what it shows. It needs the public key of the log, and no
  configuration, no state folder and no network. FOLDER has the files of the skill that it shows: they are compared.

  --scan needs gate.scanner or gate.sarif. Content that the same scanner has scanned by the same rules is not scanned
  again. What the scanner refuses goes out of service if gate.rescan says so, and comes back when a scan clears it. The
  exit status is 3 if the scanner refuses a skill that is served, and 1 if it gave no answer for some.
`,
  examples: [
    'skillsyncd verify',
    'skillsyncd verify team --deep',
    'skillsyncd verify --proof review.proof.json --key "$CHANNEL_KEY"',
    'skillsyncd verify --scan team --fresh',
  ],
  options: {
    deep: {
      type: 'boolean',
      help: 'also check all stored generations, commit and tag objects, upstream, and each file by a second reader',
    },
    log: {
      type: 'boolean',
      help: 'read the whole log of each followed channel and of this hub, and compare it with what is signed',
    },
    against: {
      type: 'string',
      value: 'FILE',
      help: 'with --log: the checkpoint of another machine, or a proof that it exported; both must be of one log',
      offers: 'files',
    },
    proof: {
      type: 'string',
      value: 'FILE',
      help: 'check this proof of what a channel served, and nothing else',
      offers: 'files',
    },
    key: {
      type: 'string',
      multiple: true,
      value: 'KEY',
      help: 'with --proof: the public key of the log; again for each further key',
    },
    scan: { type: 'boolean', help: 'scan what is served with the scanner of the gate, and nothing else' },
    fresh: { type: 'boolean', help: 'with --scan: scan everything again, also by the same rules' },
    withhold: { type: 'boolean', help: 'with --scan: take what it refuses out of service, however much that is' },
    ...MODE_OPTIONS,
  },
  async run(context) {
    const variant = variantIn(context, VARIANTS)
    const { proof } = context.values
    const deep = context.values['deep'] === true
    if (proof === '') throw new UsageError('--proof names no file')
    if (variant !== '') return context.runVariant(`verify --${variant}`)
    const config = await configInUse(context)
    // `--locked` applies to the verdict only; the daemon need not have been started with it.
    const asking = { ...config, mode: { ...config.mode, locked: false } }
    await agreeWithDaemon(asking, context.signal)
    const named = new Set<string>(sourcesNamed(context.operands, config))
    using progress = progressOf(context)
    const show = (text: string): void => progress.show(text)
    const { verifying, damage } = await opened(config, { named, show }, context.signal)
    using _store = verifying.store
    const records = context.features.stateRecords.map(recordIsWhole)
    const all = [decisionsAreWhole, ...records, ...CHECKS, ...(deep ? DEEP_CHECKS : [])]
    const stored = all.map((check) => checkOf(check, verifying))
    const own = await runChecks(stored, systemClock, context.signal, IN_TURN)
    const asked = deep ? await upstream(context, asking, verifying) : NOTHING_ASKED
    const others = idsOf(config).filter((id) => !named.has(id))
    const results = onceDamaged([...damage, ...own, ...asked.diagnostics]).filter(
      ({ subject = '' }) => !others.some((id) => isIn(id, subject)),
    )
    progress.show('')
    const { served, looked } = verifying
    const files = [...asked.compared.values()].reduce((sum, count) => sum + count, 0)
    const checked = { generation: served?.number ?? 0, skills: looked.size, deep, ...(deep && { compared: files }) }
    return printChecks(context, results, {
      what: whatWasChecked(verifying, deep ? second(asked.compared) : ''),
      about: { ...checked, lock: await locksOf(verifying) },
    })
  },
}

/** The input of the checks, and what kept the database from being opened. */
interface Opened {
  readonly verifying: Verifying
  readonly damage: readonly CheckResult[]
}

/** Opens the store; a database that SQLite cannot read is a finding, and the checks go on without it. */
async function opened(
  config: ServedConfig,
  means: Pick<Verifying, 'named' | 'show'>,
  signal: AbortSignal,
): Promise<Opened> {
  try {
    using opening = new DisposableStack()
    const store = opening.use(await Store.openExisting(config.state))
    const found = { verifying: await verifyingOf(config, store, means, signal), damage: await lossIn(config, store) }
    opening.move()
    return found
  } catch (error) {
    if (!isCorruption(error)) throw error
    const damage = databaseDamage(join(config.state, 'store.db'), error.message)
    return { verifying: await verifyingOf(config, undefined, means, signal), damage: [damage] }
  }
}

/** The finding for a database that was removed, or begun anew and not filled yet. */
async function lossIn({ state }: ServedConfig, store: Store | undefined): Promise<readonly CheckResult[]> {
  const last = await lastPublished(state)
  if (last === 0 || (await store?.objects.head()) !== undefined) return []
  const message = `all generations are lost, up to ${last}: the database "${join(state, 'store.db')}" was removed, or is new and not filled yet`
  return [verdicts('generation-damaged').fail(message, 'skillsyncd sync fills it')]
}

/** The checks read the same store, and those of a large one take minutes. */
const IN_TURN = { atOnce: 1, mostMs: undefined }

/** A check that meets damage which SQLite finds ends there, and is no hindrance to the others. */
function checkOf(check: StoreCheck, verifying: Verifying): Check {
  const look = async (): Promise<readonly CheckResult[]> => {
    const results: CheckResult[] = []
    try {
      for await (const result of check(verifying)) results.push(result)
    } catch (error) {
      if (!isCorruption(error)) throw error
      results.push(databaseDamage(verifying.store?.folder.database ?? '', error.message))
    }
    return results
  }
  return { name: 'store-failed', look }
}

/** Several checks meet the same damage of the database. */
function onceDamaged(results: readonly CheckResult[]): readonly CheckResult[] {
  const first = results.find(({ check }) => check === 'database-damaged')
  return results.filter((result) => result.check !== 'database-damaged' || result === first)
}

/** The outcome of the upstream queries: the diagnostics, and the number of files with a second opinion, by its reader. */
interface Asked {
  readonly diagnostics: readonly CheckResult[]
  readonly compared: ReadonlyMap<string, number>
}

const NOTHING_ASKED: Asked = { diagnostics: [], compared: new Map() }

async function upstream(context: Context, config: ServedConfig, verifying: Verifying): Promise<Asked> {
  if (config.mode.offline)
    return withoutAsking(verdicts('upstream-not-asked').unknown('--offline forbids network access'))
  const ids = idsOf(config).filter((id) => verifying.named.has(id))
  try {
    return await withWriter(context, config, (ask) => askedAbout(ids, verifying, ask))
  } catch (error) {
    // Another check has already reported a state folder that no writer can open.
    return withoutAsking(failedCheck(error))
  }
}

function withoutAsking(diagnostic: CheckResult): Asked {
  return { ...NOTHING_ASKED, diagnostics: [diagnostic] }
}

async function askedAbout(ids: readonly SourceId[], { show, signal }: Verifying, ask: AskWriter): Promise<Asked> {
  const moved = await Promise.all(ids.map(async (id) => [id, await upstreamDiagnostics(id, ask)] as const))
  const diagnostics = moved.flatMap(([, found]) => found)
  const compared = new Map<string, number>()
  for (const [id, found] of moved) {
    signal.throwIfAborted()
    // An unreachable host is reported once.
    if (found.some(({ check }) => !KNOWN_MOVES.has(check))) continue
    show(`a second reader fetches ${id}`)
    const second = await compareFiles(id, ask)
    diagnostics.push(...second.diagnostics)
    if (second.by !== undefined) compared.set(second.by, (compared.get(second.by) ?? 0) + (second.files ?? 0))
  }
  return { diagnostics, compared }
}

/** The codes of sources that could be queried. */
const KNOWN_MOVES: ReadonlySet<string> = new Set(['upstream-moved', 'commit-gone', 'tag-moved', 'history-rewritten'])

/** The state of the lock for each source, for programs. */
async function locksOf({ config, store }: Verifying): Promise<readonly object[]> {
  const lock = await lockRead(config)
  return config.sources.map(({ source }) => {
    return { source: source.id, ...lockStateOf(lock, config, source, store?.decisions.known.get(source.id)) }
  })
}

function whatWasChecked({ served, looked }: Verifying, more: string): string {
  if (served === undefined) return 'nothing is served yet'
  return `generation ${served.number}, ${countOf(looked.size, 'skill')} checked${more}`
}

function second(compared: Asked['compared']): string {
  const parts = [...compared].map(([by, files]) => `${countOf(files, 'file')} compared with ${by}`)
  return `, ${parts.length === 0 ? 'no file compared once more' : parts.join(', ')}`
}

function recordIsWhole({ check, read }: StateRecord): StoreCheck {
  return async function* ({ config }) {
    try {
      await read(config)
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      yield verdicts(check).fail(error.message)
    }
  }
}

/** Checks the required signatures of the served content with the keys that are trusted now. */
async function* signaturesHold({ config, snapshots }: Verifying): AsyncGenerator<CheckResult> {
  for (const snapshot of snapshots) {
    const refusal = await refusalOf(config, snapshot)
    if (refusal?.code === 'revision-unverified') yield failedCheck(refusal, snapshot.source)
  }
}

/** Queries upstream about one source, and reports the differences from the served revision. */
async function upstreamDiagnostics(source: SourceId, ask: AskWriter): Promise<CheckResult[]> {
  try {
    return [...diagnosticsOf(source, await ask(compareRequest, { source }))]
  } catch (error) {
    return [failedCheck(error, source)]
  }
}

function* diagnosticsOf(
  source: SourceId,
  { served, revision, relation, isGone }: z.output<typeof compareRequest.answer>,
): Generator<CheckResult> {
  if (served === undefined || (served.commit === revision.commit && served.tag === revision.tag)) return
  const moved = `${revision.ref} is at ${revisionText(revision)} upstream, and ${revisionText(served)} is served`
  const about = { source, commit: revision.commit, tag: revision.tag }
  const isSameRef = served.ref === revision.ref
  if (isSameRef && served.ref === FOLDER_REF) {
    const holds = `the folder holds ${revision.commit} now, and ${served.commit} is served`
    yield verdicts('upstream-moved', source).ok(holds)
    return
  }
  if (isGone === true)
    yield verdicts('commit-gone', source).fail(`upstream no longer has ${served.commit}; the store does`)
  if (isSameRef && served.ref.startsWith('refs/tags/'))
    yield verdicts('tag-moved', source).fail(`the tag was moved: ${moved}`, mendOf({ code: 'tag-moved' }, about))
  else if (isSameRef && relation === 'rewritten')
    yield verdicts('history-rewritten', source).fail(
      `the branch was rewritten: ${moved}`,
      mendOf({ code: 'history-rewritten' }, about),
    )
  else if (relation === 'unknown')
    yield verdicts('upstream-moved', source).unknown(`${moved}; whether it leads there is not known`)
  else yield verdicts('upstream-moved', source).ok(moved)
}
