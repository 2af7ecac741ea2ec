/** One thing that somebody asked for, as it is remembered. No content, and no secret; each text is bounded. */
export interface AuditEvent {
  /** The method of MCP, or the method and path of a request by HTTP. */
  readonly asked: string
  /** What it was about: URIs, or the name of a tool or prompt, with the id that a tool was given. */
  readonly of?: string
  /** The id of a token; undefined where nobody has to be known. */
  readonly principal?: string
  /** The address that a request by HTTP came from. */
  readonly address?: string
  /** What a client over stdio calls itself. */
  readonly client?: string
  /** Which generation the answer is made from. */
  readonly generation: number
  readonly allowed: boolean
  /** Why not, where it was not. */
  readonly why?: string
}

/** Remembers an event. Never throws and has nobody wait. */
export type Audit = (event: AuditEvent) => void

/** As much of a text as is remembered. */
export function remembered(text: string): string {
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text
}

/** The longest of real URIs are half as long. */
const MOST_CHARACTERS = 512
