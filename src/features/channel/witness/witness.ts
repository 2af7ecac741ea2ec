import type { Clock } from '../../../base/async/clock.ts'
import { SerialQueue } from '../../../base/async/serial-queue.ts'
import { openCheckpoint } from '../../../sync/transparency-log/checkpoint.ts'
import type { OpenedCheckpoint } from '../../../sync/transparency-log/checkpoint.ts'
import { EMPTY_ROOT, isConsistent, isSameHash } from '../../../sync/transparency-log/merkle-tree.ts'
import { cosignatureLine, signatureLines, NoteRefusedError } from '../../../sync/transparency-log/signed-note.ts'
import type { NoteSigner, NoteVerifier } from '../../../sync/transparency-log/signed-note.ts'
import { parseAddCheckpoint, SIZE_TYPE } from './add-checkpoint.ts'
import type { AddCheckpoint } from './add-checkpoint.ts'
import { originHash } from './cosigned-logs.ts'
import type { CosignedLogs } from './cosigned-logs.ts'

/** The parts of a witness. */
export interface WitnessParts {
  readonly key: NoteSigner
  /** The public keys of the logs. A log may have several, all with its name. */
  readonly logKeys: readonly NoteVerifier[]
  readonly cosigned: CosignedLogs
  readonly clock: Pick<Clock, 'now'>
}

/** The answer of a witness to one request. */
export interface WitnessAnswer {
  readonly status: 200 | 400 | 403 | 404 | 409 | 422
  readonly body: string
  /** The media type of the body; `undefined` for plain text. */
  readonly type?: string
  /** The log and the size of the checkpoint, if one of the keys of the log has signed it. */
  readonly checkpoint?: { readonly origin: string; readonly size: number }
}

/**
 * A witness of logs (c2sp.org/tlog-witness): it cosigns a checkpoint only if that continues the one of the same log that
 * it has cosigned last. So two checkpoints that it has cosigned are never of a fork.
 */
export class Witness {
  readonly #parts: WitnessParts
  readonly #logs = new Map<string, { readonly keys: NoteVerifier[]; readonly queue: SerialQueue }>()
  readonly #hashes: ReadonlySet<string>

  constructor(parts: WitnessParts) {
    this.#parts = parts
    for (const key of parts.logKeys) {
      const log = this.#logs.get(key.name) ?? { keys: [], queue: new SerialQueue() }
      log.keys.push(key)
      this.#logs.set(key.name, log)
    }
    this.#hashes = new Set([...this.#logs.keys()].map(originHash))
  }

  /** Answers one request. It is answered only once the cosigned checkpoint is on the disk. */
  async add(body: string): Promise<WitnessAnswer> {
    const request = parseAddCheckpoint(body)
    if (request === undefined) return refused(400, 'The request has the wrong form')
    const [origin = ''] = request.note.split('\n', 1)
    const log = this.#logs.get(origin)
    if (log === undefined) return refused(404, 'No log of this name is known here')
    let checkpoint: OpenedCheckpoint
    try {
      checkpoint = openCheckpoint(request.note, origin, log.keys)
    } catch (error) {
      if (error instanceof NoteRefusedError) return refused(403, `The checkpoint is refused: ${error.message}`)
      throw error
    }
    // The size is compared and replaced in one turn: a request in between could roll the log back.
    return log.queue.next(async () => this.#addInTurn(request, checkpoint))
  }

  /** The newest checkpoint that was cosigned of the log whose name has this hash; `undefined` if there is none. */
  async checkpointAt(hash: string): Promise<string | undefined> {
    return this.#hashes.has(hash) ? this.#parts.cosigned.noteAt(hash) : undefined
  }

  async #addInTurn(request: AddCheckpoint, checkpoint: OpenedCheckpoint): Promise<WitnessAnswer> {
    const { oldSize, proof, note } = request
    const { origin, size, root } = checkpoint
    const of = { checkpoint: { origin, size } }
    if (oldSize > size) return { ...refused(400, `The old size is above the ${size} entries of the checkpoint`), ...of }
    const { key, cosigned, clock } = this.#parts
    const last = (await cosigned.read(origin)) ?? { size: 0, root: EMPTY_ROOT }
    if (oldSize !== last.size) return { status: 409, body: `${last.size}\n`, type: SIZE_TYPE, ...of }
    if (size === 0 && !isSameHash(root, EMPTY_ROOT))
      return { ...refused(422, 'A log without entries has the root of the empty tree'), ...of }
    if (!isConsistent(last, checkpoint, proof))
      return { ...refused(422, `The checkpoint does not continue the ${last.size} entries that were cosigned`), ...of }
    const line = cosignatureLine(checkpoint.text, key, clock.now())
    // Only what was verified: other lines may be of anyone.
    const lines = [...signatureLines(note, checkpoint.signers).values(), line]
    await cosigned.write(origin, `${checkpoint.text}\n${lines.join('')}`)
    return { status: 200, body: line, ...of }
  }
}

function refused(status: WitnessAnswer['status'], why: string): WitnessAnswer {
  return { status, body: `${why}\n` }
}
