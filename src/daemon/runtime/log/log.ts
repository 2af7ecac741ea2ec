import type { Clock } from '../../../base/async/clock.ts'
import type { Log, LogFields, LoggedFailure } from '../../../base/log.ts'
import { logLineOf, type LogFormat } from './log-line.ts'
import type { Redactor } from './redactor.ts'

/** Ordered from the fewest lines to the most. */
const LEVELS = ['error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof LEVELS)[number]

export function isLogLevel(text: string): text is LogLevel {
  const levels: readonly string[] = LEVELS
  return levels.includes(text)
}

export interface LogOptions {
  /** The most verbose level that is written. */
  readonly level: LogLevel
  readonly stream: { write(text: string): unknown }
  readonly format: LogFormat
  /** True if the stream is the journal's, which reads a priority at the start of each line. */
  readonly journal: boolean
  readonly clock: Clock
  readonly redactor: Redactor
}

export function createLog(options: LogOptions): Log {
  return new LineLog(options)
}

class LineLog implements Log {
  readonly #options: LogOptions
  readonly #failures = new Map<string, Failing>()

  constructor(options: LogOptions) {
    this.#options = options
  }

  error(event: string, fields: LogFields = {}): void {
    this.#write('error', event, fields)
  }

  warn(event: string, fields: LogFields = {}): void {
    this.#write('warn', event, fields)
  }

  info(event: string, fields: LogFields = {}): void {
    this.#write('info', event, fields)
  }

  debug(event: string, fields: LogFields = {}): void {
    this.#write('debug', event, fields)
  }

  failure(level: 'error' | 'warn' | 'info', event: string, failure: LoggedFailure, cause?: string): void {
    const key = keyOf(event, failure.source, failure.folder, failure.publication)
    const last = this.#failures.get(key)
    if (last?.code === failure.code && last.cause === cause) {
      last.repeated += 1
      return
    }
    this.#failures.set(key, { code: failure.code, cause, repeated: 0 })
    this.#write(level, event, { ...failure, repeated: repeatedOf(last) })
  }

  recovery(event: string, source: string, folder?: string, publication?: string): void {
    const key = keyOf(event, source, folder, publication)
    const last = this.#failures.get(key)
    if (last === undefined) return
    this.#failures.delete(key)
    this.#write('info', 'recovered', {
      source,
      folder,
      publication,
      from: event,
      code: last.code,
      repeated: repeatedOf(last),
    })
  }

  #write(level: LogLevel, event: string, fields: LogFields): void {
    const { stream, format, journal, clock, redactor, level: least } = this.#options
    if (LEVELS.indexOf(level) > LEVELS.indexOf(least)) return
    const line = logLineOf({ time: clock.now(), level, event }, fields, format, redactor)
    stream.write(`${journal ? PRIORITIES[level] : ''}${line}\n`)
  }
}

function keyOf(event: string, source: string, folder = '', publication = ''): string {
  return `${event} ${source} ${folder} ${publication}`
}

/** The last failure of an event, source, folder and publication. */
interface Failing {
  readonly code: string
  readonly cause: string | undefined
  /** The number of equal failures after the one that was written. */
  repeated: number
}

function repeatedOf(last: Failing | undefined): number | undefined {
  return last === undefined || last.repeated === 0 ? undefined : last.repeated
}

/** The numbers of syslog. */
const PRIORITIES: Readonly<Record<LogLevel, string>> = { error: '<3>', warn: '<4>', info: '<6>', debug: '<7>' }
