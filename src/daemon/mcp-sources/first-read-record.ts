import type { McpSource } from '../../sync/model/source.ts'
import type { KnownRead, UpstreamFiles } from '../../sync/store/skills/upstream-files.ts'
import type { UnreadFile } from '../../sync/upstream/mcp/file-cache.ts'
import type { Clock } from '../../base/clock.ts'
import { periodMs } from '../schedule/poller.ts'

export interface KnownReadsParts {
  readonly files: UpstreamFiles
  readonly clock: Clock
}

/** What one server's files were when they were read, by what they are called; kept over restarts. */
export class KnownReads {
  readonly #source: McpSource
  readonly #parts: KnownReadsParts
  #known: Map<string, KnownRead> | undefined
  /** What the look under way asked for. */
  #asked = new Set<string>()
  #expiredMs = 0
  #isWritten = true

  constructor(source: McpSource, parts: KnownReadsParts) {
    this.#source = source
    this.#parts = parts
  }

  /** What is known of it, if the server says the same as then. */
  async of(key: string, { said, sha256 }: UnreadFile): Promise<KnownRead | undefined> {
    this.#asked.add(key)
    const known = (await this.#all()).get(key)
    if (known?.said !== said || (sha256 !== undefined && sha256 !== known.sha256)) return undefined
    return known
  }

  /** Whether it is taken for what it was: for ever where a digest holds, else until the next look on the schedule. */
  isFresh({ atMs }: Pick<KnownRead, 'atMs'>, { sha256 }: UnreadFile): boolean {
    if (sha256 !== undefined) return true
    const nowMs = this.nowMs()
    // What sets sources apart comes off their periods: after half of one, the next look is that of the schedule.
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

  /** A look is over. What it did not ask for is forgotten. */
  async settle(): Promise<void> {
    const { files } = this.#parts
    const known = await this.#all()
    const isPruned = [...known.keys()].some((key) => !this.#asked.has(key))
    if (isPruned) this.#known = new Map([...known].filter(([key]) => this.#asked.has(key)))
    this.#asked = new Set()
    if (isPruned || !this.#isWritten) await files.setReads(this.#source.id, await this.#all())
    this.#isWritten = true
  }

  /** The server says that something changed: what was read until now is read again. */
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
