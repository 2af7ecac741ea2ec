/**
 * URIs of the form `skill://<source>/<path>`, checked as the raw string that came in. The platform's `URL` is of no use
 * here: it folds `..` and `%2e%2e` away and so turns one resource into another.
 */
export type SkillUri =
  | { readonly ok: true; readonly canonical: string; readonly trailingSlash: boolean }
  | { readonly ok: false; readonly why: string }

const SCHEME = 'skill://'

/** What `canonical` would be is longer than any path we serve: 1,024 bytes of path, each encoded in three characters. */
const MAX_LENGTH = 8192

/**
 * Reads a URI as a client wrote it. Other hex case and unencoded spaces or letters lead to the same canonical form; each
 * segment is decoded once. Dot segments, encoded separators, empty segments, query, fragment, user and port are refused.
 */
export function readSkillUri(raw: string): SkillUri {
  if (raw.length > MAX_LENGTH) return refused(`it is longer than ${MAX_LENGTH} characters`)
  if (!raw.startsWith(SCHEME)) return refused('its scheme is not "skill"')
  if (holdsForbidden(raw)) return refused('it holds a query, a fragment, a backslash or a control character')
  const trailingSlash = raw.endsWith('/')
  const segments = raw.slice(SCHEME.length, trailingSlash ? -1 : undefined).split('/')
  if (/[@:[\]]/.test(segments[0] ?? '')) return refused('it names a user, a port or an address in place of a source')
  const decoded: string[] = []
  for (const segment of segments) {
    const plain = decodedSegment(segment)
    if (plain === undefined) return refused(`the segment "${segment}" cannot name a file`)
    decoded.push(plain)
  }
  return { ok: true, canonical: skillUri(decoded), trailingSlash }
}

/** The URI that is published for a path: percent-encoded segment by segment. The first segment is the source's id. */
export function skillUri(segments: readonly string[]): string {
  return SCHEME + segments.map(encodeURIComponent).join('/')
}

/** `skillUri` for a source and a slash-separated path below it. */
export function uriOf(source: string, path: string): string {
  return skillUri([source, ...(path === '' ? [] : path.split('/'))])
}

/** The URI of what lies right in the folder at a published URI. */
export function uriIn(folder: string, name: string): string {
  return `${folder}/${encodeURIComponent(name)}`
}

/** The path of a published URI as seen from that of a folder above it: what was encoded there, decoded. */
export function pathBelow(folder: string, uri: string): string {
  const path = uri.slice(folder.length + 1)
  return path.includes('%') ? path.split('/').map(decodeURIComponent).join('/') : path
}

/** The URIs of the folders above, nearest first, down to the source's own. */
export function* folderUrisAbove(uri: string): Generator<string> {
  for (let at = uri.lastIndexOf('/'); at >= SCHEME.length; at = uri.lastIndexOf('/', at - 1)) yield uri.slice(0, at)
}

// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const FORBIDDEN = /[?#\\\u0000-\u001f\u007f]/

/** Whether a URI, or a part of one, holds what none of ours does as it stands: a query, a fragment, a backslash, a control character. */
export function holdsForbidden(raw: string): boolean {
  return FORBIDDEN.test(raw)
}

/** What one segment stands for, decoded once. Undefined where that can name nothing, or would be another segment yet. */
export function decodedSegment(segment: string): string | undefined {
  const plain = decoded(segment)
  if (plain === undefined || plain === '' || plain === '.' || plain === '..') return undefined
  return /[/\\\0]/.test(plain) ? undefined : plain
}

function decoded(segment: string): string | undefined {
  try {
    const plain = decodeURIComponent(segment)
    return plain.isWellFormed() ? plain : undefined
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  }
}

function refused(why: string): SkillUri {
  return { ok: false, why }
}
