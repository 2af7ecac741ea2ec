import { isObject } from '../../../base/json-object.ts'
import { folderOf, joinPath } from '../../../base/paths.ts'
import type { SkillFile, UpstreamSkill } from '../skill.ts'
import { decodedSegment, holdsForbidden } from './skill-uri.ts'

/** A URI that another MCP server gave to a skill or to one of its files, parsed from the raw string. */
export type UpstreamUri =
  | { readonly ok: true; readonly scheme: string; readonly segments: readonly string[] }
  | { readonly ok: false; readonly why: string }

/** As in `skill-uri.ts`: longer than everything that is served. */
const MAX_LENGTH = 8192

/**
 * Limit on the decoded path. A path that another skillsyncd serves within its defaults fits, and its encoded form is
 * within `MAX_LENGTH`.
 */
const MAX_BYTES = 2048
const MAX_SEGMENTS = 128

/**
 * Reads the URI of a part of a skill. Schemes that lead out of the server are refused in every spelling, and so are dot
 * segments, encoded separators, empty segments, queries and fragments. They are never read, whichever server lists
 * them.
 */
export function readUpstreamUri(raw: string): UpstreamUri {
  if (raw.length > MAX_LENGTH) return refusal(`it is longer than ${MAX_LENGTH} characters`)
  // RFC 3986, 3.1: schemes are letters, digits, "+", "-" and ".", and are case-insensitive.
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(raw)?.[1]?.toLowerCase()
  if (scheme === undefined) return refusal('it has no scheme')
  if (ELSEWHERE.has(scheme)) return refusal(`its scheme "${scheme}" leads out of the server`)
  const rest = raw.slice(scheme.length + 1)
  if (!rest.startsWith('//')) return refusal('no "//" follows its scheme')
  if (holdsForbidden(rest)) return refusal('it holds a query, a fragment, a backslash or a control character')
  const written = rest.slice(2).split('/')
  if (written.length > MAX_SEGMENTS) return refusal(`it is deeper than ${MAX_SEGMENTS} segments`)
  if (scheme === OWN_SCHEME && /[@:[\]]/.test(written[0] ?? ''))
    return refusal('it names a user, a port or an address in place of a path')
  const decoded = written.map(decodedSegment)
  const segments = decoded.filter((segment) => segment !== undefined)
  if (segments.length < decoded.length) return refusal('a segment of it cannot name a file')
  if (Buffer.byteLength([scheme, ...segments].join('/')) > MAX_BYTES)
    return refusal(`its path is longer than ${MAX_BYTES} bytes`)
  return { ok: true, scheme, segments }
}

/** Reads the URI of a skill, which is that of its SKILL.md. `path` is the path below the id of its source. */
export function readUpstreamSkillUri(
  raw: string,
): { readonly ok: true; readonly path: string } | { readonly ok: false; readonly why: string } {
  const read = readUpstreamUri(raw)
  if (!read.ok) return read
  if (read.segments.at(-1) === 'SKILL.md' && read.segments.length > 1) return { ok: true, path: folderOf(pathOf(read)) }
  return { ok: false, why: 'it does not name the SKILL.md in the folder of a skill' }
}

const OWN_SCHEME = 'skill'

/** A client that follows one of these sends a request to another party than the server that named it. */
const ELSEWHERE: ReadonlySet<string> = new Set(['file', 'http', 'https', 'data', 'javascript', 'ftp', 'ws', 'wss'])

/**
 * The path, below the id of the source, at which it is served. A `skill://` path stays as it is. Another scheme
 * precedes the path, after a tilde. A first segment that begins with a tilde gets a second one: no two URIs have one
 * path.
 */
export function pathOf({ scheme, segments }: Extract<UpstreamUri, { ok: true }>): string {
  if (scheme !== OWN_SCHEME) return [`~${scheme}`, ...segments].join('/')
  const [first = '', ...rest] = segments
  return [first.startsWith('~') ? `~${first}` : first, ...rest].join('/')
}

/** The inverse of `pathOf`; `undefined` if no URI has this path. */
export function partsOf(path: string): Pick<Extract<UpstreamUri, { ok: true }>, 'scheme' | 'segments'> | undefined {
  const [first = '', ...rest] = path.split('/')
  if (first.startsWith('~~')) return { scheme: OWN_SCHEME, segments: [first.slice(1), ...rest] }
  if (!first.startsWith('~')) return { scheme: OWN_SCHEME, segments: [first, ...rest] }
  const scheme = first.slice(1)
  const isOther = /^[a-z][a-z0-9+.-]*$/.test(scheme) && scheme !== OWN_SCHEME
  return isOther && rest.length > 0 ? { scheme, segments: rest } : undefined
}

/** The URI with minimal encoding; `undefined` if no URI has this path. */
export function plainUpstreamUri(path: string): string | undefined {
  const parts = partsOf(path)
  return parts && `${parts.scheme}://${parts.segments.map(encodeURIComponent).join('/')}`
}

/** The URI of a skill's file, as its server wrote it. */
export function upstreamUriOf({ path, upstream }: UpstreamSkill, file: Pick<SkillFile, 'path'>): string {
  const { files = {} } = upstream
  // A file may have the name of a property that every object has: "constructor".
  const written = Object.hasOwn(files, file.path) ? files[file.path] : undefined
  const known = written ?? plainUpstreamUri(joinPath(path, file.path))
  if (known === undefined) throw new TypeError(`No URI leads to "${path}"`)
  return known
}

function refusal(why: string): UpstreamUri {
  return { ok: false, why }
}

/** The paths of listed files from the folder of a SKILL.md, as they are written; for messages. */
export function pathsBeside(document: string, files: readonly unknown[]): readonly string[] {
  const folder = `${folderOf(document)}/`
  const uris = files.flatMap((file) => (isObject(file) && typeof file['uri'] === 'string' ? [file['uri']] : []))
  return uris.filter((uri) => uri.startsWith(folder)).map((uri) => uri.slice(folder.length))
}
