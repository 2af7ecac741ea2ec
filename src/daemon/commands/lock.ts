import { z } from 'zod'
import { entryOf } from '../../sync/model/lock.ts'
import type { Lock, LockEntry } from '../../sync/model/lock.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { changeLock, readLock } from '../../sync/store/lock-file.ts'
import { Store } from '../../sync/store/store.ts'
import { systemClock } from '../clock.ts'
import type { Config, ConfiguredSource } from '../config.ts'
import { ControlError } from '../control-client.ts'
import { lockFileOf } from '../lock-rules.ts'
import { printable } from '../log-line.ts'
import { sourcesOf } from '../requests.ts'
import { SYNC_END } from '../sync-end.ts'
import type { SyncEnd } from '../sync-end.ts'
import { withWriter } from './asking.ts'
import type { AskWriter } from './asking.ts'
import { configOf, printJson, printLines } from './command.ts'
import type { Command, Context } from './command.ts'

export const lock: Command = {
  name: 'lock',
  summary: 'Write what is missing into the lock; what is there stays',
  operands: { text: '[SOURCE…]', most: Number.POSITIVE_INFINITY },
  details: `
      --prune          take out sources that are not configured any more

  The lock is written beside the configuration, for your repository. skillsyncd update moves what is in it.
`,
  options: { prune: { type: 'boolean' } },
  async run(context) {
    const config = await configOf(context)
    const file = lockFileOf(config)
    const before = await readLock(file)
    const missing = sourcesOf(context.operands, config).filter((id) => before?.sources.has(id) !== true)
    const ends = missing.length === 0 ? [] : await entriesFor(missing, context, config)
    const added = ends.flatMap(({ id, entry }) => (entry === undefined ? [] : [[id, entry] as const]))
    const isWritten = await changeLock(
      file,
      (now) => merged(now, added, config, context),
      () => systemClock.now().getTime(),
    )
    print(context, file, isWritten, ends)
    return ends.some(({ entry }) => entry === undefined) ? 1 : 0
  },
}

interface End {
  readonly id: SourceId
  readonly entry: LockEntry | undefined
  readonly why?: string
}

/** What is served is locked, once it was looked at: what waits for a decision is not agreed on by locking. */
async function entriesFor(ids: readonly SourceId[], context: Context, config: Config): Promise<End[]> {
  return withWriter(context, config, async (ask) => {
    const store = await Store.openExisting(config.state)
    if (store === undefined)
      throw new ControlError('other-state', `The daemon writes another state folder than "${config.state}"`)
    return Promise.all(ids.map(async (id) => entryFor(configured(id, config), ask, store)))
  })
}

async function entryFor({ source }: ConfiguredSource, ask: AskWriter, store: Store): Promise<End> {
  const { id } = source
  try {
    const snapshot = source.update === 'locked' ? await candidate(id, ask, store) : await served(id, ask, store)
    if (typeof snapshot === 'string') return { id, entry: undefined, why: snapshot }
    return { id, entry: entryOf(source, snapshot) }
  } catch (error) {
    if (!(error instanceof ControlError)) throw error
    return { id, entry: undefined, why: error.message }
  }
}

async function served(id: SourceId, ask: AskWriter, store: Store): Promise<Snapshot | string> {
  let end: SyncEnd | undefined
  await ask('sync', { sources: [id] }, (event) => (end = SYNC_END.parse(event)))
  const held = (await store.generations.current())?.sources.find(({ source }) => source === id)
  if (held !== undefined && end?.outcome !== 'failed') return store.snapshots.read(held.snapshot)
  return end?.message ?? 'nothing of it is served'
}

/** Nothing of a source that follows the lock is served before it is locked. */
async function candidate(id: SourceId, ask: AskWriter, store: Store): Promise<Snapshot> {
  const { snapshot } = HELD.parse(await ask('candidate', { source: id }))
  return store.snapshots.read(snapshot)
}

const HELD = z.object({ snapshot: z.string() })

/** Somebody may have written meanwhile: what is there now stays. */
function merged(
  now: Lock,
  added: readonly (readonly [SourceId, LockEntry])[],
  config: Config,
  { values }: Context,
): Lock {
  const sources = new Map([...added, ...now.sources])
  const known = new Set<SourceId>(config.sources.map(({ source }) => source.id))
  if (values['prune'] === true) for (const id of sources.keys()) if (!known.has(id)) sources.delete(id)
  return { ...now, sources }
}

function print(context: Context, file: string, isWritten: boolean, ends: readonly End[]): void {
  if (context.json) {
    const sources = ends.map(({ id, entry, why }) => ({
      source: id,
      ...(entry === undefined
        ? { error: why }
        : { commit: entry.revision.commit, ref: entry.revision.ref, skills: entry.skills.size }),
    }))
    printJson(context, { lock: file, written: isWritten, sources })
    return
  }
  const lines = ends.map(({ id, entry, why }) =>
    entry === undefined
      ? `${id}: not locked: ${printable(why ?? '')}`
      : `${id}: locked ${printable(entry.revision.ref)} at ${entry.revision.commit}, ${entry.skills.size} skills`,
  )
  printLines(context, [...lines, isWritten ? `wrote ${file}` : `${file} is as it was`])
}

function configured(id: SourceId, config: Config): ConfiguredSource {
  const found = config.sources.find(({ source }) => source.id === id)
  if (found === undefined) throw new TypeError(`No source is called "${id}"`)
  return found
}
