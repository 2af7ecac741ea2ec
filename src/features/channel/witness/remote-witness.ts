import { SyncError } from '../../../sync/model/sync-error.ts'
import { signatureLines, NoteRefusedError, openNote } from '../../../sync/transparency-log/signed-note.ts'
import type { NoteVerifier } from '../../../sync/transparency-log/signed-note.ts'
import type { HostAccess } from '../../../sync/upstream/http/host-access.ts'
import { exchange } from '../../../sync/upstream/http/http-exchange.ts'
import type { HttpAnswer } from '../../../sync/upstream/http/http-exchange.ts'
import { isWebPage } from '../../../sync/upstream/http/http-failure.ts'
import { isRedirect, redirectOf } from '../../../sync/upstream/http/http-redirect.ts'
import { HttpWatch } from '../../../sync/upstream/http/http-watch.ts'
import type { WatchedRequest } from '../../../sync/upstream/http/http-watch.ts'
import { addCheckpointBody, parseTreeSize, SIZE_TYPE } from './add-checkpoint.ts'

/** A witness on another machine. */
export interface RemoteWitness {
  /** The address above `add-checkpoint`, with a slash at its end. */
  readonly url: string
  readonly key: NoteVerifier
  readonly way: (signal: AbortSignal) => Promise<HostAccess>
}

/** A checkpoint that a witness is asked to cosign. */
export interface SubmittedCheckpoint {
  /** The signed checkpoint, and the text that is signed. */
  readonly note: string
  readonly text: string
  readonly size: number
  /** Returns the proof that the log begins with its first entries. */
  readonly proofFrom: (oldSize: number) => Promise<readonly Uint8Array[]>
}

/**
 * Asks a witness for its cosignature, and returns the line of it. `oldSize`: the size that it has probably cosigned last;
 * if it names another one, it is asked once more. Throws a `SyncError` for any other answer.
 */
export async function cosignatureFrom(
  witness: RemoteWitness,
  submitted: SubmittedCheckpoint,
  oldSize: number,
  watched: WatchedRequest,
): Promise<string> {
  const first = await ask(witness, submitted, Math.min(oldSize, submitted.size), watched)
  if (first.kind === 'line') return first.line
  if (first.size > submitted.size)
    throw refusal(
      witness,
      `it has cosigned ${first.size} entries of this log, which has ${submitted.size} here: the log was restored from an older copy, or has a second hub`,
    )
  const second = await ask(witness, submitted, first.size, watched)
  if (second.kind === 'line') return second.line
  throw refusal(witness, `it names the size ${second.size} after ${first.size}`)
}

type Answer = { readonly kind: 'line'; readonly line: string } | { readonly kind: 'size'; readonly size: number }

async function ask(
  witness: RemoteWitness,
  submitted: SubmittedCheckpoint,
  oldSize: number,
  watched: WatchedRequest,
): Promise<Answer> {
  const { url, way } = witness
  const body = addCheckpointBody({ oldSize, proof: await submitted.proofFrom(oldSize), note: submitted.note })
  const access = await way(watched.signal)
  const watch = new HttpWatch(`Cannot reach "${url}"`, watched)
  try {
    const address = new URL('add-checkpoint', url)
    const answer = await exchange(address.href, {
      method: 'POST',
      headers: HEADERS,
      body: Buffer.from(body),
      route: access.route,
      signal: watch.signal,
    })
    watch.heard()
    if (isRedirect(answer)) redirectOf(answer, 'POST', address, url)
    return await read(answer, witness, submitted.text, watch)
  } catch (cause) {
    throw watch.explain(cause)
  } finally {
    // Ends an answer that was not read.
    watch.stop()
  }
}

/** A compressed answer would bypass the limit on bytes. */
const HEADERS = {
  'accept-encoding': 'identity',
  'content-type': 'text/plain; charset=utf-8',
  'user-agent': 'skillsyncd',
}

async function read(answer: HttpAnswer, witness: RemoteWitness, text: string, watch: HttpWatch): Promise<Answer> {
  // Usually a portal or a proxy that wants the user to sign in, instead of the host behind it.
  if (isWebPage(answer)) throw refusal(witness, 'the answer is a web page, not one of a witness')
  switch (answer.status) {
    case 200:
      return { kind: 'line', line: lineIn(await textOf(answer, witness, watch), witness, text) }
    case 409: {
      const body = await textOf(answer, witness, watch)
      const size = typeOf(answer) === SIZE_TYPE ? parseTreeSize(body) : undefined
      if (size === undefined) throw refusal(witness, 'it answers 409 without the size that it has cosigned')
      return { kind: 'size', size }
    }
    case 403:
      throw refusal(witness, 'it answers 403: it has another public key for this log')
    case 404:
      throw refusal(witness, 'it answers 404: it does not know this log')
    case 422:
      throw refusal(witness, 'it answers 422: the log does not continue the one that it has cosigned')
    default:
      throw refusal(witness, `it answers ${answer.status}`)
  }
}

function typeOf(answer: HttpAnswer): string {
  return (answer.header('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

/** Finds the cosignature in the answer, which must be of this very text. Lines of unknown keys are ignored. */
function lineIn(lines: string, witness: RemoteWitness, text: string): string {
  const note = `${text}\n${lines}`
  try {
    const opened = openNote(note, [witness.key])
    const line = signatureLines(note, [witness.key]).get(witness.key)
    // An empty line in the answer would move the end of the text.
    if (opened.text === text && line !== undefined) return line
  } catch (error) {
    if (!(error instanceof NoteRefusedError)) throw error
    throw refusal(witness, `of its answer, ${error.message}`)
  }
  throw refusal(witness, 'its cosignature is of another text')
}

async function textOf(answer: HttpAnswer, witness: RemoteWitness, watch: HttpWatch): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of answer.body) {
    watch.heard()
    bytes += chunk.length
    if (bytes > MOST_ANSWER_BYTES) throw refusal(witness, `its answer has over ${MOST_ANSWER_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Room for the signatures of many keys, also long ones. */
const MOST_ANSWER_BYTES = 2 ** 15

function refusal({ url }: RemoteWitness, why: string): SyncError {
  return new SyncError('log-unwitnessed', `No cosignature of the witness "${url}": ${why}`)
}
