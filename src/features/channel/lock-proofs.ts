import { readdir, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { AskWriter } from '../../daemon/cli/daemon-client.ts'
import type { Config } from '../../daemon/config/config.ts'
import {
  hasLockProof,
  lockProofFile,
  lockProofProblem,
  readLockProof,
  sourceOfProof,
} from '../../daemon/pull/trust/lock-proof.ts'
import type { ProofEnd } from '../../daemon/pull/trust/lock-proof.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import type { Lock } from '../../sync/model/decisions/lock.ts'
import type { ChannelSource } from '../../sync/model/source.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { writeWhole } from '../../sync/store/files/atomic.ts'
import { cannot, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { readLock } from '../../sync/store/lock-file.ts'
import { Store } from '../../sync/store/store.ts'
import { logProofRequest } from './log-requests.ts'

/**
 * Brings the proofs beside the lock to what it has: one for each locked source that follows a channel, and none for any
 * other source. A proof that is right is kept.
 */
export async function writeLockProofs(config: Config, file: string, ask: AskWriter): Promise<readonly ProofEnd[]> {
  const lock = await readLock(file)
  const ends: ProofEnd[] = []
  const channels = config.sources.flatMap(({ source }) => (hasLockProof(source) ? [source] : []))
  for (const source of channels) {
    const entry = lock?.sources.get(source.id)
    if (entry !== undefined) ends.push(await writeProof(config, ask, { file, source, head: entry.revision.commit }))
  }
  return [...ends, ...(await removeOthers(file, lock, channels))]
}

interface Wanted {
  readonly file: string
  readonly source: ChannelSource
  readonly head: string
}

async function writeProof(config: Config, ask: AskWriter, { file, source, head }: Wanted): Promise<ProofEnd> {
  const end = { source: source.id, file: lockProofFile(file, source.id) }
  const before = await readLockProof(file, source.id)
  if (before !== undefined && lockProofProblem(before, source, head) === undefined) return { ...end, state: 'kept' }
  const found = await newProof(config, ask, source, head)
  const why = found.text === undefined ? found.why : lockProofProblem(found.text, source, head)
  if (found.text !== undefined && why === undefined) {
    // It belongs into the repository beside the lock, and has no secret.
    await writeWhole(end.file, found.text, 0o644)
    return { ...end, state: 'written' }
  }
  if (before !== undefined) await remove(end.file)
  return { ...end, state: 'absent', why: why ?? '' }
}

type FoundProof =
  | { readonly text: string; readonly why?: undefined }
  | { readonly text?: undefined; readonly why: string }

/** The proof of the newest entry, or else of the entry that is served. */
async function newProof({ state }: Config, ask: AskWriter, { id }: ChannelSource, head: string): Promise<FoundProof> {
  try {
    using store = await Store.openExisting(state)
    const record = await store?.followed.read(id)
    if (record?.proof !== undefined && record.entry.head === head) return { text: record.proof }
    return { text: await ask(logProofRequest, { source: id }) }
  } catch (error) {
    if (error instanceof SyncError || error instanceof OperatorError) return { why: error.message }
    throw error
  }
}

async function removeOthers(
  file: string,
  lock: Lock | undefined,
  channels: readonly ChannelSource[],
): Promise<readonly ProofEnd[]> {
  const folder = dirname(file)
  const names = (await unlessAbsent(readdir(folder)).catch(cannot(`list "${folder}"`))) ?? []
  const ends: ProofEnd[] = []
  for (const name of names) {
    const source = sourceOfProof(basename(file), name)
    const channel = channels.find(({ id }) => id === source)
    if (source === undefined || (channel !== undefined && lock?.sources.has(channel.id) === true)) continue
    await remove(join(folder, name))
    ends.push({ source, file: join(folder, name), state: 'removed' })
  }
  return ends
}

async function remove(path: string): Promise<void> {
  await unlessAbsent(unlink(path)).catch(cannot(`remove "${path}"`))
}
