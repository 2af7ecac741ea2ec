import { join } from 'node:path'
import { systemClock } from '../../../../src/base/async/clock.ts'
import { createLog } from '../../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import { CosignedLogs } from '../../../../src/features/channel/witness/cosigned-logs.ts'
import { serveWitness } from '../../../../src/features/channel/witness/witness-server.ts'
import { Witness } from '../../../../src/features/channel/witness/witness.ts'
import type { HttpListener } from '../../../../src/serve/http/server/listener.ts'
import { openState } from '../../../../src/sync/store/files/state-folder.ts'
import { signerOf } from '../../../../src/sync/transparency-log/signed-note.ts'
import type { NoteSigner, NoteVerifier } from '../../../../src/sync/transparency-log/signed-note.ts'
import { freePort } from '../../../support/free-port.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

/** The key of the witness of this number. */
export function witnessNumber(number: number): NoteSigner {
  return signerOf(`witness.example.com/w${number}`, Buffer.alloc(32, 100 + number), 'cosignature')
}

/** A witness of this process, behind its address on loopback. */
export class WitnessPlace implements AsyncDisposable {
  readonly key: NoteSigner
  /** The lines of its log. */
  readonly lines: string[] = []
  readonly #folder: { readonly path: string } & AsyncDisposable
  readonly #logKeys: readonly NoteVerifier[]
  readonly #port: number
  #http: HttpListener | undefined

  private constructor(
    folder: { readonly path: string } & AsyncDisposable,
    port: number,
    key: NoteSigner,
    logKeys: NoteVerifier[],
  ) {
    this.#folder = folder
    this.#port = port
    this.key = key
    this.#logKeys = logKeys
  }

  static async open(logKeys: NoteVerifier[], number = 1): Promise<WitnessPlace> {
    const place = new WitnessPlace(await temporaryFolder(), await freePort(), witnessNumber(number), logKeys)
    await place.start()
    return place
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/`
  }

  /** The folder with what it has cosigned. */
  get state(): string {
    return join(this.#folder.path, 'state')
  }

  /** Begins anew, at the same address. */
  async start(): Promise<void> {
    const cosigned = new CosignedLogs(await openState(this.state), this.key)
    const witness = new Witness({ key: this.key, logKeys: this.#logKeys, cosigned, clock: systemClock })
    const stream = { write: (line: string) => this.lines.push(line) }
    const log = createLog({
      level: 'debug',
      stream,
      format: 'json',
      journal: false,
      clock: systemClock,
      redactor: new Redactor(),
    })
    this.#http = await serveWitness(witness, { host: '127.0.0.1', port: this.#port }, log)
  }

  async stop(): Promise<void> {
    await this.#http?.[Symbol.asyncDispose]()
    this.#http = undefined
  }

  async post(body: string | Uint8Array): Promise<Response> {
    return fetch(`${this.url}add-checkpoint`, { method: 'POST', body })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    await this.#folder[Symbol.asyncDispose]()
  }
}
