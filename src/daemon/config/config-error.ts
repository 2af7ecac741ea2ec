/** One thing that is wrong with a configuration, and where. Never holds a value of the file. */
export interface ConfigProblem extends Position {
  readonly file: string
  /** `sources[0].auth.token`; empty for the whole file. */
  readonly key: string
  /** What is wrong and, after a semicolon, the mend. */
  readonly message: string
}

/** Counted from 1; columns in UTF-16 units, as editors count them. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** A configuration that cannot be used. The command that meets it ends with exit status 2. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  /** In the order of the file; empty where it was not even read. */
  readonly problems: readonly ConfigProblem[]

  constructor(message: string, options: { problems?: readonly ConfigProblem[]; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.problems = options.problems ?? []
  }
}

/** All of the problems as one error, a line for each: `file:line:column: key: message`, the form that editors can jump to. */
export function configErrorOf(problems: readonly ConfigProblem[]): ConfigError {
  return new ConfigError(problems.map(lineOf).join('\n'), { problems })
}

function lineOf(problem: ConfigProblem): string {
  const place = `${problem.file}:${problem.line}:${problem.column}`
  return [place, problem.key, problem.message].filter((part) => part !== '').join(': ')
}

/** The way from the top of the file to a key or a list entry. */
export type KeyPath = readonly (string | number)[]

/** A problem that knows its key, and its place only where that is not the key's own. */
export interface Fault {
  readonly path: KeyPath
  readonly message: string
  /** `key`: the place is where the key stands, not its value. */
  readonly at?: 'key' | Position
}

/** `sources[0].auth.token` */
export function keyText(path: KeyPath): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '')
}

/** Whether a text has the form of a well-known kind of token or key. */
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
