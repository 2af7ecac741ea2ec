import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { environmentOf } from '../../src/daemon/config/environment.ts'
import { parseConfig } from '../../src/daemon/configuration.ts'
import { Daemon } from '../../src/daemon/daemon.ts'
import type { DaemonContext } from '../../src/daemon/runtime/context.ts'
import { createLog } from '../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../src/daemon/runtime/log/redactor.ts'
import type { SourceStatus } from '../../src/daemon/status/status.ts'
import { isSourceId, type SourceId } from '../../src/sync/model/source-id.ts'
import { Store } from '../../src/sync/store/store.ts'
import { FakeClock } from '../support/fake-clock.ts'
import type { GitRequest } from '../support/git/git-server.ts'
import { temporaryFolder } from '../support/temporary.ts'

/** Tells when somebody begins to wait: the poller does whenever a poll has ended. */
class ToldClock extends FakeClock {
  #waited = Promise.withResolvers<void>()

  get waited(): Promise<void> {
    return this.#waited.promise
  }

  override async wait(ms: number, signal: AbortSignal): Promise<void> {
    this.#waited.resolve()
    this.#waited = Promise.withResolvers()
    return super.wait(ms, signal)
  }
}

/** A daemon over real git servers, on a clock that is moved by hand. */
export class Hub implements AsyncDisposable {
  readonly clock: ToldClock
  readonly daemon: Daemon
  readonly state: string
  readonly #folder: AsyncDisposable
  readonly #lines: readonly string[]

  private constructor(daemon: Daemon, clock: ToldClock, state: string, folder: AsyncDisposable, lines: string[]) {
    this.daemon = daemon
    this.clock = clock
    this.state = state
    this.#folder = folder
    this.#lines = lines
  }

  /**
   * Each source with its lines of YAML, after its id, how they are reached if not as ever, and lines of the top level.
   * Nothing is pulled yet.
   */
  static async start(
    sources: Readonly<Record<string, readonly string[]>>,
    open?: DaemonContext['open'],
    rest: readonly string[] = [],
  ): Promise<Hub> {
    const folder = await temporaryFolder()
    const clock = new ToldClock()
    const state = join(folder.path, 'state')
    const environment = environmentOf({}, state)
    const entries = Object.entries(sources).flatMap(([id, lines]) => [`- id: ${id}`].concat(lines.map(indented)))
    const config = parseConfig([...rest, 'sources:', ...entries].join('\n'), 'skillsyncd.yaml', environment)
    if (Array.isArray(config)) throw new Error(JSON.stringify(config))
    const lines: string[] = []
    const redactor = new Redactor()
    const stream = { write: (text: string) => lines.push(text) }
    const log = createLog({ level: 'info', stream, format: 'json', journal: false, clock, redactor })
    const store = await Store.open(state)
    const daemon = await Daemon.start(config, { store, clock, log, environment, redactor, ...(open && { open }) })
    return new Hub(daemon, clock, state, folder, lines)
  }

  /** The events that were logged, in order. */
  get events(): readonly unknown[] {
    return this.#lines.map((line) => JSON.parse(line).event)
  }

  source(id: string): SourceStatus {
    return this.daemon.parts.status.status().sources.find((source) => source.id === id)!
  }

  /** Lets time pass. Each poll that falls due has its end before time goes on, but for those of sources that hang. */
  async pass(ms: number, hanging: ReadonlySet<string> = new Set()): Promise<void> {
    const endMs = this.clock.now().getTime() + ms
    for (;;) {
      await this.idle(hanging)
      const nextMs = Math.min(...this.#dueMs(hanging), Number.POSITIVE_INFINITY)
      if (nextMs > endMs) break
      await this.clock.advance(nextMs - this.clock.now().getTime())
    }
    await this.clock.advance(endMs - this.clock.now().getTime())
    await this.idle(hanging)
  }

  /** Resolves when no source is being polled. What is polled is due as long as it lasts. */
  async idle(hanging: ReadonlySet<string> = new Set()): Promise<void> {
    const isBusy = (): boolean => this.#dueMs(hanging).some((ms) => ms <= this.clock.now().getTime())
    while (isBusy()) await this.clock.waited
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.daemon[Symbol.asyncDispose]()
    await this.#folder[Symbol.asyncDispose]()
  }

  #dueMs(hanging: ReadonlySet<string>): number[] {
    return this.daemon.parts.status.status().sources.flatMap(({ id, nextPoll }) => {
      return nextPoll === undefined || hanging.has(id) ? [] : [Date.parse(nextPoll)]
    })
  }
}

function indented(line: string): string {
  return `  ${line}`
}

/** Every file of a folder, with its size. */
export async function filesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true })
  return Promise.all(names.toSorted().map(async (name) => `${name} ${(await stat(join(folder, name))).size}`))
}

export function idOf(text: string): SourceId {
  if (!isSourceId(text)) throw new TypeError(`"${text}" is no source id`)
  return text
}

export function skill(name: string, body = 'first'): string {
  return `---\nname: ${name}\ndescription: ${name} of the tests\n---\n${body}\n`
}

export function isListing({ body }: Pick<GitRequest, 'body'>): boolean {
  return /^.{4}command=ls-refs/.test(body.toString('latin1', 0, 64))
}

export function isFetch({ body }: GitRequest): boolean {
  return /^.{4}command=fetch/.test(body.toString('latin1', 0, 64))
}
