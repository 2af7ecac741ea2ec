import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Log } from '../../../base/log.ts'
import type { ListenAddress } from '../../../daemon/config/config.ts'
import { refusalOfBrowser } from '../../../serve/http/host-check.ts'
import { openListener } from '../../../serve/http/server/listener.ts'
import type { HttpListener, Site } from '../../../serve/http/server/listener.ts'
import { readBody } from '../../../serve/http/server/request-body.ts'
import { sendPieces } from '../../../serve/http/server/response.ts'
import { utf8 } from '../../../sync/skill/frontmatter.ts'
import { MOST_REQUEST_BYTES } from './add-checkpoint.ts'
import type { Witness, WitnessAnswer } from './witness.ts'

/** Opens the address of a witness (c2sp.org/tlog-witness): it takes checkpoints, and shows those that it has cosigned. */
export async function serveWitness(witness: Witness, listen: ListenAddress, log: Log): Promise<HttpListener> {
  const site: Site = {
    refusalOf: refusalOfBrowser,
    // The signature of the log is all that a request needs.
    admit: async () => ({ kind: 'granted', principal: undefined }),
    routes: {
      '/add-checkpoint': {
        methods: ['POST'],
        answer: async (request, response) => addCheckpoint(witness, log, request, response),
      },
      '/**': {
        methods: ['GET', 'HEAD'],
        answer: async (_request, response, { name }) => showCheckpoint(witness, response, name),
      },
    },
    nothingHere: NOTHING,
  }
  const onError = (error: unknown): void =>
    log.error('request-failed', { error: error instanceof Error ? error : String(error) })
  return openListener(() => site, { ...listen, limits: LIMITS, onError })
}

async function addCheckpoint(
  witness: Witness,
  log: Log,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = []
  if (!(await readBody(request, MOST_REQUEST_BYTES, (bytes) => chunks.push(bytes))))
    return send(response, 413, `A request has at most ${MOST_REQUEST_BYTES} bytes\n`, { connection: 'close' })
  const body = utf8(Buffer.concat(chunks))
  if (body === undefined) return send(response, 400, 'The request is not UTF-8\n')
  const answer = await witness.add(body)
  report(log, answer)
  send(response, answer.status, answer.body, answer.type === undefined ? {} : { 'content-type': answer.type })
}

/** A request that no log has signed may be of anyone: it is not worth a line. */
function report(log: Log, { status, body, checkpoint }: WitnessAnswer): void {
  const fields = { log: checkpoint?.origin, entries: checkpoint?.size }
  const message = body.trim()
  if (status === 200) {
    log.info('cosigned', fields)
    log.recovery('not-cosigned', '')
  } else if (checkpoint === undefined) log.debug('not-cosigned', { status, message })
  // The hub asks once more: it did not know the size.
  else if (status === 409) log.debug('not-cosigned', { ...fields, status, cosigned: Number(body) })
  // A signed checkpoint is public: anyone can send it again with a wrong proof, as often as it pleases.
  else log.failure('warn', 'not-cosigned', { source: '', code: 'content-refused', ...fields, status, message })
}

async function showCheckpoint(witness: Witness, response: ServerResponse, name: string): Promise<void> {
  const [, hash] = /^([\da-f]{64})\/checkpoint$/.exec(name) ?? []
  const note = hash === undefined ? undefined : await witness.checkpointAt(hash)
  if (note === undefined) return send(response, 404, `${NOTHING}\n`)
  send(response, 200, note, { 'cache-control': 'no-cache' })
}

function send(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  sendPieces(response, {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', ...headers },
    pieces: [Buffer.from(text)],
  })
}

const NOTHING = 'Nothing is served at this path'

/** Few logs ask, each some times a day. */
const LIMITS = { headersMs: 10_000, requestMs: 30_000, connections: 256, connectionsPerAddress: 64 }
