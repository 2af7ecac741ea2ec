import { join } from 'node:path'
import type { Clock } from '../../../base/async/clock.ts'
import type { Log } from '../../../base/log.ts'
import type { AuditEvent } from '../../../serve/audit.ts'
import type { Serving } from '../../../serve/mcp/core/methods.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import type { Config } from '../../config/config.ts'
import { userName } from '../../config/process-environment.ts'
import type { AuditConfig } from '../../config/sections/machine.ts'
import { Reaction } from '../../runtime/reaction.ts'
import { AuditFiles } from './audit-files.ts'
import type { AuditName } from './audit-files.ts'
import { AuditRate } from './audit-rate.ts'
import type { CountedEvent } from './audit-rate.ts'

/** The transport of the clients. Clients over stdio are identified by the process and its user. */
export type Via = { readonly via: 'http' } | { readonly via: 'stdio'; readonly user: string; readonly pid: number }

/**
 * Opens the record of the clients' requests, in `audit/` of the state folder. `undefined` if the configuration turns it
 * off.
 */
export function auditLogOf(
  config: Pick<Config, 'audit' | 'state'>,
  via: Via['via'],
  log: Log,
  clock: Clock,
): AuditLog | undefined {
  if (config.audit === undefined) return undefined
  const files = auditFolderOf(join(config.state, 'audit'), config.audit, clock)
  return new AuditLog(files, via === 'http' ? { via } : { via, user: userName(), pid: process.pid }, log, clock)
}

/** A serving that records all requests. */
export function withAudit(serving: Serving, log: AuditLog | undefined): Serving {
  return log === undefined ? serving : { ...serving, audit: log.record }
}

/** A serving that also logs each request, at debug level. */
export function withRequestLog(serving: Serving, log: Log): Serving {
  const { audit } = serving
  return {
    ...serving,
    audit: (event) => {
      const { asked, of, client, generation, why } = event
      log.debug(event.allowed ? 'request-answered' : 'request-refused', { asked, of, client, generation, why })
      audit?.(event)
    },
  }
}

/**
 * Collects events and writes them in batches after a short delay. Refusals of the disk are counted and do not disturb
 * clients.
 */
export class AuditLog implements AsyncDisposable {
  readonly #via: Via
  readonly #log: Log
  readonly #clock: Clock
  readonly #writing: Reaction
  readonly #spools: Readonly<Record<AuditName, AuditSpool>>
  readonly #rates = { decisions: new AuditRate(), strangers: new AuditRate() }

  constructor(files: AuditFolder, via: Via, log: Log, clock: Clock) {
    this.#via = via
    this.#log = log
    this.#clock = clock
    this.#writing = new Reaction({
      clock,
      run: async () => {
        this.#addCounted((rate) => rate.takeDue(clock.monotonicMs()))
        await this.#write()
      },
      againMs: () => (this.#isWaiting ? FLUSH_MS : undefined),
    })
    const spool = (name: AuditName): AuditSpool =>
      new AuditSpool(files[name], (lost) => this.#lineOf({ asked: 'audit/lost', lost }))
    this.#spools = { decisions: spool('decisions'), strangers: spool('strangers'), audit: spool('audit') }
  }

  /** An `Audit`. */
  readonly record = (event: AuditEvent): void => {
    const name = this.#nameOf(event)
    if (name === 'audit' || this.#rates[name].admits(event, this.#clock.monotonicMs()))
      this.#spools[name].add(this.#lineOf(event))
    this.#writing.runWithin(FLUSH_MS)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing[Symbol.asyncDispose]()
    this.#addCounted((rate) => rate.takeAll())
    await this.#write()
  }

  get #isWaiting(): boolean {
    const { decisions, strangers } = this.#rates
    return decisions.isCounting || strangers.isCounting || Object.values(this.#spools).some((spool) => !spool.isEmpty)
  }

  /** The file of an event. Clients over stdio are users of this machine, and therefore known. */
  #nameOf({ asked, allowed, principal }: AuditEvent): AuditName {
    if (allowed && !LOGINS.has(asked)) return 'audit'
    return principal === undefined && this.#via.via === 'http' ? 'strangers' : 'decisions'
  }

  #addCounted(take: (rate: AuditRate) => readonly CountedEvent[]): void {
    for (const name of ['decisions', 'strangers'] as const)
      for (const event of take(this.#rates[name])) this.#spools[name].add(this.#lineOf(event))
  }

  /** Lines that the disk refuses are tried again with the next batch. */
  async #write(): Promise<void> {
    const failures: SyncError[] = []
    for (const spool of Object.values(this.#spools))
      await spool.write().catch((error: unknown) => failures.push(asRefusal(error)))
    const [failure] = failures
    if (failure === undefined) return this.#log.recovery('audit-not-written', '')
    const { code, message } = failure
    this.#log.failure('error', 'audit-not-written', { source: '', code, message })
  }

  #lineOf(what: object): string {
    return `${JSON.stringify({ at: this.#clock.now().toISOString(), ...this.#via, ...what })}\n`
  }
}

/** Separate files for each kind, so that lines of one kind do not displace those of another. */
export type AuditFolder = Readonly<Record<AuditName, Pick<AuditFiles, 'append'>>>

function auditFolderOf(folder: string, { bytes, files }: AuditConfig, clock: Clock): AuditFolder {
  const share = (name: AuditName, eighths: number): AuditFiles => {
    const limits = { bytes: Math.max(1, Math.floor((bytes * eighths) / 8)), files }
    return new AuditFiles(folder, limits, () => clock.now().getTime(), name)
  }
  return { audit: share('audit', 6), decisions: share('decisions', 1), strangers: share('strangers', 1) }
}

/** Allowed requests that are recorded with the refusals. */
const LOGINS: ReadonlySet<string> = new Set(['POST /login', 'POST /logout'])

/** A kill loses no more than the events of this time, and the counts of one minute. */
const FLUSH_MS = 500

/** The disk's refusal; rethrows any other error. */
function asRefusal(error: unknown): SyncError {
  if (error instanceof SyncError && error.code === 'store-failed') return error
  throw error
}

/** Lines that wait for the disk. Lines beyond the limit are counted, and the record itself states the gap. */
class AuditSpool {
  readonly #files: Pick<AuditFiles, 'append'>
  readonly #lineOfLost: (lost: number) => string
  readonly #lines: string[] = []
  #characters = 0
  #lost = 0

  /** `lineOfLost` makes the line for events that were dropped. */
  constructor(files: Pick<AuditFiles, 'append'>, lineOfLost: (lost: number) => string) {
    this.#files = files
    this.#lineOfLost = lineOfLost
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0
  }

  add(line: string): void {
    if (this.#characters + line.length > MOST_CHARACTERS) {
      this.#lost += 1
      return
    }
    this.#lines.push(line)
    this.#characters += line.length
  }

  /** Writes all lines. Lines that the disk refuses stay for the next call. */
  async write(): Promise<void> {
    if (this.isEmpty && this.#lost === 0) return
    const lines = this.#lines.splice(0)
    const before = lengthOf(lines)
    try {
      await this.#files.append(lines)
      if (lines.length === 0) await this.#writeLost()
    } finally {
      this.#lines.unshift(...lines)
      this.#characters -= before - lengthOf(lines)
    }
  }

  async #writeLost(): Promise<void> {
    const lost = this.#lost
    if (lost === 0) return
    const lines = [this.#lineOfLost(lost)]
    await this.#files.append(lines)
    if (lines.length === 0) this.#lost -= lost
  }
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, { length }) => sum + length, 0)
}

/** Some ten thousand events. */
const MOST_CHARACTERS = 4 * 2 ** 20
