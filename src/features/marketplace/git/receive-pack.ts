import { FLUSH, packet } from '../../../base/pkt-line.ts'
import { printable } from '../../../base/text/printable.ts'
import { advertisementOf } from '../../../sync/git/smart-http/discover.ts'
import type { GitHttp } from '../../../sync/git/smart-http/git-http.ts'
import { packets } from '../../../sync/git/smart-http/pkt-line.ts'
import { isIdOf, type ObjectId } from '../../../sync/model/revision.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import type { StreamedBody } from '../../../sync/upstream/http/http-exchange.ts'

/** A repository that takes pushes, as it is now. */
export interface Receiver {
  /** Its address after redirects. */
  readonly base: string
  /** The commit of the branch; `undefined` if there is no such branch. */
  readonly tip: ObjectId | undefined
  readonly hasSideBand: boolean
}

/** Reads where the branch is, with the right to push. A server that does not report the end of a push is refused. */
export async function askReceiver(http: GitHttp, url: string, branch: string): Promise<Receiver> {
  const { capabilities, refs } = await advertisementOf(http, url, SERVICE)
  const format = capabilities.get('object-format') ?? 'sha1'
  if (format !== 'sha1')
    throw new SyncError('unsupported', `Cannot push to "${url}": its ids are ${printable(format)}, not sha1`)
  if (refs === undefined || !capabilities.has('report-status'))
    throw new SyncError('unsupported', `Cannot push to "${url}": its server does not report the end of a push`)
  const tip = refs.get(branch)
  if (tip !== undefined && !isIdOf('sha1', tip))
    throw new SyncError('source-unreachable', `Cannot push to "${url}": the answer is not a list of refs`)
  return { base: http.base, tip, hasSideBand: capabilities.has('side-band-64k') }
}

/** One move of a branch, which the server makes if the branch is where `receiver` says. */
export interface Push {
  readonly branch: string
  readonly to: ObjectId
  readonly pack: StreamedBody
}

/** The end of a push: taken, or refused with what the server says of it, printable and up to 4,096 characters. */
export type PushEnd = { readonly kind: 'taken' } | { readonly kind: 'refused'; readonly why: string }

/** Sends the pack. Throws if the end of the push is not known: the branch then tells. */
export async function pushTo(http: GitHttp, receiver: Receiver, push: Push): Promise<PushEnd> {
  const command = commandOf(receiver, push)
  const { pack } = push
  const body: StreamedBody = {
    byteLength: command.length + pack.byteLength,
    async *pieces() {
      yield command
      yield* pack.pieces()
    },
  }
  const headers = { 'content-type': `application/x-${SERVICE}-request`, accept: `application/x-${SERVICE}-result` }
  const answer = await http.request({ url: `${receiver.base}/${SERVICE}`, headers, body, service: SERVICE })
  const end = await readPushEnd(answer.body, receiver.hasSideBand, push.branch)
  if (end !== undefined) return end
  const what = `Cannot push to "${receiver.base}"`
  throw new SyncError('source-unreachable', `${what}: the server does not report the end of the push`)
}

/** Reads the end of a push from its answer; `undefined` if the answer reports none. */
export async function readPushEnd(
  body: AsyncIterable<Uint8Array>,
  hasSideBand: boolean,
  branch: string,
): Promise<PushEnd | undefined> {
  const { report, remarks } = await readAnswer(body, hasSideBand)
  const [unpacked, ...ofRefs] = await linesOf(report)
  if (unpacked?.startsWith('unpack ') !== true) return undefined
  const refusal = ofRefs.find((line) => line.startsWith(`ng ${branch} `))
  const isTaken = unpacked === 'unpack ok' && refusal === undefined && ofRefs.includes(`ok ${branch}`)
  if (isTaken) return { kind: 'taken' }
  const reason = refusal?.slice(`ng ${branch} `.length) ?? unpacked
  const why = [reason, remarks].filter((text) => text.trim() !== '').join(': ')
  return { kind: 'refused', why: printable(why, MOST_REMARKS) }
}

const SERVICE = 'git-receive-pack'

/** gitprotocol-pack, "Reference Update Request". The id of zeros stands for a branch that is not there. */
function commandOf({ tip, hasSideBand }: Receiver, { branch, to }: Push): Buffer {
  const asked = `report-status${hasSideBand ? ' side-band-64k' : ''}`
  return Buffer.concat([packet(`${tip ?? NO_ID} ${to} ${branch}\0 ${asked}`), FLUSH])
}

const NO_ID = '0'.repeat(40)

/** The report of the server, and what it and its hooks print for people. */
interface ReceiverAnswer {
  readonly report: readonly Uint8Array[]
  readonly remarks: string
}

/** gitprotocol-pack, "Report Status". The bytes are bounded by the allowance of the client. */
async function readAnswer(body: AsyncIterable<Uint8Array>, hasSideBand: boolean): Promise<ReceiverAnswer> {
  if (!hasSideBand) {
    const whole: Uint8Array[] = []
    for await (const chunk of body) whole.push(chunk)
    return { report: whole, remarks: '' }
  }
  const report: Uint8Array[] = []
  let remarks = ''
  for await (const line of packets(body)) {
    if (typeof line === 'string') continue
    if (line[0] === REPORT_BAND) report.push(line.subarray(1))
    else if (remarks.length < MOST_REMARKS) remarks += Buffer.from(line.subarray(1)).toString('utf8')
  }
  return { report, remarks }
}

const REPORT_BAND = 1

/** More than a message shows: progress comes before what a hook prints, and a secret that is cut is not recognized. */
const MOST_REMARKS = 4096

async function linesOf(report: readonly Uint8Array[]): Promise<readonly string[]> {
  const lines: string[] = []
  for await (const line of packets(once(Buffer.concat(report))))
    if (typeof line !== 'string') lines.push(Buffer.from(line).toString('utf8').trimEnd())
  return lines
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
