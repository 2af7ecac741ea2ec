import { DELIMITER, FLUSH, packet } from '../../../sync/upstream/git/smart-http/pkt-line.ts'
import type { MarketplaceRevision } from '../../marketplace/marketplace-revision.ts'
import type { OpenPack, RevisionPacks } from '../../marketplace/revision-packs.ts'
import type { GitCommand, FetchRequest } from './fetch-request.ts'

/** The versions of git's protocol: 1 differs from 0 by one line, which a server need not send. */
export type ProtocolVersion = 0 | 2

const AGENT = 'agent=skillsyncd'

/** The branch of every marketplace. */
const BRANCH = 'refs/heads/main'

/** The answer to a client that asks for the refs and what the server can do. */
export function advertisement({ tip }: Pick<MarketplaceRevision, 'tip'>, version: ProtocolVersion): readonly Buffer[] {
  if (version === 2)
    return [packetsOf('version 2', AGENT, 'ls-refs=unborn', 'fetch=shallow', 'object-format=sha1'), FLUSH]
  const capabilities = `side-band-64k shallow no-progress symref=HEAD:${BRANCH} object-format=sha1 ${AGENT}`
  return [
    packetsOf('# service=git-upload-pack'),
    FLUSH,
    packetsOf(`${tip} HEAD\0${capabilities}`, `${tip} ${BRANCH}`),
    FLUSH,
  ]
}

/** The answer to `ls-refs` of version 2. */
export function refsAnswer(
  { tip }: Pick<MarketplaceRevision, 'tip'>,
  { prefixes, hasSymrefs }: Extract<GitCommand, { readonly name: 'ls-refs' }>,
): readonly Buffer[] {
  const isAsked = (name: string): boolean => prefixes.length === 0 || prefixes.some((prefix) => name.startsWith(prefix))
  const lines = [
    ...(isAsked('HEAD') ? [`${tip} HEAD${hasSymrefs ? ` symref-target:${BRANCH}` : ''}`] : []),
    ...(isAsked(BRANCH) ? [`${tip} ${BRANCH}`] : []),
  ]
  return [packetsOf(...lines), FLUSH]
}

/** The refusal of a request, as a client of git shows it. */
export function errorAnswer(why: string): readonly Buffer[] {
  return [packet(`ERR upload-pack: ${why}`)]
}

/** The answer to a fetch: what stands before the pack, and the objects of the pack; `undefined` if it has none. */
export interface FetchAnswer {
  readonly head: readonly Buffer[]
  readonly send: 'all' | readonly string[] | undefined
}

/** Answers a fetch. Only the served tip may be wanted: an object by its own id may be one that was withdrawn. */
export function fetchAnswer(
  revision: MarketplaceRevision,
  packs: Pick<RevisionPacks, 'isKnown' | 'without'>,
  request: FetchRequest,
  version: ProtocolVersion,
): FetchAnswer {
  const refused = request.wants.find((id) => id !== revision.tip)
  if (refused !== undefined) return { head: errorAnswer(`not our ref ${refused}`), send: undefined }
  if (request.wants.length === 0) return { head: errorAnswer('nothing is wanted'), send: undefined }
  const common = request.haves.filter((id) => packs.isKnown(id))
  const send = common.length === 0 ? 'all' : packs.without(revision, common)
  return version === 2 ? answer2(request, common, send) : answer0(request, common, send)
}

/** gitprotocol-v2, "fetch". The tip has no parent, so a shallow clone of it has no border. */
function answer2(
  { isDone, isShallow }: FetchRequest,
  common: readonly string[],
  send: FetchAnswer['send'],
): FetchAnswer {
  const acknowledged = common.map((id) => `ACK ${id}`)
  if (!isDone && common.length === 0) return { head: [packetsOf('acknowledgments', 'NAK'), FLUSH], send: undefined }
  return {
    head: [
      ...(isDone ? [] : [packetsOf('acknowledgments', ...acknowledged, 'ready'), DELIMITER]),
      ...(isShallow ? [packetsOf('shallow-info'), DELIMITER] : []),
      packetsOf('packfile'),
    ],
    send,
  }
}

/** gitprotocol-pack, without `multi_ack`. */
function answer0(
  { haves, isDone, isShallow }: FetchRequest,
  common: readonly string[],
  send: FetchAnswer['send'],
): FetchAnswer {
  const border = isShallow ? [FLUSH] : []
  // The client reads the borders before it says what it has.
  if (isShallow && !isDone && haves.length === 0) return { head: border, send: undefined }
  const [first] = common
  const last = common.at(-1)
  if (!isDone) return { head: [...border, packetsOf(first === undefined ? 'NAK' : `ACK ${first}`)], send: undefined }
  return { head: [...border, packetsOf(last === undefined ? 'NAK' : `ACK ${last}`)], send }
}

/** Gives the pack as the client reads it: in frames of the side band, or as it is. */
export async function* packBody(
  { pack }: Pick<OpenPack, 'pack'>,
  send: 'all' | readonly string[],
  hasSideBand: boolean,
): AsyncGenerator<Buffer> {
  const pieces = send === 'all' ? pack.pieces(MOST_PAYLOAD) : pack.only(send)
  for await (const piece of pieces) {
    if (!hasSideBand) {
      yield piece
      continue
    }
    for (let at = 0; at < piece.length; at += MOST_PAYLOAD)
      yield frame(PACK_BAND, piece.subarray(at, at + MOST_PAYLOAD))
  }
  if (hasSideBand) yield FLUSH
}

/** A frame without content, which tells a client that waits that the server still works. */
export function keepAlive(): Buffer {
  return frame(PACK_BAND, Buffer.alloc(0))
}

/** A fatal error after the pack was promised. */
export function fatal(why: string): Buffer {
  return frame(ERROR_BAND, Buffer.from(`${why}\n`))
}

const [PACK_BAND, ERROR_BAND] = [1, 3]

/** `large_packet_max` of git, without the length and the band. */
const MOST_PAYLOAD = 65_520 - 5

function frame(band: number, payload: Buffer): Buffer {
  const head = Buffer.from(`${(payload.length + 5).toString(16).padStart(4, '0')}\0`, 'latin1')
  head[4] = band
  return Buffer.concat([head, payload])
}

function packetsOf(...lines: readonly string[]): Buffer {
  return Buffer.concat(lines.map((line) => packet(`${line}\n`)))
}
