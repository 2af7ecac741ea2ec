/** One fault in a configuration, with its place. Never contains a value of the file. */
export interface ConfigProblem extends Position {
  readonly file: string
  /** `sources[0].auth.token`; empty for the whole file. */
  readonly key: string
  /** The fault and, after a semicolon, the fix. */
  readonly message: string
}

/** Counted from 1; columns in UTF-16 units, as in editors. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** An invalid configuration. The command that meets it ends with exit status 2. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  /** In the order of the file; empty if the file could not be read. */
  readonly problems: readonly ConfigProblem[]

  constructor(message: string, options: { problems?: readonly ConfigProblem[]; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.problems = options.problems ?? []
  }
}

/**
 * Combines the problems into one error, one line each: `file:line:column: key: message`, a form that editors can jump
 * to.
 */
export function configErrorOf(problems: readonly ConfigProblem[]): ConfigError {
  return new ConfigError(problems.map(lineOf).join('\n'), { problems })
}

function lineOf(problem: ConfigProblem): string {
  const place = `${problem.file}:${problem.line}:${problem.column}`
  return [place, problem.key, problem.message].filter((part) => part !== '').join(': ')
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
