import type { Clock } from '../../base/async/clock.ts'
import { periodMs } from '../../daemon/pull/schedule/poll-times.ts'
import type { McpSource } from '../../sync/model/source.ts'
import type { KnownRead, UpstreamFiles } from '../../sync/store/skills/upstream-files.ts'
import type { UnreadFile } from './upstream/file-cache.ts'

export interface KnownReadsParts {
  readonly files: UpstreamFiles
  readonly clock: Clock
}

/** The records of one server's files as they were read, by key. Kept across restarts. */
export class FirstReadRecord {
  readonly #source: McpSource
  readonly #parts: KnownReadsParts
  #known: Map<string, KnownRead> | undefined
  /** The keys that the current check requested. */
  #asked = new Set<string>()
  #expiredMs = 0
  #isWritten = true

  constructor(source: McpSource, parts: KnownReadsParts) {
    this.#source = source
    this.#parts = parts
  }

  /** The record of a file, if the server still declares the same. */
  async of(key: string, { said, sha256 }: UnreadFile): Promise<KnownRead | undefined> {
    this.#asked.add(key)
    const known = (await this.#all()).get(key)
    if (known?.said !== said || (sha256 !== undefined && sha256 !== known.sha256)) return undefined
    return known
  }

  /** True if the record still holds: forever with a declared digest, else until the next scheduled check. */
  isFresh({ atMs }: Pick<KnownRead, 'atMs'>, { sha256 }: UnreadFile): boolean {
    if (sha256 !== undefined) return true
    const nowMs = this.nowMs()
    // Jitter shortens the periods of sources. A check after half a period is therefore the scheduled one.
    const isYoung = atMs <= nowMs && nowMs - atMs < periodMs(this.#source.schedule, new Date(nowMs)) / 2
    return isYoung && atMs > this.#expiredMs
  }

  async remember(key: string, read: KnownRead): Promise<void> {
    const known = await this.#all()
    known.set(key, read)
    this.#isWritten = false
  }

  async forget(key: string): Promise<void> {
    const known = await this.#all()
    if (known.delete(key)) this.#isWritten = false
  }

  /** Ends a check. Forgets the files that it did not request, except for those that may still be there. */
  async settle(mayBeThere: (key: string) => boolean): Promise<void> {
    const { files } = this.#parts
    const known = await this.#all()
    const left = new Map([...known].filter(([key]) => this.#asked.has(key) || mayBeThere(key)))
    const isPruned = left.size < known.size
    if (isPruned) this.#known = left
    this.#asked = new Set()
    if (isPruned || !this.#isWritten) await files.setReads(this.#source.id, await this.#all())
    this.#isWritten = true
  }

  /** Makes everything that was read until now be read again, because the server notified of a change. */
  expire(): void {
    this.#expiredMs = this.nowMs()
  }

  nowMs(): number {
    return this.#parts.clock.now().getTime()
  }

  async #all(): Promise<Map<string, KnownRead>> {
    this.#known ??= new Map(await this.#parts.files.reads(this.#source.id))
    return this.#known
  }
}
