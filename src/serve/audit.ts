import type { TraceIds } from '../base/trace-context.ts'
import { isContractUri, readContractUri } from '../sync/catalog/contract-uri.ts'
import { readSkillUri } from '../sync/model/skill-uri.ts'
import { HIDDEN, withoutSecrets } from '../sync/skill-md/secret-patterns.ts'

/** One thing that somebody asked for, as it is remembered. No content, and no secret; each text is bounded. */
export interface AuditEvent extends TraceIds {
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

/**
 * A text as it is remembered: without what looks like a secret, without the query of any URI in it, where a token may stand,
 * and not all of it where it is long.
 */
export function remembered(text: string): string {
  const some = text.slice(0, MOST_READ)
  // Where the text was cut, the name and password at the head of an address may have lost the end that tells them.
  const whole = withoutSecrets(some === text ? text : `${some}@`)
  const clean = (whole.includes('@') ? whole.replace(USER, `$1${HIDDEN}@`) : whole).replace(QUERY, '$1?…')
  return clean.length > MOST_CHARACTERS ? `${clean.slice(0, MOST_CHARACTERS).toWellFormed()}…` : clean
}

/**
 * As `remembered`, for what is one URI: nothing of ours has a query or a fragment. Another spelling of one of ours is remembered as
 * the one that is listed, so that a search for that finds it.
 */
export function rememberedUri(uri: string): string {
  return remembered(listedSpelling(uri)).replace(/[?#].*$/s, '?…')
}

function listedSpelling(uri: string): string {
  const read = isContractUri(uri) ? readContractUri(uri) : readSkillUri(uri)
  if (!read.ok) return uri
  return 'trailingSlash' in read && read.trailingSlash ? `${read.canonical}/` : read.canonical
}

/** The longest of real URIs are half as long. */
const MOST_CHARACTERS = 512

/** So much of a text is looked at: enough that what is left out does not make it shorter than what is remembered. */
const MOST_READ = 4_096

/** All before the last @ of an address that is none of ours. Up to the next address, so that each is read once. */
const USER = /\b((?!skill:|resource:)[a-z][a-z0-9+.-]{0,30}:\/\/)(?:(?!:\/\/)[^\s"])*@/gi

const QUERY = /\b([a-z][a-z0-9+.-]{0,30}:\/\/(?:(?!:\/\/)[^\s?#"])*)[?#][^\s"]*/gi
