import { countOf } from '../../../base/text/plural.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { Store } from '../../../sync/store/store.ts'
import { readLinks } from '../../agent-folders/links-file.ts'
import { printableLine } from '../../base/log-line.ts'
import { idsOf } from '../../config/config.ts'
import type { Config } from '../../config/config.ts'
import { agreeWithDaemon, sourcesOf } from '../../control/requests.ts'
import { lockRead, standingIn } from '../../trust/lock-rules.ts'
import { refusalOf } from '../../trust/serving-policy.ts'
import { MODE_OPTIONS, configFor, printJson, printLines, progressOf } from '../command.ts'
import type { Command, Context } from '../command.ts'
import { withWriter } from '../daemon-client.ts'
import type { AskWriter } from '../daemon-client.ts'
import { lockAgrees } from './lock-checks.ts'
import { proofsHold } from './proof-checks.ts'
import { secondRemarks } from './second-opinion-checks.ts'
import { decisionsAreWhole, filesAreWhole, keptAreWhole, servedIsWhole } from './store-checks.ts'
import { upstreamRemarks } from './upstream-checks.ts'
import type { Verifying, StoreCheck } from './verify-context.ts'
import { verifyingOf } from './verify-context.ts'
import { finding, note } from './verify-diagnostic.ts'
import type { VerifyDiagnostic } from './verify-diagnostic.ts'

const CHECKS: readonly StoreCheck[] = [
  decisionsAreWhole,
  linksAreWhole,
  lockAgrees,
  servedIsWhole,
  signaturesHold,
  filesAreWhole,
]

/** The checks that take long on a large state folder. */
const DEEP_CHECKS: readonly StoreCheck[] = [keptAreWhole, proofsHold]

