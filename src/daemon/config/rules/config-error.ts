import type { Diagnostic } from '../../../base/diagnostic.ts'

/** One fault in a configuration, with its place. Never contains a value of the file. */
export interface ConfigDiagnostic extends Diagnostic<ConfigCode>, Position {
  readonly file: string
  /** `sources[0].auth.token`; empty for the whole file. */
  readonly key: string
}

/** `syntax`: the file is not YAML. `value`: a value is not allowed at its key. `conflict`: keys contradict each other. */
export type ConfigCode = 'syntax' | 'value' | 'conflict'

/** Counted from 1; columns in UTF-16 units, as in editors. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** An invalid configuration. The command that meets it ends with exit status 2. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  /** In the order of the file; empty if the file could not be read. */
  readonly diagnostics: readonly ConfigDiagnostic[]

  constructor(message: string, options: { diagnostics?: readonly ConfigDiagnostic[]; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.diagnostics = options.diagnostics ?? []
  }
}

/**
 * Combines the diagnostics into one error, one line each: `file:line:column: key: message`, a form that editors can jump
 * to.
 */
export function configErrorOf(diagnostics: readonly ConfigDiagnostic[]): ConfigError {
  return new ConfigError(diagnostics.map(lineOf).join('\n'), { diagnostics })
}

function lineOf(diagnostic: ConfigDiagnostic): string {
  const place = `${diagnostic.file}:${diagnostic.line}:${diagnostic.column}`
  return [place, diagnostic.key, diagnostic.message].filter((part) => part !== '').join(': ')
}

/** The path from the top of the file to a key or a list entry. */
export type KeyPath = readonly (string | number)[]

/** A problem with its key; it has a place only if that differs from the key's own. */
export interface Fault {
  readonly path: KeyPath
  readonly message: string
  /** `key` means the place of the key, not of its value. */
  readonly at?: 'key' | Position
}

/** `sources[0].auth.token` */
export function keyText(path: KeyPath): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '')
}

/** True if a text has the form of a well-known kind of token or key. */
export function looksLikeSecret(text: string): boolean {
  return TOKENS.some((token) => token.test(text))
}

const TOKENS = [
  /\bgh[opsur]_\w{20}/,
  /\bgithub_pat_\w{20}/,
  /\bgl(?:pat|dt|rt|ptt)-[\w-]{16}/,
  /\bxox[abeoprs]-[\w-]{10}/,
  /\bsk-[\w-]{20}/,
  /\bsks_[\w-]{20}/,
  /\bAKIA[A-Z0-9]{16}\b/,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
]
