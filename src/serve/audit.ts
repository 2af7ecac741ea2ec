/** One thing that somebody asked for, as it is remembered. No content, and no secret. */
export interface AuditEvent {
  /** The method of MCP, or the method and path of a request by HTTP. */
  readonly asked: string
  /** What it was about: a URI, or the name of a tool with what it was given. */
  readonly of?: string
  /** The id of a token; undefined where nobody has to be known. */
  readonly principal?: string
  /** The address that a request by HTTP came from. */
  readonly address?: string
  /** Which generation the answer is made from. */
  readonly generation: number
  readonly allowed: boolean
  /** Why not, where it was not. */
  readonly why?: string
}

/** Remembers an event. Never throws and has nobody wait. */
export type Audit = (event: AuditEvent) => void
