import { readFile } from 'node:fs/promises'
import { canonicalJson } from '../../base/canonical-json.ts'
import { Damaged, SyncError } from '../../sync/model/sync-error.ts'
import { expectEmpty, expectNoReplica, fillSharedState, readSharedState } from '../../sync/postgres/shared-state.ts'
import type { SharedLog, SharedState } from '../../sync/postgres/shared-state.ts'
import type { SharedStore } from '../../sync/postgres/shared-store.ts'
import { utf8 } from '../../sync/skill/frontmatter.ts'
import { DecisionFiles } from '../../sync/store/decision-files.ts'
import { NO_DECISIONS, parseDecisions, textForm } from '../../sync/store/decisions-text.ts'
import { writeWhole } from '../../sync/store/files/atomic.ts'
import { cannot, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { fileNamesIn, SHARED_FOLDERS, sharedPlaceOf } from '../../sync/store/files/state-folder.ts'
import type { StateFolder } from '../../sync/store/files/state-folder.ts'
import { HINT } from '../../sync/store/generation-store.ts'
import type { ObjectStore, StoreHead } from '../../sync/store/objects/object-store.ts'
import type { Store } from '../../sync/store/store.ts'
import { copyGeneration } from './copy-generation.ts'
import { copyRecords, recordLots } from './shared-head.ts'

/** The names of the logs of channels, and of their files in the folder `logs`, also of packs that are not configured. */
export interface LogFiles {
  /** `undefined` for a file that is no log. Throws `store-failed` for a log whose name is not known. */
  nameOf(file: string): string | undefined
  /** `undefined` for a log of another channel: it stays in the database. Throws `store-failed` without a channel. */
  fileOf(name: string): string | undefined
}

/** The parts of a copy between a state folder, whose lock the caller has, and the database of a hub that is stopped. */
export interface StateCopy {
  readonly store: Store
  readonly shared: SharedStore
  readonly logs: LogFiles
  readonly onProgress: (done: number, of: number) => void
  readonly signal: AbortSignal
}

/** The result of a copy. */
export interface CopiedState {
  /** The numbers of the generations, newest first. */
  readonly generations: readonly number[]
  /** Those that were damaged: the newest never is one of them. */
  readonly leftOut: readonly number[]
  /** The objects that were not there yet. */
  readonly objects: number
  readonly documents: readonly string[]
}

/**
 * Copies a state folder into a database that has no state. Each object is verified by its digest. The state is written
 * last, in one transaction; a copy that was ended before goes on at the objects that are missing.
 */
export async function copyToDatabase(copy: StateCopy): Promise<CopiedState> {
  const { store, shared } = copy
  const objects = await shared.open()
  await expectNoReplica(shared.database)
  await expectEmpty(shared.database)
  const documents = await documentsIn(store.folder)
  using _lease = objects.lease()
  const { heads, ...copied } = await copyGenerations(await store.objects.heads(), store.objects, objects, copy)
  const state = { heads, documents, logs: await logsIn(copy) }
  await fillSharedState(shared.database, state, recordLots(await store.objects.recordSequences(), store.objects))
  return { ...copied, generations: heads.map(({ sequence }) => sequence), documents: documents.map(({ name }) => name) }
}

/**
 * Copies the state of a database into a state folder, which has nothing that the database lacks, such as that of a process
 * of the hub. The files are written first and the generations last, as the processes of a hub do it. So a copy that was
 * ended leaves a folder that can be served, and another copy completes it.
 */
export async function copyFromDatabase(copy: StateCopy): Promise<CopiedState> {
  const { store, shared } = copy
  const objects = await shared.open()
  await expectNoReplica(shared.database)
  const state = await readSharedState(shared.database)
  await expectContained(store, state.heads)
  const logs = state.logs.map(({ name, lines }) => ({ file: copy.logs.fileOf(name), lines }))
  using _lease = store.objects.lease()
  const { heads, ...copied } = await copyGenerations(state.heads, objects, store.objects, copy)
  const documents = await writeDocuments(store.folder, state)
  for (const { file, lines } of logs) if (file !== undefined) await writeLog(store.folder, file, lines)
  await store.folder.expectRight()
  await store.objects.adopt(heads)
  await copyRecords(objects, store.objects)
  await writeWhole(`${store.folder.path}/${HINT}`, `${heads[0]?.sequence ?? 0}\n`)
  return { ...copied, generations: heads.map(({ sequence }) => sequence), documents }
}

interface CopiedHeads extends Pick<CopiedState, 'leftOut' | 'objects'> {
  readonly heads: readonly StoreHead[]
}

/** The newest is copied first, and what the older ones have besides after it. */
async function copyGenerations(
  all: readonly StoreHead[],
  from: ObjectStore,
  to: ObjectStore,
  { onProgress, signal }: StateCopy,
): Promise<CopiedHeads> {
  const heads: StoreHead[] = []
  const leftOut: number[] = []
  let objects = 0
  using _lease = from.lease()
  for (const [index, head] of all.entries()) {
    onProgress(index, all.length)
    try {
      objects += await copyGeneration(head, { from, to }, signal)
      heads.push(head)
    } catch (error) {
      if (index === 0 || !(error instanceof Damaged)) throw error
      leftOut.push(head.sequence)
    }
  }
  return { heads, leftOut, objects }
}

/** A folder with a generation of its own is that of another hub, or has published what the database lost. */
async function expectContained({ objects, folder }: Store, heads: readonly StoreHead[]): Promise<void> {
  const own = await objects.head()
  if (heads.length === 0)
    throw new SyncError('store-failed', `Cannot fill "${folder.path}": the database has no generation`, {
      fix: 'Name the database of the hub in `store.postgres`, or fill this one: skillsyncd store copy --to postgres',
    })
  const isThere = heads.some(({ sequence, generation }) => sequence === own?.sequence && generation === own.generation)
  if (own === undefined || isThere) return
  throw new SyncError(
    'store-failed',
    `Cannot fill "${folder.path}": it has generation ${own.sequence}, which the database lacks; name an empty folder with --state`,
  )
}

type Document = SharedState['documents'][number]

async function documentsIn(folder: StateFolder): Promise<readonly Document[]> {
  const { written } = await new DecisionFiles(folder).read()
  const decisions = canonicalJson(textForm(written))
  const tokens = await bytesOf(tokensIn(folder))
  const documents: Document[] = []
  if (decisions !== canonicalJson(textForm(NO_DECISIONS)))
    documents.push({ name: DECISIONS, bytes: Buffer.from(decisions) })
  if (tokens !== undefined) documents.push({ name: TOKENS, bytes: tokens })
  for (const kind of SHARED_FOLDERS)
    for (const file of await fileNamesIn(folder.at(kind))) {
      const place = sharedPlaceOf(`${kind}/${file}`)
      const bytes = place && (await bytesOf(folder.at(...place)))
      if (bytes !== undefined) documents.push({ name: `${kind}/${file}`, bytes })
    }
  return documents
}

/** Returns the names of the documents that were written. A name that means nothing here is left where it is. */
async function writeDocuments(folder: StateFolder, { documents }: SharedState): Promise<readonly string[]> {
  const decisions = new DecisionFiles(folder)
  const written: string[] = []
  for (const { name, bytes } of documents) {
    const place = sharedPlaceOf(name)
    await folder.expectRight()
    if (name === DECISIONS) await decisions.write(decisionsIn(bytes))
    else if (name === TOKENS) await writeWhole(tokensIn(folder), bytes)
    else if (place !== undefined) await writeWhole(folder.at(...place), bytes)
    else continue
    written.push(name)
  }
  return written
}

/** Damaged decisions are never taken for none: a skill that was disabled would be served again. */
function decisionsIn(bytes: Uint8Array): ReturnType<typeof parseDecisions> & object {
  const decisions = parseDecisions(utf8(bytes) ?? '')
  if (decisions !== undefined) return decisions
  throw new SyncError('store-failed', 'Cannot copy the decisions: those of the database are damaged')
}

const DECISIONS = 'decisions'
const TOKENS = 'tokens'

function tokensIn({ path }: StateFolder): string {
  return `${path}/tokens.json`
}

async function logsIn({ store, logs }: StateCopy): Promise<readonly SharedLog[]> {
  const read: SharedLog[] = []
  for (const file of await fileNamesIn(store.folder.at('logs'))) {
    const name = logs.nameOf(file)
    const lines = name === undefined ? [] : await linesIn(store.folder.at('logs', file))
    if (name !== undefined && lines.length > 0) read.push({ name, lines })
  }
  return read
}

/** Lines that were written whole: text after the last line break is none. */
async function linesIn(path: string): Promise<readonly string[]> {
  const bytes = await bytesOf(path)
  return bytes === undefined ? [] : (utf8(bytes) ?? '').split('\n').slice(0, -1)
}

/** A log only grows: one that differs from that of the database, or has more entries, stays as it is. */
async function writeLog(folder: StateFolder, file: string, lines: readonly string[]): Promise<void> {
  const path = folder.at('logs', file)
  const before = await linesIn(path)
  if (before.some((line, index) => line !== lines[index]))
    throw new SyncError('store-failed', `Cannot write "${path}": it is not the beginning of the log in the database`)
  await folder.expectRight()
  await writeWhole(path, lines.map((line) => `${line}\n`).join(''))
}

async function bytesOf(path: string): Promise<Uint8Array | undefined> {
  return unlessAbsent(readFile(path)).catch(cannot(`read "${path}"`))
}
