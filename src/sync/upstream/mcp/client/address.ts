import type { Way } from '../../http/host-access.ts'

/** Where an MCP server is reached. */
export type McpAddress = HttpAddress | ProgramAddress

export interface HttpAddress {
  readonly kind: 'http'
  readonly url: string
}

/** A program of this machine that speaks MCP on its standard input and output. */
export interface ProgramAddress {
  readonly kind: 'program'
  /** A path, or a name that is looked up in `path`. Never read by a shell. */
  readonly command: string
  readonly args: readonly string[]
  /** Its PATH and HOME. Of the environment of this process it is given nothing else. */
  readonly path: string
  readonly home: string
  /** What else is in its environment; it may hold credentials, and is asked anew before each start. */
  readonly env: () => Promise<Readonly<Record<string, string>>>
}

/** Bounds on what a server can make us do. Bytes over theirs are `limit-exceeded`, a wait over its `source-unreachable`. */
export interface McpLimits {
  /** To hear the first byte of an answer while the connection is opened, and of what is no request. */
  readonly connectMs: number
  /** For one request, until its answer is whole. */
  readonly requestMs: number
  /** Between two bytes of one answer. */
  readonly idleMs: number
  /** Of one answer, as it comes over the wire. */
  readonly answerBytes: number
}

/** The defaults. A file of 16 MiB comes as 22.4 MB of base64, in an answer that must hold it whole. */
export const MCP_LIMITS: McpLimits = {
  connectMs: 10_000,
  requestMs: 60_000,
  idleMs: 30_000,
  answerBytes: 24 * 2 ** 20,
}

/** What a connection is given to work with. */
export interface ConnectionOptions {
  /** How the server's host is reached, and what it is sent to know us by. Asked anew before each use. */
  readonly way: (signal: AbortSignal) => Promise<Way>
  readonly limits: McpLimits
  /** The version of this program, as servers are told. */
  readonly version: string
}
