import { bandFrame, DELIMITER, FLUSH, MOST_LINE_BYTES, packet, writeBandFrame } from '../../../base/pkt-line.ts'
import type { MarketplaceRevision } from '../marketplace-revision.ts'
import type { ServedMarketplace } from '../marketplaces.ts'
import type { OpenPackfile } from '../revision-packfiles.ts'
import type { FetchRequest, GitCommand } from './fetch-request.ts'

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
  { revision, isKnown, without }: ServedMarketplace,
  request: FetchRequest,
  version: ProtocolVersion,
): FetchAnswer {
  const refused = request.wants.find((id) => id !== revision.tip)
  if (refused !== undefined) return { head: errorAnswer(`not our ref ${refused}`), send: undefined }
  if (request.wants.length === 0) return { head: errorAnswer('nothing is wanted'), send: undefined }
  // A client may repeat what it has.
  const common = [...new Set(request.haves)].filter(isKnown)
  const send = common.length === 0 ? 'all' : without(common)
  return version === 2 ? answer2(request, common, send) : answer0(request, common, send)
}

/** gitprotocol-v2, "fetch". The tip has no parent, so a shallow clone of it has no border. */
function answer2(request: FetchRequest, common: readonly string[], send: FetchAnswer['send']): FetchAnswer {
  const { isDone, isShallow, isDeepened } = request
  if (!isDone && common.length === 0) return { head: [packetsOf('acknowledgments', 'NAK'), FLUSH], send: undefined }
  const acknowledged = common.map((id) => `ACK ${id}`)
  return {
    head: [
      ...(isDone ? [] : [packetsOf('acknowledgments', ...acknowledged, 'ready'), DELIMITER]),
      ...(isShallow || isDeepened ? [packetsOf('shallow-info'), DELIMITER] : []),
      packetsOf('packfile'),
    ],
    send,
  }
}

/**
 * gitprotocol-pack, without `multi_ack`: a client that is sent an ACK before it is done forgets what it has, and then
 * expects the pack of one that has nothing. So all answers until then are NAK.
 */
function answer0(request: FetchRequest, common: readonly string[], send: FetchAnswer['send']): FetchAnswer {
  const { haves, isDone, isDeepened } = request
  const borders = isDeepened ? [FLUSH] : []
  // The client reads the borders before it says what it has.
  if (isDeepened && !isDone && haves.length === 0) return { head: borders, send: undefined }
  if (!isDone) return { head: [...borders, packetsOf('NAK')], send: undefined }
  const last = common.at(-1)
  return { head: [...borders, packetsOf(last === undefined ? 'NAK' : `ACK ${last}`)], send }
}

/**
 * Gives the pack as the client reads it: in frames of the side band, or as it is. The bytes are valid until the next
 * ones are requested: new buffers for each would have the garbage collector take longer than all else.
 */
export async function* packBody(
  { packfile }: Pick<OpenPackfile, 'packfile'>,
  send: 'all' | readonly string[],
  hasSideBand: boolean,
): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(FRAMES * MOST_PAYLOAD)
  const frames = Buffer.allocUnsafe(FRAMES * MOST_LINE_BYTES)
  const pieces = send === 'all' ? packfile.pieces(buffer) : packfile.only(send, buffer)
  for await (const piece of pieces) yield hasSideBand ? framed(piece, frames) : piece
  if (hasSideBand) yield FLUSH
}

/** Returns the piece in frames, which are written to `frames`. */
function framed(piece: Buffer, frames: Buffer): Buffer {
  let end = 0
  for (let at = 0; at < piece.length; at += MOST_PAYLOAD)
    end += writeBandFrame(PACK_BAND, piece.subarray(at, at + MOST_PAYLOAD), frames.subarray(end))
  return frames.subarray(0, end)
}

/** A frame without content, which shows a client that waits that the server still works. */
export function keepAlive(): Buffer {
  return bandFrame(PACK_BAND, Buffer.alloc(0))
}

/** A fatal error after the pack was promised. */
export function fatal(why: string): Buffer {
  return bandFrame(ERROR_BAND, Buffer.from(`${why}\n`))
}

const [PACK_BAND, ERROR_BAND] = [1, 3]

/** The bytes of a frame besides its length and its band. */
const MOST_PAYLOAD = MOST_LINE_BYTES - 5

/** The frames that are sent at once. */
const FRAMES = 4

function packetsOf(...lines: readonly string[]): Buffer {
  return Buffer.concat(lines.map((line) => packet(`${line}\n`)))
}
