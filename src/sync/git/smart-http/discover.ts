import { printable } from '../../../base/text/printable.ts'
import type { ObjectFormat } from '../../model/revision.ts'
import { SyncError } from '../../model/sync-error.ts'
import type { GitService } from '../../upstream/http/http-failure.ts'
import type { Server, Ref } from '../objects/ref-rules.ts'
import type { GitHttp } from './git-http.ts'
import { packets } from './pkt-line.ts'
import { askedWords, checkedRef } from './protocol.ts'

/** Sends the first request to a server. A repository whose ids are neither SHA-1 nor SHA-256 is `unsupported`. */
export async function discover(http: GitHttp, url: string): Promise<Server> {
  const { capabilities, refs } = await advertisementOf(http, url, 'git-upload-pack')
  const format = capabilities.get('object-format') ?? 'sha1'
  if (!isFormat(format)) {
    const message = `Cannot read "${url}": its ids are ${printable(format)}, this version reads sha1 and sha256`
    throw new SyncError('unsupported', message)
  }
  if (refs === undefined) {
    const features = capabilities.get('fetch')?.split(' ') ?? []
    const filters = features.includes('filter')
    return { base: http.base, version: 2, format, filters, refs: [], words: [], isShallow: true }
  }
  const able = { words: askedWords(capabilities), isShallow: capabilities.has('shallow') }
  const server = { base: http.base, version: 1, format, filters: false, ...able } as const
  const listed = refsOf(refs, capabilities, server)
  // Before git 2.41 an empty repository advertises nothing, not even its capabilities.
  if (listed.length > 0 && !capabilities.has('side-band-64k')) {
    throw new SyncError('unsupported', `Cannot read "${url}": its server is too old (no "side-band-64k")`)
  }
  return { ...server, refs: listed }
}

/** The server's advertisement. */
export interface Advertisement {
  /** The capabilities with their values, empty for those without one. */
  readonly capabilities: ReadonlyMap<string, string>
  /** The ids by name, as version 1 lists them; `undefined` in version 2. */
  readonly refs: ReadonlyMap<string, string> | undefined
}

/** Reads the answer to its end: a truncated one throws. */
export async function advertisementOf(http: GitHttp, url: string, service: GitService): Promise<Advertisement> {
  // There is no version 2 of the protocol for pushing.
  const headers = service === 'git-upload-pack' ? VERSION_2 : {}
  const { body } = await http.request({ url: `${url}/info/refs?service=${service}`, headers, service })
  const lines: string[] = []
  for await (const line of packets(body)) {
    if (typeof line !== 'string') lines.push(Buffer.from(line).toString('utf8').replace(/\n$/, ''))
  }
  // Bitbucket does not name the service in version 2.
  const named = lines[0] === `# service=${service}` ? lines.slice(1) : lines
  // Version 1 differs from version 0 in this line alone.
  const [first, ...rest] = named[0] === 'version 1' ? named.slice(1) : named
  if (first === 'version 2') return { capabilities: new Map(rest.map(capabilityOf)), refs: undefined }
  if (first === undefined && lines.length > 0) return { capabilities: new Map(), refs: new Map() }
  const [firstRef, said, ...none] = first?.split('\0') ?? []
  if (named === lines || firstRef === undefined || said === undefined || none.length > 0) {
    throw new SyncError('source-unreachable', `Cannot read the capabilities of "${url}"`)
  }
  const refs = [firstRef, ...rest].map((line) => halvesOf(line, ' '))
  return { capabilities: capabilitiesIn(said), refs: new Map(refs.map(([id, name]) => [name, id])) }
}

const VERSION_2 = { 'git-protocol': 'version=2' }

/**
 * Parses the capabilities. Version 1 puts the target of HEAD into a separate `symref` word, and there may be several.
 */
function capabilitiesIn(said: string): Map<string, string> {
  const words = said.split(' ').filter((word) => word !== '')
  return new Map(
    words.map(capabilityOf).map(([key, value]) => {
      if (key !== 'symref') return [key, value]
      const [name, target] = halvesOf(value, ':')
      return [`symref=${name}`, target]
    }),
  )
}

function capabilityOf(text: string): [key: string, value: string] {
  return halvesOf(text, '=')
}

/** Splits the text at the first mark; the second part is empty if there is no mark. */
function halvesOf(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + mark.length)]
}

function isFormat(format: string): format is ObjectFormat {
  return format === 'sha1' || format === 'sha256'
}

/** Collects the refs. A tag is followed by its target, under the tag's name with the suffix `^{}`. */
function refsOf(
  ids: ReadonlyMap<string, string>,
  capabilities: ReadonlyMap<string, string>,
  server: Omit<Server, 'refs'>,
): Ref[] {
  // The placeholder for an empty ref list ends with `^{}` too.
  return [...ids].flatMap(([name, id]) => {
    if (name.endsWith(PEELED)) return []
    const [target, peeled] = [capabilities.get(`symref=${name}`), ids.get(`${name}${PEELED}`)]
    return [checkedRef({ name, id, target, peeled }, server)]
  })
}

const PEELED = '^{}'
