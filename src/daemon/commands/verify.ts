import { countOf } from '../../serve/count-text.ts'
import { Store } from '../../sync/store/store.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { idsOf } from '../config.ts'
import type { Config } from '../config.ts'
import { lockRead, standingIn } from '../lock-rules.ts'
import { printable } from '../log-line.ts'
import { agreeWithDaemon } from '../requests.ts'
import { linksAreWhole } from '../verify/link-checks.ts'
import { lockAgrees } from '../verify/lock-checks.ts'
import { proofsHold } from '../verify/proof-checks.ts'
import { finding, note } from '../verify/remark.ts'
import type { Remark } from '../verify/remark.ts'
import { signaturesHold } from '../verify/signature-checks.ts'
import { decisionsAreWhole, filesAreWhole, keptAreWhole, servedIsWhole } from '../verify/store-checks.ts'
import { upstreamRemarks } from '../verify/upstream-checks.ts'
import { verifyingOf } from '../verify/verifying.ts'
import type { Check, Verifying } from '../verify/verifying.ts'
import { withWriter } from './asking.ts'
import { MODE_OPTIONS, configOf, printJson, printLines, progressOf } from './command.ts'
import type { Command, Context } from './command.ts'

const CHECKS: readonly Check[] = [
  decisionsAreWhole,
  linksAreWhole,
  lockAgrees,
  servedIsWhole,
  signaturesHold,
  filesAreWhole,
]

/** Those that take long on a large state folder. */
const DEEP_CHECKS: readonly Check[] = [keptAreWhole, proofsHold]

export const verify: Command = {
  name: 'verify',
  summary: 'The store against the lock and the digests; exits with 3 where it found something',
  options: {
    deep: { type: 'boolean', help: 'all that is kept, the commit and tag objects, and what upstream has now' },
    ...MODE_OPTIONS,
  },
  async run(context) {
    const config = await configOf(context)
    // What is there is judged as if --locked were said; nobody else has to have been started with it.
    const asking = { ...config, mode: { ...config.mode, locked: false } }
    await agreeWithDaemon(asking, context.signal)
    const deep = context.values['deep'] === true
    using progress = progressOf(context)
    const store = await Store.openExisting(config.state)
    const verifying = await verifyingOf(config, store, (text) => progress.show(text), context.signal)
    const remarks = await remarksOf(deep ? [...CHECKS, ...DEEP_CHECKS] : CHECKS, verifying)
    if (deep) remarks.push(...(await upstream(context, asking)))
    progress.show('')
    print(context, verifying, await locksOf(verifying), { remarks, deep })
    return remarks.some(({ kind }) => kind === 'finding') ? 3 : 0
  },
}

async function remarksOf(checks: readonly Check[], verifying: Verifying): Promise<Remark[]> {
  const remarks: Remark[] = []
  for (const check of checks) for await (const remark of check(verifying)) remarks.push(remark)
  return remarks
}

async function upstream(context: Context, config: Config): Promise<Remark[]> {
  if (config.mode.offline) return [note('upstream-not-asked', '--offline lets nobody be asked')]
  try {
    return await withWriter(context, config, async (ask) =>
      (await Promise.all(idsOf(config).map((id) => upstreamRemarks(id, ask)))).flat(),
    )
  } catch (error) {
    // A state that no writer opens was found wanting already.
    if (error instanceof SyncError) return [finding('upstream-not-asked', error.message)]
    throw error
  }
}

/** How each source stands to the lock, for programs. */
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
  { remarks, deep }: { readonly remarks: readonly Remark[]; readonly deep: boolean },
): void {
  const of = (wanted: Remark['kind']) =>
    remarks.filter(({ kind }) => kind === wanted).map(({ kind: _kind, ...rest }) => rest)
  const [findings, notes] = [of('finding'), of('note')]
  const checked = { generation: served?.number ?? 0, skills: looked.size, deep }
  if (context.json) {
    printJson(context, { ...checked, lock, findings, notes })
    return
  }
  const what =
    served === undefined
      ? 'nothing is served yet'
      : `generation ${served.number}, ${countOf(looked.size, 'skill')} looked at`
  const count = findings.length === 0 ? 'nothing found' : `${findings.length} found`
  printLines(context, [
    ...findings.map((remark) => `! ${lineOf(remark)}`),
    ...notes.map((remark) => `- ${lineOf(remark)}`),
    `${what}: ${count}${notes.length === 0 ? '' : `, ${countOf(notes.length, 'note')}`}`,
  ])
}

function lineOf({ code, source, skill, path, message }: Omit<Remark, 'kind'>): string {
  const place = [source, skill, path].filter((part) => part !== undefined && part !== '').join(' ')
  return printable(`${code}${place === '' ? '' : ` ${place}`}: ${message}`)
}
