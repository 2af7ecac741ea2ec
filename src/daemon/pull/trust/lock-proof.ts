import { codeOf } from '../../../base/error-code.ts'
import type { ChannelSource, Source } from '../../../sync/model/source.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { entryProofOf, loggedEntry } from '../../../sync/store/channel-entry.ts'
import { parseVerifier } from '../../../sync/transparency-log/signed-note.ts'
import { openProof, parseProof, ProofRefusedError } from '../../../sync/transparency-log/tlog-proof.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { readBounded } from '../../runtime/plain-file.ts'

/** The file beside the lock with the proof that the channel of a source has the locked entry. */
export function lockProofFile(lock: string, source: string): string {
  return `${lock}.${source}${PROOF_END}`
}

/** The source of a proof beside this lock, by the name of its file; `undefined` for any other file. */
export function sourceOfProof(lockName: string, name: string): string | undefined {
  const isProof = name.startsWith(`${lockName}.`) && name.endsWith(PROOF_END)
  return isProof ? name.slice(lockName.length + 1, -PROOF_END.length) : undefined
}

const PROOF_END = '.tlog-proof'

/** Returns the text of the proof; `undefined` if there is none. */
export async function readLockProof(lock: string, source: string): Promise<string | undefined> {
  const file = lockProofFile(lock, source)
  try {
    const bytes = await readBounded(file, MOST_PROOF_BYTES)
    // A text that is too long is refused by its reader.
    return bytes === undefined ? '' : Buffer.from(bytes).toString('utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw new SyncError('lock-mismatch', `Cannot read the proof "${file}": ${codeOf(error) ?? 'it cannot be opened'}`, {
      cause: error,
    })
  }
}

/** More than any proof of one entry has. */
const MOST_PROOF_BYTES = 2 ** 18

/** The reason why the text does not prove that the channel has this head; `undefined` if it does. */
export function lockProofProblem(
  text: string,
  { keys }: Pick<ChannelSource, 'keys'>,
  head: string,
): string | undefined {
  try {
    const verifiers = keys.flatMap((key) => parseVerifier(key) ?? [])
    const proof = entryProofOf(parseProof(text))
    openProof(proof, proof.extra, verifiers[0]?.name ?? '', verifiers)
    const entry = loggedEntry(proof)
    return entry.head === head ? undefined : `it is of ${entry.head}, and ${head} is locked`
  } catch (error) {
    if (error instanceof ProofRefusedError) return error.message
    throw error
  }
}

/** True for a source whose lock entry can have a proof: git needs none, and one source of a hub is below an entry. */
export function hasLockProof(source: Source): source is ChannelSource {
  return source.kind === 'channel' && source.isNamesake !== true
}

/** Throws `lock-mismatch` if there is a proof beside the lock and it is not of the locked entry. */
export async function expectProof(lock: string, source: Source, head: string): Promise<void> {
  if (!hasLockProof(source)) return
  const text = await readLockProof(lock, source.id)
  const problem = text === undefined ? undefined : lockProofProblem(text, source, head)
  if (problem === undefined) return
  const file = lockProofFile(lock, source.id)
  const tries = 'skillsyncd lock writes it again'
  throw new SyncError(
    'lock-mismatch',
    `Cannot follow the lock "${lock}": the proof "${file}" is refused: ${problem}; ${tries}`,
  )
}

/** The end of one proof beside the lock that was brought to what the lock has. */
export interface ProofEnd {
  readonly source: string
  readonly file: string
  /** `absent`: there is no proof of the locked entry, for the reason in `why`. */
  readonly state: 'written' | 'kept' | 'removed' | 'absent'
  readonly why?: string
}

/** The lines about proofs that changed, or that are not there. */
export function linesOfProofs(ends: readonly ProofEnd[]): readonly string[] {
  return ends.flatMap(({ source, file, state, why }) => {
    if (state === 'kept') return []
    if (state === 'absent') return [printableLine(`${source}: no proof of the locked entry: ${why}`)]
    return [printableLine(`${source}: ${state === 'written' ? 'wrote' : 'removed'} ${file}`)]
  })
}
