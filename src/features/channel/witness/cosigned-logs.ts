import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { writeWhole } from '../../../sync/store/files/atomic.ts'
import { cannot, unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import type { StateFolder } from '../../../sync/store/files/state-folder.ts'
import { readCheckpoint } from '../../../sync/transparency-log/checkpoint.ts'
import type { Checkpoint } from '../../../sync/transparency-log/checkpoint.ts'
import { signatureLines, NoteRefusedError, openNote } from '../../../sync/transparency-log/signed-note.ts'
import type { NoteVerifier } from '../../../sync/transparency-log/signed-note.ts'

/** The newest checkpoint that a witness has cosigned of each log, one file for each. */
export class CosignedLogs {
  readonly #state: StateFolder
  readonly #key: NoteVerifier

  /** `key`: that of the witness. */
  constructor(state: StateFolder, key: NoteVerifier) {
    this.#state = state
    this.#key = key
  }

  /**
   * `undefined` if no checkpoint of the log was cosigned. Throws `store-failed` if the file is damaged: a log must not
   * be taken for a new one because of that.
   */
  async read(origin: string): Promise<(Checkpoint & { readonly note: string }) | undefined> {
    const file = this.#fileOf(originHash(origin))
    const note = await this.#noteIn(file)
    if (note === undefined) return undefined
    try {
      const checkpoint = readCheckpoint(note, origin)
      // One of an earlier key of this witness is taken as it is.
      if (signatureLines(note, [this.#key]).size > 0) openNote(note, [this.#key])
      return { ...checkpoint, note }
    } catch (error) {
      if (!(error instanceof NoteRefusedError)) throw error
      throw new SyncError(
        'store-failed',
        `Cannot read "${file}": it is damaged; give the witness a new key and an empty folder`,
      )
    }
  }

  /** The note of the log with this hash; `undefined` if there is none. */
  async noteAt(hash: string): Promise<string | undefined> {
    return this.#noteIn(this.#fileOf(hash))
  }

  /** Replaces the checkpoint of its log. It is on the disk when this resolves. */
  async write(origin: string, note: string): Promise<void> {
    await this.#state.expectRight()
    await writeWhole(this.#fileOf(originHash(origin)), note)
  }

  async #noteIn(file: string): Promise<string | undefined> {
    return unlessAbsent(readFile(file, 'utf8')).catch(cannot(`read "${file}"`))
  }

  #fileOf(hash: string): string {
    return this.#state.at('logs', `${hash}.cosigned`)
  }
}

/** The name of a log in the addresses of a witness. */
export function originHash(origin: string): string {
  return createHash('sha256').update(origin).digest('hex')
}
