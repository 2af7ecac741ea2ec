import { isContractId } from '../../skill/contract/contract.ts'
import { decodedSegment, holdsForbidden } from './skill-uri.ts'

/**
 * URIs of the form `resource://…`, for contract skills and docs, checked as the raw input string: the platform's `URL`
 * resolves dot segments. `isMalformed`: the form is right, but the text of an id or a path is invalid.
 */
export type ContractUri =
  | { readonly ok: true; readonly canonical: string; readonly named: ContractTarget }
  | { readonly ok: false; readonly isMalformed: boolean; readonly why: string }

/** The target of such a URI. */
export type ContractTarget =
  | { readonly kind: 'index' }
  | { readonly kind: 'record' | 'document'; readonly skillId: string }
  | { readonly kind: 'reference'; readonly skillId: string; readonly refId: string }
  | { readonly kind: 'doc'; readonly path: string }

const SCHEME = 'resource://'

/** The limit for the URI of a skill's file, too. */
const MAX_LENGTH = 8192

/**
 * Reads a URI as a client wrote it. Another spelling of the same characters gives the same canonical form; each segment
 * is decoded once. No other form names a resource: no trailing slash, no query, no fragment.
 */
export function readContractUri(raw: string): ContractUri {
  if (raw.length > MAX_LENGTH) return unknownUri(`it is longer than ${MAX_LENGTH} characters`)
  if (!raw.startsWith(SCHEME)) return unknownUri('its scheme is not "resource"')
  const [place, ...rest] = raw.slice(SCHEME.length).split('/')
  switch (place) {
    case 'catalog':
      return readCatalogUri(rest)
    case 'skills':
      return readSkillsUri(rest)
    case 'docs':
      return readDocsUri(rest)
    default:
      return unknownUri('its first segment is none of "catalog", "skills" and "docs"')
  }
}

function readCatalogUri([form, id, ...more]: readonly string[]): ContractUri {
  if (form === 'skills_index' && id === undefined) return acceptedUri({ kind: 'index' })
  if (form !== 'skills' || id === undefined || more.length > 0)
    return unknownUri('the catalog has nothing of that form')
  const skillId = decodedId(id)
  return skillId === undefined
    ? malformedUri(`"${id}" is not an id of a skill; ${ID_RULE}`)
    : acceptedUri({ kind: 'record', skillId })
}

function readSkillsUri([id, form, ref, ...more]: readonly string[]): ContractUri {
  const isDocument = form === 'document' && ref === undefined
  const isReference = form === 'references' && ref !== undefined && more.length === 0
  if (id === undefined || !(isDocument || isReference)) return unknownUri('a skill has nothing of that form')
  const skillId = decodedId(id)
  if (skillId === undefined) return malformedUri(`"${id}" is not an id of a skill; ${ID_RULE}`)
  if (ref === undefined) return acceptedUri({ kind: 'document', skillId })
  const refId = decodedId(ref)
  return refId === undefined
    ? malformedUri(`"${ref}" is not an id of a reference; ${ID_RULE}`)
    : acceptedUri({ kind: 'reference', skillId, refId })
}

function readDocsUri(segments: readonly string[]): ContractUri {
  const decoded: string[] = []
  for (const segment of segments) {
    const plain = holdsForbidden(segment) ? undefined : decodedSegment(segment)
    if (plain === undefined || CONTROL.test(plain))
      return malformedUri(`the segment "${segment}" cannot name a document`)
    decoded.push(plain)
  }
  const path = decoded.join('/')
  return MARKDOWN.test(path) ? acceptedUri({ kind: 'doc', path }) : malformedUri(`"${path}" does not end in ".md"`)
}

const ID_RULE = 'it begins with a letter, and holds a-z, 0-9 and hyphens'

/** The contract requires `.md`, and allows any case of it in the paths of references. */
const MARKDOWN = /[^/]\.md$/i

/** Control characters are invisible in a name. */
const CONTROL = /\p{Cc}/u

function decodedId(segment: string): string | undefined {
  const plain = decodedSegment(segment)
  return plain !== undefined && isContractId(plain) ? plain : undefined
}

/** The published URI. */
export function contractUri(named: ContractTarget): string {
  switch (named.kind) {
    case 'index':
      return `${SCHEME}catalog/skills_index`
    case 'record':
      return `${SCHEME}catalog/skills/${named.skillId}`
    case 'document':
      return `${SCHEME}skills/${named.skillId}/document`
    case 'reference':
      return `${SCHEME}skills/${named.skillId}/references/${named.refId}`
    case 'doc':
      return `${SCHEME}docs/${named.path.split('/').map(encodeURIComponent).join('/')}`
    default:
      return named satisfies never
  }
}

/** True if a canonical URI is of this family. */
export function isContractUri(canonical: string): boolean {
  return canonical.startsWith(SCHEME)
}

function acceptedUri(named: ContractTarget): ContractUri {
  return { ok: true, canonical: contractUri(named), named }
}

function malformedUri(why: string): ContractUri {
  return { ok: false, isMalformed: true, why }
}

function unknownUri(why: string): ContractUri {
  return { ok: false, isMalformed: false, why }
}
