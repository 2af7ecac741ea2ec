/** The source that failed and the code of its failure. */
export interface LoggedFailure extends LogFields {
  readonly source: string
  readonly code: string
  /** The folder that failed, if failures of one event are told apart by it. */
  readonly folder?: string
  /** The name of the publication that failed, if it is about one. */
  readonly publication?: string
}

/** The log of the process. An event is a few fixed words in kebab case; the fields carry the details. */
export interface Log {
  error(event: string, fields?: LogFields): void
  warn(event: string, fields?: LogFields): void
  info(event: string, fields?: LogFields): void
  debug(event: string, fields?: LogFields): void
  /**
   * Writes a failure, unless the last failure of that event, source, folder and publication had the same code and the same cause. The next
   * line about it, for another failure or the recovery, reports the number of omitted lines as `repeated`.
   */
  failure(level: 'error' | 'warn' | 'info', event: string, failure: LoggedFailure, cause?: string): void
  /** Writes that a failure is over, if there was one. */
  recovery(event: string, source: string, folder?: string, publication?: string): void
}

/**
 * The fields of a log line: texts, numbers, times, errors with their causes. The value is hidden if the name is that of
 * a secret.
 */
export interface LogFields {
  readonly [name: string]: LogValue
}
export type LogValue = string | number | boolean | null | undefined | Date | Error | readonly LogValue[]
