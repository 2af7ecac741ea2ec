import { systemClock } from '../../base/async/clock.ts'
import { countOf } from '../../base/text/plural.ts'
import { sharedStoreOf } from '../../daemon/access/open-shared.ts'
import { configFor, printJson, printLines, progressOf } from '../../daemon/cli/command.ts'
import type { Command, Context } from '../../daemon/cli/command.ts'
import { logFileOf, originOf } from '../../daemon/config/channel-names.ts'
import type { Config } from '../../daemon/config/config.ts'
import { processText, WriteRight } from '../../daemon/control/write-lock.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { Store } from '../../sync/store/store.ts'
import type { ChannelHubConfig } from '../channel/channel-config.ts'
import type { CopiedState, StateCopy } from './state-copy.ts'

export const storeCopy: Command = {
  name: 'store copy',
  details: `
  For the way from one process to several, and back. It copies the generations that are kept, the decisions, the hashes of
  tokens, the records of sources and the logs of channels. Each object is verified by its digest. Stop all processes of
  the hub first. A copy that was ended goes on when it is started again.

  --to postgres copies the state folder into the database of store.postgres, which has to be empty. --from postgres copies
  the database into the state folder, which may be that of a process of the hub, and no folder with other content.
`,
  examples: [
    'skillsyncd store copy --to postgres',
    'skillsyncd store copy --from postgres --state /var/lib/skillsyncd',
  ],
  options: {
    to: { type: 'string', value: 'STORE', help: 'postgres: copy into the database', offers: ['postgres'] },
    from: { type: 'string', value: 'STORE', help: 'postgres: copy out of the database', offers: ['postgres'] },
  },
  async run(context: Context<ChannelHubConfig>) {
    const { environment, redactor, signal } = context
    const isInto = isIntoDatabase(context)
    const config = await configFor(context)
    await using shared = await sharedStoreOf(config, environment, redactor)
    if (shared === undefined) throw new UsageError('store copy needs a configuration with store.postgres')
    const { copyFromDatabase, copyToDatabase } = await import('./state-copy.ts')
    if (isInto) (await existingStore(config))[Symbol.dispose]()
    const copied = await whileWriting(config, signal, async (right) => {
      using store = isInto ? await existingStore(config) : await Store.open(config.state)
      store.folder.guardWith(async () => right.expect())
      using progress = progressOf(context)
      const onProgress: StateCopy['onProgress'] = (done, of) =>
        progress.count(done, of, `copying generation ${done + 1} of ${of}`)
      const copy = { store, shared, logs: logsOf(config), onProgress, signal }
      return isInto ? await copyToDatabase(copy) : await copyFromDatabase(copy)
    })
    print(context, copied)
    return 0
  },
}

function isIntoDatabase({ values: { to, from } }: Context): boolean {
  if ((to === undefined) === (from === undefined))
    throw new UsageError('store copy needs --to postgres or --from postgres')
  if (to !== 'postgres' && from !== 'postgres') throw new UsageError('store copy knows one store: postgres')
  return to !== undefined
}

async function existingStore({ state }: Config): Promise<Store> {
  const store = await Store.openExisting(state)
  if (store !== undefined) return store
  const fix = 'Run skillsyncd sync first, or name the state folder of the daemon with --state'
  throw new SyncError('no-state-folder', `Cannot copy "${state}": nothing is stored there yet`, { fix })
}

/** Runs the work with the lock of the state folder. */
async function whileWriting<Done>(
  { state }: Config,
  signal: AbortSignal,
  work: (right: WriteRight) => Promise<Done>,
): Promise<Done> {
  const right = new WriteRight(state, { pid: process.pid, socket: '', command: 'store copy' }, { clock: systemClock })
  const other = await right.take(signal)
  if (other !== undefined)
    throw new OperatorError(
      'other-state',
      `Cannot copy "${state}": ${processText(other.heldBy)} writes it; stop it first`,
    )
  try {
    if (right.refusal !== undefined) throw right.refusal
    right.grant()
    return await work(right)
  } finally {
    await right.release()
  }
}

/** A pack or a ring that is not configured now can come back, and must not begin another log of the same name. */
function logsOf({ channel }: ChannelHubConfig): StateCopy['logs'] {
  return {
    nameOf(file) {
      const [, part] = LOG_FILE.exec(file) ?? []
      if (file !== logFileOf(part)) return undefined
      if (channel === undefined) throw nameless(`"${file}"`)
      return originOf(channel, part)
    },
    fileOf(name) {
      if (channel === undefined) throw nameless(`"${name}"`)
      const part = name === channel.name ? undefined : name.slice(channel.name.length + 1)
      const file = logFileOf(part)
      // The database could hold any name: none may lead elsewhere.
      return name === originOf(channel, part) && LOG_FILE.test(file) ? file : undefined
    },
  }
}

/** The log of everything, of a pack or of a ring. No id of them has other characters. */
const LOG_FILE = /^channel(?:\.((?:ring\.)?[\w-]+))?\.jsonl$/

function nameless(log: string): SyncError {
  const message = `Cannot copy the log ${log}: the configuration has no channel, whose name tells the logs of channels apart; add it for the time of the copy`
  return new SyncError('store-failed', message)
}

function print(context: Context, { generations, leftOut, objects, documents }: CopiedState): void {
  const generation = generations[0] ?? null
  if (context.json) return printJson(context, { generation, generations, leftOut, objects, documents })
  const left = leftOut.map((number) => `Generation ${number} is damaged and was left out`)
  const copied = `Copied generation ${generation ?? 0}: ${countOf(generations.length, 'generation')}, ${countOf(objects, 'new object')}, ${countOf(documents.length, 'document')}`
  printLines(context, [copied, ...left])
}
