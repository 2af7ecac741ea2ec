import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import { indentedJson, isTime } from '../../base/canonical-json.ts'
import { parseJson } from '../../base/json-value.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { writeWhole } from '../../sync/store/files/atomic.ts'

/**
 * The last use of each token, in `token-uses.json` of the state folder. Operators find by it the tokens that can be
 * revoked; access does not depend on it, so a file that cannot be read or written is as an empty one.
 */
export class TokenUses {
  readonly #file: string
  readonly #expectRight: () => Promise<void>
  readonly #queue = new SerialQueue()
  /** The uses that were recorded, by the SHA-256 of the token, in milliseconds since 1970. */
  readonly #recorded = new Map<string, number>()

  /** `expectRight` throws if writes are not allowed. */
  constructor(statePath: string, expectRight: () => Promise<void>) {
    this.#file = join(statePath, 'token-uses.json')
    this.#expectRight = expectRight
  }

  /** Records a use, unless one of the last hour is recorded: a file that is written with each request wears the disk. */
  record(sha256: string, now: Date): void {
    const nowMs = now.getTime()
    if (Math.abs(nowMs - (this.#recorded.get(sha256) ?? -Infinity)) < RECORDED_MS) return
    this.#recorded.set(sha256, nowMs)
    // A disk that takes nothing has the next use recorded.
    void this.#queue
      .next(async () => this.#write(sha256, now))
      .catch((error: unknown) => {
        if (!(error instanceof SyncError)) throw error
        if (this.#recorded.get(sha256) === nowMs) this.#recorded.delete(sha256)
      })
  }

  /** Returns the times by the SHA-256 of the token. */
  async read(): Promise<ReadonlyMap<string, string>> {
    const text = await readFile(this.#file, 'utf8').catch(() => '')
    const { data } = FILE.safeParse(parseJson(text))
    return new Map(Object.entries(data?.uses ?? {}))
  }

  async #write(sha256: string, now: Date): Promise<void> {
    const uses = [...(await this.read()).entries(), [sha256, now.toISOString()] as const]
    const latest = uses.toSorted(([, a], [, b]) => Date.parse(b) - Date.parse(a)).slice(0, MOST_USES)
    await this.#expectRight()
    await writeWhole(this.#file, indentedJson({ uses: Object.fromEntries(latest.toReversed()) }))
  }
}

const RECORDED_MS = 3_600_000

/** Twice the number of tokens that there may be: those of revoked tokens go in the end. */
const MOST_USES = 2_000

const FILE = z.object({ uses: z.record(z.string(), z.string().refine(isTime)) })