export const verify: Command = {
  name: 'verify',
  summary: 'The store against the lock and the digests; exits with 3 where it found something',
  operands: { text: '[SOURCE…]', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  details: `
  With --deep isomorphic-git, which has no part in pulls over http(s), fetches each served commit once more and all
  files of served skills are compared with what it read.
`,
  options: {
    deep: {
      type: 'boolean',
      help: 'all that is kept, commit and tag objects, what upstream has now, and a second opinion on each file',
    },
    ...MODE_OPTIONS,
  },
  async run(context) {
    const config = await configFor(context)
    // `--locked` applies to the verdict only; the daemon need not have been started with it.
    const asking = { ...config, mode: { ...config.mode, locked: false } }
    await agreeWithDaemon(asking, context.signal)
    const named = new Set<string>(sourcesOf(context.operands, config))
    const deep = context.values['deep'] === true
    using progress = progressOf(context)
    const show = (text: string): void => progress.show(text)
    const store = await Store.openExisting(config.state)
    const verifying = await verifyingOf(config, store, { named, show }, context.signal)
    const own = await remarksOf(deep ? [...CHECKS, ...DEEP_CHECKS] : CHECKS, verifying)
    const asked = deep ? await upstream(context, asking, verifying) : NOTHING_ASKED
    const remarks = [...own, ...asked.remarks].filter(({ source }) => source === undefined || named.has(source))
    progress.show('')
    print(context, verifying, await locksOf(verifying), { remarks, deep, files: asked.files })
    return remarks.some(({ kind }) => kind === 'finding') ? 3 : 0
  },
}

async function remarksOf(checks: readonly StoreCheck[], verifying: Verifying): Promise<VerifyDiagnostic[]> {
  const remarks: VerifyDiagnostic[] = []
  for (const check of checks) for await (const remark of check(verifying)) remarks.push(remark)
  return remarks
}

/** The outcome of the upstream queries: the remarks, and the number of files with a second opinion. */
interface Asked {
  readonly remarks: readonly VerifyDiagnostic[]
  readonly files: number
}

const NOTHING_ASKED: Asked = { remarks: [], files: 0 }

async function upstream(context: Context, config: Config, verifying: Verifying): Promise<Asked> {
  if (config.mode.offline) return withoutAsking(note('upstream-not-asked', '--offline lets nobody be asked'))
  const ids = idsOf(config).filter((id) => verifying.named.has(id))
  try {
    return await withWriter(context, config, (ask) => askedAbout(ids, verifying, ask))
  } catch (error) {
    // Another check has already reported a state folder that no writer can open.
    if (error instanceof SyncError) return withoutAsking(finding('upstream-not-asked', error.message))
    throw error
  }
}

function withoutAsking(remark: VerifyDiagnostic): Asked {
  return { remarks: [remark], files: 0 }
}

async function askedAbout(ids: readonly SourceId[], { show, signal }: Verifying, ask: AskWriter): Promise<Asked> {
  const moved = await Promise.all(ids.map(async (id) => [id, await upstreamRemarks(id, ask)] as const))
  const remarks = moved.flatMap(([, found]) => found)
  let compared = 0
  for (const [id, found] of moved) {
    signal.throwIfAborted()
    // An unreachable host is reported once.
    if (found.some(({ code }) => !KNOWN_MOVES.has(code))) continue
    show(`isomorphic-git fetches ${id}`)
    const second = await secondRemarks(id, ask)
    remarks.push(...second.remarks)
    compared += second.files ?? 0
  }
  return { remarks, files: compared }
}

/** The codes of sources that could be queried. */
const KNOWN_MOVES: ReadonlySet<string> = new Set(['upstream-moved', 'commit-gone', 'tag-moved', 'history-rewritten'])

/** The state of the lock for each source, for programs. */
async function locksOf({ config, store }: Verifying): Promise<readonly object[]> {
  const lock = await lockRead(config)
  return config.sources.map(({ source }) => {
    return { source: source.id, ...standingIn(lock, config, source, store?.decisions.known.get(source.id)) }
  })
}

function print(
  context: Context,
  { served, looked }: Verifying,
  lock: readonly object[],
  {
    remarks,
    deep,
    files,
  }: { readonly remarks: readonly VerifyDiagnostic[]; readonly deep: boolean; readonly files: number },
): void {
  const of = (wanted: VerifyDiagnostic['kind']) =>
    remarks.filter(({ kind }) => kind === wanted).map(({ kind: _kind, ...rest }) => rest)
  const [findings, notes] = [of('finding'), of('note')]
  const checked = { generation: served?.number ?? 0, skills: looked.size, deep, ...(deep && { compared: files }) }
  if (context.json) {
    printJson(context, { ...checked, lock, findings, notes })
    return
  }
  const what =
    served === undefined
      ? 'nothing is served yet'
      : `generation ${served.number}, ${countOf(looked.size, 'skill')} looked at${deep ? second(files) : ''}`
  const count = findings.length === 0 ? 'nothing found' : `${findings.length} found`
  printLines(context, [
    ...findings.map((remark) => `! ${lineOf(remark)}`),
    ...notes.map((remark) => `- ${lineOf(remark)}`),
    `${what}: ${count}${notes.length === 0 ? '' : `, ${countOf(notes.length, 'note')}`}`,
  ])
}

function second(files: number): string {
  return `, ${countOf(files, 'file')} compared with isomorphic-git`
}

function lineOf({ code, source, skill, path, message }: Omit<VerifyDiagnostic, 'kind'>): string {
  const place = [source, skill, path].filter((part) => part !== undefined && part !== '').join(' ')
  return printableLine(`${code}${place === '' ? '' : ` ${place}`}: ${message}`)
}

/** Checks the record of what was put into agents' folders: without it, that content cannot be removed again. */
async function* linksAreWhole({ config }: Verifying): AsyncGenerator<VerifyDiagnostic> {
  try {
    await readLinks(config.state)
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    yield finding('links-damaged', error.message)
  }
}

/** Checks the required signatures of the served content with the keys that are trusted now. */
async function* signaturesHold({ config, snapshots }: Verifying): AsyncGenerator<VerifyDiagnostic> {
  for (const snapshot of snapshots) {
    const refusal = await refusalOf(config, snapshot)
    if (refusal?.code === 'revision-unverified')
      yield finding(refusal.code, refusal.message, { source: snapshot.source })
  }
}
