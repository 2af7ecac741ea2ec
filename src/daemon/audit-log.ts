import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { AuditEvent } from '../serve/audit.ts'
import type { Serving } from '../serve/mcp/methods.ts'
import { SyncError } from '../sync/model/sync-error.ts'
import { isDiskError } from '../sync/store/disk-error.ts'
import { ignoreAbort } from './abort-error.ts'
import { AuditFiles } from './audit-files.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config.ts'
import type { Log } from './log.ts'

/** By which way clients come; of those over stdio, the process and its user say who it is. */
export type Via = { readonly via: 'http' } | { readonly via: 'stdio'; readonly user: string; readonly pid: number }

/** The record of who asked for what, in `audit/` of the state folder. Undefined where the configuration turns it off. */
export function auditLogOf(config: Config, via: Via['via'], log: Log, clock: Clock): AuditLog | undefined {
  if (config.audit === undefined) return undefined
  const files = new AuditFiles(join(config.state, 'audit'), config.audit, () => clock.now().getTime())
  return new AuditLog(files, via === 'http' ? { via } : { via, user: userName(), pid: process.pid }, log, clock)
}

/** What is served, with all that is asked for remembered. */
export function withAudit(serving: Serving, log: AuditLog | undefined): Serving {
  return log === undefined ? serving : { ...serving, audit: log.record }
}

/** Collects events and writes them, a moment later, together. What the disk refuses is counted, and disturbs nobody. */
export class AuditLog implements AsyncDisposable {
  readonly #files: Pick<AuditFiles, 'append'>
  readonly #via: Via
  readonly #log: Log
  readonly #clock: Clock
  readonly #stop = new AbortController()
  readonly #lines: string[] = []
  #characters = 0
  /** Events that there was no room for. */
  #lost = 0
  #writing: Promise<void> | undefined

  constructor(files: Pick<AuditFiles, 'append'>, via: Via, log: Log, clock: Clock) {
    this.#files = files
    this.#via = via
    this.#log = log
    this.#clock = clock
  }

  /** An `Audit`. */
  readonly record = (event: AuditEvent): void => {
    const line = this.#lineOf(event)
    if (this.#characters + line.length > MOST_CHARACTERS) this.#lost += 1
    else {
      this.#lines.push(line)
      this.#characters += line.length
    }
    // It rejects only in a way that is to end the process.
    this.#writing ??= this.#writeSoon()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#writing
    await this.#write()
  }

  async #writeSoon(): Promise<void> {
    const { signal } = this.#stop
    while (this.#lines.length > 0 && !signal.aborted) {
      await this.#clock.wait(FLUSH_MS, signal).catch(ignoreAbort)
      await this.#write()
    }
    this.#writing = undefined
  }

  /** What the disk refuses is tried again with what comes next. */
  async #write(): Promise<void> {
    const lines = this.#lines.splice(0)
    const before = lengthOf(lines)
    try {
      await this.#files.append(lines)
      if (lines.length === 0) await this.#tellOfLost()
      this.#log.recovery('audit-not-written', '')
    } catch (error) {
      this.#report(error)
    } finally {
      this.#lines.unshift(...lines)
      this.#characters -= before - lengthOf(lines)
    }
  }

  /** Says in the record itself that it has a gap. */
  async #tellOfLost(): Promise<void> {
    const lost = this.#lost
    if (lost === 0) return
    const lines = [this.#lineOf({ asked: 'audit/lost', lost })]
    await this.#files.append(lines)
    if (lines.length === 0) this.#lost -= lost
  }

  #lineOf(what: object): string {
    return `${JSON.stringify({ at: this.#clock.now().toISOString(), ...this.#via, ...what })}\n`
  }

  #report(error: unknown): void {
    if (!(error instanceof SyncError) || error.code !== 'store-failed') throw error
    this.#log.failure('error', 'audit-not-written', { source: '', code: error.code, message: error.message })
  }
}

/** A kill loses no more than this. */
const FLUSH_MS = 500

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, { length }) => sum + length, 0)
}

/** What waits for the disk; some ten thousand events. */
const MOST_CHARACTERS = 4 * 2 ** 20

function userName(): string {
  try {
    return userInfo().username
  } catch (error) {
    if (!isDiskError(error)) throw error
    // A user without an entry in the system's list has its number.
    return String(process.getuid?.() ?? '')
  }
}
