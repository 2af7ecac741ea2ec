import type { TraceIds } from '../base/trace-context.ts'
import { isContractUri, readContractUri } from '../sync/model/uris/contract-uri.ts'
import { readSkillUri } from '../sync/model/uris/skill-uri.ts'
import { HIDDEN, withoutSecrets } from '../sync/skill/secret-patterns.ts'

/** A request as the audit log records it. It holds no content and no secret; each text is bounded. */
export interface AuditEvent extends TraceIds {
  /** The MCP method, or the method and path of an HTTP request. */
  readonly asked: string
  /** The subject of the request: URIs, or the name of a tool or prompt, with the id passed to the tool. */
  readonly of?: string
  /** The id of a token; `undefined` if no authentication is required. */
  readonly principal?: string
  /** The client address of an HTTP request. */
  readonly address?: string
  /** The name that a stdio client gives itself. */
  readonly client?: string
  /** The catalog generation that the response is made from. */
  readonly generation: number
  readonly allowed: boolean
  /** The reason for a refusal. */
  readonly why?: string
}

/** Records an event. Never throws and never blocks the caller. */
export type Audit = (event: AuditEvent) => void

/**
 * Prepares a text for the audit log: removes likely secrets and the query of each URI, which may hold a token, and
 * shortens a long text.
 */
export function auditText(text: string): string {
  const some = text.slice(0, MOST_READ)
  // The cut may have removed the `@` that marks the user name and password of an address.
  const whole = withoutSecrets(some === text ? text : `${some}@`)
  const clean = (whole.includes('@') ? whole.replace(USER, `$1${HIDDEN}@`) : whole).replace(QUERY, '$1?…')
  return clean.length > MOST_CHARACTERS ? `${clean.slice(0, MOST_CHARACTERS).toWellFormed()}…` : clean
}

/**
 * Works like `auditText`, for a text that is one URI. Our URIs have no query or fragment. Another spelling of a listed
 * URI is recorded in its listed spelling, so that a search for that finds it.
 */
export function auditUri(uri: string): string {
  return auditText(listedSpelling(uri)).replace(/[?#].*$/s, '?…')
}

function listedSpelling(uri: string): string {
  const read = isContractUri(uri) ? readContractUri(uri) : readSkillUri(uri)
  if (!read.ok) return uri
  return 'trailingSlash' in read && read.trailingSlash ? `${read.canonical}/` : read.canonical
}

/** Twice the length of the longest real URIs. */
const MOST_CHARACTERS = 512

/**
 * The number of characters read of a text. It exceeds the recorded length by enough that the removals never shorten the
 * record.
 */
const MOST_READ = 4_096

/**
 * Matches all before the last @ of a foreign address. It stops at the next address, so that each address is read only
 * once.
 */
const USER = /\b((?!skill:|resource:)[a-z][a-z0-9+.-]{0,30}:\/\/)(?:(?!:\/\/)[^\s"])*@/gi

const QUERY = /\b([a-z][a-z0-9+.-]{0,30}:\/\/(?:(?!:\/\/)[^\s?#"])*)[?#][^\s"]*/gi
