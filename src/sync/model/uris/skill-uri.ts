/**
 * URIs of the form `skill://<source>/<path>`, checked as the raw input string. The platform's `URL` is unusable here:
 * it resolves `..` and `%2e%2e` and so turns one resource into another.
 */
export type SkillUri =
  | { readonly ok: true; readonly canonical: string; readonly trailingSlash: boolean }
  | { readonly ok: false; readonly why: string }

const SCHEME = 'skill://'

/** A longer URI exceeds any path that we serve: 1,024 bytes of path, each encoded as three characters. */
const MAX_LENGTH = 8192

/**
 * Reads a URI as a client wrote it. Other hex case and unencoded spaces or letters give the same canonical form; each
 * segment is decoded once. Dot segments, encoded separators, empty segments, query, fragment, user and port are
 * refused.
 */
export function readSkillUri(raw: string): SkillUri {
  if (raw.length > MAX_LENGTH) return refusal(`it is longer than ${MAX_LENGTH} characters`)
  if (!raw.startsWith(SCHEME)) return refusal('its scheme is not "skill"')
  if (holdsForbidden(raw)) return refusal('it holds a query, a fragment, a backslash or a control character')
  const trailingSlash = raw.endsWith('/')
  const segments = raw.slice(SCHEME.length, trailingSlash ? -1 : undefined).split('/')
  if (/[@:[\]]/.test(segments[0] ?? '')) return refusal('it names a user, a port or an address in place of a source')
  const decoded: string[] = []
  for (const segment of segments) {
    const plain = decodedSegment(segment)
    if (plain === undefined) return refusal(`the segment "${segment}" cannot name a file`)
    decoded.push(plain)
  }
  return { ok: true, canonical: skillUri(decoded), trailingSlash }
}

/** The published URI of a path, percent-encoded segment by segment. The first segment is the source's id. */
export function skillUri(segments: readonly string[]): string {
  return SCHEME + segments.map(encodeURIComponent).join('/')
}

/** `skillUri` for a source and a slash-separated path below it. */
export function uriOf(source: string, path: string): string {
  // Each skill and each folder comes here, and most paths need no encoding.
  if (path !== '' && isUnencoded(path)) return `${SCHEME}${encodeURIComponent(source)}/${path}`
  return skillUri([source, ...(path === '' ? [] : path.split('/'))])
}

/** True if the path stands in its URI as it is. Of most paths that is so, and nothing need be encoded or decoded. */
export function isUnencoded(path: string): boolean {
  return NOTHING_ENCODED.test(path)
}

/** The characters that `encodeURIComponent` does not change, and the slash. */
const NOTHING_ENCODED = /^[\w\-.!~*'()/]*$/

/** The URI of an entry directly in the folder at a published URI. */
export function uriIn(folder: string, name: string): string {
  return `${folder}/${encodeURIComponent(name)}`
}

/** The decoded path of a published URI, relative to the URI of a folder above it. */
export function pathBelow(folder: string, uri: string): string {
  const path = uri.slice(folder.length + 1)
  return path.includes('%') ? path.split('/').map(decodeURIComponent).join('/') : path
}

/** The URIs of the folders above, nearest first, down to the source's own. */
export function* folderUrisAbove(uri: string): Generator<string> {
  for (let at = uri.lastIndexOf('/'); at >= SCHEME.length; at = uri.lastIndexOf('/', at - 1)) yield uri.slice(0, at)
}

// oxlint-disable-next-line no-control-regex -- the pattern matches control characters
const FORBIDDEN = /[?#\\\u0000-\u001f\u007f]/

/**
 * True if a URI, or a part of one, contains what none of ours has unencoded: a query, a fragment, a backslash or a
 * control character.
 */
export function holdsForbidden(raw: string): boolean {
  return FORBIDDEN.test(raw)
}

/** One segment, decoded once. `undefined` if the result can name nothing, or would contain a separator. */
export function decodedSegment(segment: string): string | undefined {
  const plain = decode(segment)
  if (plain === undefined || plain === '' || plain === '.' || plain === '..') return undefined
  return /[/\\\0]/.test(plain) ? undefined : plain
}

function decode(segment: string): string | undefined {
  try {
    const plain = decodeURIComponent(segment)
    return plain.isWellFormed() ? plain : undefined
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  }
}

function refusal(why: string): SkillUri {
  return { ok: false, why }
}
