import { readFile, unlink } from 'node:fs/promises'
import type { Log } from '../../../base/log.ts'
import { LEADER, SyncError } from '../../../sync/model/sync-error.ts'
import type { SharedStore } from '../../../sync/postgres/shared-store.ts'
import { writeWhole } from '../../../sync/store/files/atomic.ts'
import { cannot, unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import type { StateFolder } from '../../../sync/store/files/state-folder.ts'
import { openCheckpoint, readCheckpoint } from '../../../sync/transparency-log/checkpoint.ts'
import type { Checkpoint, OpenedCheckpoint } from '../../../sync/transparency-log/checkpoint.ts'
import { isSameHash } from '../../../sync/transparency-log/merkle-tree.ts'
import { signatureLines, NoteRefusedError, openNote } from '../../../sync/transparency-log/signed-note.ts'
import type { NoteSigner, NoteVerifier } from '../../../sync/transparency-log/signed-note.ts'
import type { FetchLimits } from '../../../sync/upstream/upstream.ts'
import type { ChannelLog } from '../content/channel-log.ts'
import { gatherCosignatures } from '../witness/gather-cosignatures.ts'
import type { CosigningEnd } from '../witness/gather-cosignatures.ts'
import type { RemoteWitness } from '../witness/remote-witness.ts'

/** The witnesses of a log, and the number of them that is enough; 0 without witnesses. */
export interface Quorum {
  readonly witnesses: readonly RemoteWitness[]
  readonly enough: number
  readonly limits: Pick<FetchLimits, 'connectMs' | 'idleMs' | 'totalMs'>
  /** The reason why no witness may be asked now; `undefined` if they may. */
  readonly whyNot: () => string | undefined
}

/** The parts of a `CosignedHead`. */
export interface CosignedHeadParts {
  readonly folder: StateFolder
  /** The name of the file in `logs` of the state folder. */
  readonly file: string
  /** The name of the log. */
  readonly origin: string
  readonly quorum: Quorum
  readonly log: Log
  /** The store that this process shares with others of the hub, if there are any. */
  readonly shared: SharedStore | undefined
}

/** A checkpoint with the cosignatures of witnesses. */
export interface CosignedCheckpoint extends Checkpoint {
  readonly note: string
}

/** The checkpoint in a file, if it is one of this log; `undefined` if there is none. */
export async function readCosigned(
  file: string,
  origin: string,
  log: ChannelLog,
): Promise<CosignedCheckpoint | undefined> {
  const note = await readNote(file)
  if (note === undefined) return undefined
  try {
    const checkpoint = readCheckpoint(note, origin)
    const { size, root } = checkpoint
    return size <= log.size && isSameHash(await log.rootAt(size), root) ? { ...checkpoint, note } : undefined
  } catch (error) {
    if (error instanceof NoteRefusedError) return undefined
    throw error
  }
}

async function readNote(file: string): Promise<string | undefined> {
  return unlessAbsent(readFile(file, 'utf8')).catch(cannot(`read "${file}"`))
}

/** The head of a log that enough witnesses have cosigned, on the disk beside the log. */
export class CosignedHead {
  readonly #parts: CosignedHeadParts
  /** The size that each witness has cosigned last, as far as it is known. */
  readonly #sizes = new Map<NoteVerifier, number>()
  /** The last one in the database. */
  #recorded: string | undefined

  constructor(parts: CosignedHeadParts) {
    this.#parts = parts
  }

  /** True if the log has witnesses. */
  get isNeeded(): boolean {
    return this.#parts.quorum.enough > 0
  }

  /** The name of the document in which the leader of the hub records it: that of its file in the state folder. */
  get document(): string {
    return `logs/${this.#parts.file}`
  }

  /** Writes what the leader of the hub has recorded to the file. */
  async take(): Promise<void> {
    const { shared } = this.#parts
    if (shared === undefined || !this.isNeeded) return
    const bytes = (await shared.documents.read(this.document))?.bytes
    this.#recorded = bytes && Buffer.from(bytes).toString('utf8')
    if (this.#recorded !== undefined && this.#recorded !== (await this.#read())) await this.#writeFile(this.#recorded)
  }

  /**
   * Returns the head that was cosigned last, if it is one of this log: after a restart it is served until there is a newer
   * one. `undefined` if there is none, and without witnesses.
   */
  async last(log: ChannelLog): Promise<CosignedCheckpoint | undefined> {
    return this.isNeeded ? readCosigned(this.#file, this.#parts.origin, log) : undefined
  }

  /**
   * Returns the signed head of the log with the cosignatures of its witnesses. Throws `log-unwitnessed` if there are too
   * few. Without witnesses, returns it as it is.
   */
  async cosigned(log: ChannelLog, keys: readonly NoteSigner[], signal: AbortSignal): Promise<string> {
    const { origin } = this.#parts
    const signed = await log.checkpoint(origin, keys)
    if (!this.isNeeded) {
      await this.#forget()
      return signed
    }
    const checkpoint = openCheckpoint(signed, origin, keys)
    const known = await this.#knownLines(checkpoint)
    const lines = await this.#gathered(log, { ...checkpoint, note: signed }, known, signal)
    const note = signed + lines.join('')
    await this.#write(note)
    return note
  }

  /** The cosignatures of this very checkpoint that are here already, such as after a restart. */
  async #knownLines({ origin, text, size }: OpenedCheckpoint): Promise<ReadonlyMap<NoteVerifier, string>> {
    const verifiers = this.#parts.quorum.witnesses.map(({ key }) => key)
    const note = await this.#read()
    if (note === undefined) return new Map()
    try {
      const before = readCheckpoint(note, origin)
      const lines = signatureLines(note, verifiers)
      for (const key of lines.keys()) if (!this.#sizes.has(key)) this.#sizes.set(key, before.size)
      if (before.size !== size || !note.startsWith(`${text}\n`)) return new Map()
      return validLines(`${text}\n`, lines)
    } catch (error) {
      if (error instanceof NoteRefusedError) return new Map()
      throw error
    }
  }

  async #gathered(
    log: ChannelLog,
    checkpoint: OpenedCheckpoint & { readonly note: string },
    known: ReadonlyMap<NoteVerifier, string>,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { quorum } = this.#parts
    const { witnesses, enough, limits } = quorum
    if (known.size >= enough) return [...known.values()]
    const why = quorum.whyNot()
    if (why !== undefined) throw new SyncError('log-unwitnessed', `Cannot publish: no witness is asked, ${why}`)
    const asked = witnesses
      .filter(({ key }) => !known.has(key))
      .map((witness) => ({ witness, oldSize: this.#sizes.get(witness.key) ?? 0 }))
    const ends = await gatherCosignatures(
      asked,
      { ...checkpoint, proofFrom: async (oldSize) => log.proof(oldSize, checkpoint.size) },
      { enough: enough - known.size, graceMs: GRACE_MS },
      { limits: { ...limits, totalMs: Math.min(limits.totalMs, MOST_MS) }, signal },
    )
    for (const end of ends) this.#report(end, checkpoint.size)
    const lines = [...known.values(), ...ends.flatMap((end) => ('line' in end ? [end.line] : []))]
    if (lines.length >= enough) return lines
    const reasons = ends.flatMap((end) => ('error' in end ? [end.error.message] : []))
    throw new SyncError(
      'log-unwitnessed',
      `Cannot publish entry ${checkpoint.size}: ${lines.length} of ${witnesses.length} witnesses have cosigned it, and \`quorum\` is ${enough}. ${reasons.join('. ')}`,
    )
  }

  /** A witness that fails while the others are enough shows in the log alone. */
  #report(end: CosigningEnd, size: number): void {
    const { log, origin } = this.#parts
    const { url, key } = end.witness
    const publication = `${origin} ${url}`
    if ('line' in end) {
      this.#sizes.set(key, size)
      return log.recovery(EVENT, '', undefined, publication)
    }
    const { code, message } = end.error
    log.failure('warn', EVENT, { source: '', publication, code, message }, message)
  }

  get #file(): string {
    return this.#parts.folder.at('logs', this.#parts.file)
  }

  async #read(): Promise<string | undefined> {
    return readNote(this.#file)
  }

  /** It would be served once there are witnesses again, and is older than what followers have by then. */
  async #forget(): Promise<void> {
    if ((await this.#read()) === undefined) return
    await this.#record(undefined)
    await this.#parts.folder.expectRight()
    await unlessAbsent(unlink(this.#file)).catch(cannot(`remove "${this.#file}"`))
  }

  async #write(note: string): Promise<void> {
    if (note !== this.#recorded) await this.#record(note)
    if (note !== (await this.#read())) await this.#writeFile(note)
  }

  async #writeFile(note: string): Promise<void> {
    await this.#parts.folder.expectRight()
    await writeWhole(this.#file, note)
  }

  /** The other processes of the hub serve what the leader has recorded. */
  async #record(note: string | undefined): Promise<void> {
    const { shared } = this.#parts
    if (shared === undefined) return
    const { epoch } = shared.leadership
    const bytes = note === undefined ? undefined : Buffer.from(note)
    const change = { name: this.document, bytes }
    if (epoch === undefined || (await shared.documents.write([change], epoch)) === undefined)
      throw new SyncError('store-failed', 'Cannot publish: this process does not lead the hub any more', {
        fix: LEADER,
      })
    this.#recorded = note
  }
}

/** The lines that their keys have signed: the file may have been changed. */
function validLines(start: string, lines: ReadonlyMap<NoteVerifier, string>): ReadonlyMap<NoteVerifier, string> {
  return new Map([...lines].filter(([key, line]) => isNoteOf(`${start}${line}`, key)))
}

function isNoteOf(note: string, key: NoteVerifier): boolean {
  try {
    return openNote(note, [key]).signers.length > 0
  } catch (error) {
    if (error instanceof NoteRefusedError) return false
    throw error
  }
}

const EVENT = 'witness-failed'

/** The time that a slow witness has after there are enough. */
const GRACE_MS = 2_000

/** One request to a witness takes no longer: the publication waits for it. */
const MOST_MS = 30_000
