import type { HostAccess } from '../../../sync/upstream/http/host-access.ts'

/** The address of an MCP server. */
export type McpAddress = HttpAddress | ProgramAddress

export interface HttpAddress {
  readonly kind: 'http'
  readonly url: string
}

/** A local program that speaks MCP on its standard input and output. */
export interface ProgramAddress {
  readonly kind: 'program'
  /** A path, or a name that is searched in `path`. Never parsed by a shell. */
  readonly command: string
  readonly args: readonly string[]
  /** The PATH and HOME of the program. It inherits nothing else from the environment of this process. */
  readonly path: string
  readonly home: string
  /** Additional environment variables, which may hold credentials. Queried again before each start. */
  readonly env: () => Promise<Readonly<Record<string, string>>>
}

/** Limits for a server. Too many bytes are `limit-exceeded`, a timeout is `source-unreachable`. */
export interface McpLimits {
  /** Timeout for the first byte of an answer while the connection opens, and for messages that are not requests. */
  readonly connectMs: number
  /** Timeout for one request, until its answer is complete. */
  readonly requestMs: number
  /** Timeout between two bytes of one answer. */
  readonly idleMs: number
  /** Maximum size of one answer on the wire. */
  readonly answerBytes: number
}

/** The default limits. A file of 16 MiB takes 22.4 MB as base64, in one answer that must hold it whole. */
export const MCP_LIMITS: McpLimits = {
  connectMs: 10_000,
  requestMs: 60_000,
  idleMs: 30_000,
  answerBytes: 24 * 2 ** 20,
}

/** The options of a connection. */
export interface ConnectionOptions {
  /** Returns the route to the server's host and the headers to send. Called again before each use. */
  readonly way: (signal: AbortSignal) => Promise<HostAccess>
  readonly limits: McpLimits
  /** The version of this program, which servers receive. */
  readonly version: string
}
