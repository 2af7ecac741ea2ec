import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { bandFrame, FLUSH, packet } from '../../../../src/base/pkt-line.ts'
import { PushRemote } from '../../../../src/features/marketplace/git/push-remote.ts'
import { isObjectId } from '../../../../src/sync/model/revision.ts'
import type { ObjectId } from '../../../../src/sync/model/revision.ts'
import { PLAIN_WAY } from '../../../../src/sync/upstream/http/host-access.ts'
import { FETCH_LIMITS } from '../../../../src/sync/upstream/upstream.ts'
import { GitServer } from '../../../support/git/git-server.ts'
import { Repository } from '../../../support/git/repository.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { portOf } from '../../../sync/upstream/front.ts'
import { objectId } from '../../../sync/upstream/reached.ts'

const STEADY = new AbortController().signal
const BRANCH = 'refs/heads/main'
const OLD = id('1')
const NEW = id('2')
const PACK = { byteLength: 8, pieces: pieces }

test.each([
  ['without report-status', 'delete-refs side-band-64k', 'unsupported'],
  ['of SHA-256 ids', 'report-status side-band-64k object-format=sha256', 'unsupported'],
])('a server %s is refused before anything is sent', async (_, capabilities, code) => {
  await using host = await Host.start({ capabilities })

  const failure = await host.remote.receiver(BRANCH, STEADY).catch((error: unknown) => error)

  expect(failure).toMatchObject({ code })
  expect(host.pushed).toEqual([])
})

test('a branch at an id of another kind is refused', async () => {
  await using host = await Host.start({ tip: '1'.repeat(64) })

  await expect(host.remote.receiver(BRANCH, STEADY)).rejects.toMatchObject({
    code: 'source-unreachable',
    message: expect.stringMatching(/^Cannot push to ".*": the answer is not a list of refs$/),
  })
})

test('a branch that is at no commit has no tree', async () => {
  await using repository = await Repository.create()
  const blob = await repository.blob('no commit')
  await using server = await GitServer.start()
  await using folder = await temporaryFolder()
  const parts = { scratch: folder.path, limits: FETCH_LIMITS, way: async () => PLAIN_WAY }
  const remote = new PushRemote(server.serve('out', repository), parts)

  await expect(remote.treeOf(objectId(blob), STEADY)).rejects.toMatchObject({
    code: 'source-unreachable',
    message: expect.stringMatching(/^Cannot read [0-9a-f]{40} of ".*": no commit was sent$/),
  })
})

test('the request moves the one branch from where it was, with the pack behind it', async () => {
  await using host = await Host.start({ report: ['unpack ok\n', `ok ${BRANCH}\n`] })

  const end = await host.push()

  expect(end).toEqual({ kind: 'taken' })
  const [body = ''] = host.pushed
  expect(body).toMatch(new RegExp(`^[0-9a-f]{4}${OLD} ${NEW} ${BRANCH}\\0 report-status side-band-64k0000PACKPACK$`))
})

test('a server without the side band is understood too', async () => {
  await using host = await Host.start({ capabilities: 'report-status', report: ['unpack ok\n', `ok ${BRANCH}\n`] })

  expect(await host.push()).toEqual({ kind: 'taken' })
})

test.each([
  [['unpack index-pack abnormal exit\n', `ng ${BRANCH} unpacker error\n`], 'unpacker error'],
  [['unpack index-pack failed\n'], 'unpack index-pack failed'],
  [['unpack ok\n', `ng ${BRANCH} non-fast-forward\n`], 'non-fast-forward'],
  [['unpack ok\n', `ok ${BRANCH}\n`, `ng ${BRANCH} after all\n`], 'after all'],
  [['unpack ok\n', 'ok refs/heads/other\n'], 'unpack ok'],
])('the report %j is a refusal', async (report, why) => {
  await using host = await Host.start({ report })

  expect(await host.push()).toEqual({ kind: 'refused', why })
})

test.each([[[]], [['ok refs/heads/main\n']], [['hello\n']]])('the report %j leaves the end unknown', async (report) => {
  await using host = await Host.start({ report })

  await expect(host.push()).rejects.toMatchObject({ code: 'source-unreachable' })
})

test('an answer without end is given up after a bounded number of bytes', async () => {
  await using host = await Host.start({
    answer(response) {
      const line = bandFrame(2, Buffer.alloc(60_000, 'x'))
      const more = (): void => void (response.destroyed || response.write(line, more))
      more()
    },
  })

  await expect(host.push()).rejects.toMatchObject({ code: 'limit-exceeded' })
})

test('a listing without end is given up after a bounded number of bytes', async () => {
  await using host = await Host.start({
    list(response) {
      const line = packet(`${OLD} refs/heads/${'x'.repeat(60_000)}\n`)
      const more = (): void => void (response.destroyed || response.write(line, more))
      more()
    },
  })

  await expect(host.remote.receiver(BRANCH, STEADY)).rejects.toMatchObject({ code: 'limit-exceeded' })
})

test('a server that dies in the middle of the pack is a failure, and so is one that takes nothing more', async () => {
  await using dying = await Host.start({ onBody: (request) => request.socket.destroy() })
  await using hanging = await Host.start({ onBody: (request) => request.pause() })

  await expect(dying.push(LARGE)).rejects.toMatchObject({ code: 'source-unreachable' })
  await expect(hanging.push(LARGE)).rejects.toMatchObject({ code: 'source-unreachable' })
})

test('an end by the signal reaches a push that hangs', async () => {
  await using host = await Host.start({ onBody: (request) => request.pause() })
  const ending = new AbortController()
  const push = host.push(LARGE, ending.signal)
  await host.begun

  ending.abort()

  await expect(push).rejects.toMatchObject({ name: 'AbortError' })
})

interface HostOptions {
  readonly tip?: string
  readonly capabilities?: string
  readonly report?: readonly string[]
  readonly list?: (response: ServerResponse) => void
  readonly answer?: (response: ServerResponse) => void
  readonly onBody?: (request: IncomingMessage) => void
}

/** A server that takes pushes, as a script has it. */
class Host implements AsyncDisposable {
  readonly remote: PushRemote
  readonly pushed: string[] = []
  /** Resolves when a push has begun. */
  readonly begun: Promise<void>
  readonly #end: () => Promise<void>

  private constructor(remote: PushRemote, begun: Promise<void>, end: () => Promise<void>) {
    this.remote = remote
    this.begun = begun
    this.#end = end
  }

  static async start(options: HostOptions): Promise<Host> {
    const folder = await temporaryFolder()
    const { promise: begun, resolve } = Promise.withResolvers<void>()
    const server = createServer((request, response) => {
      if (request.method === 'GET') return answerListing(response, options)
      resolve()
      if (options.onBody !== undefined) return options.onBody(request)
      void host.#take(request, response, options)
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const limits = { ...FETCH_LIMITS, connectMs: 2000, idleMs: 500 }
    const url = `http://127.0.0.1:${portOf(server)}/out.git`
    const remote = new PushRemote(url, { scratch: folder.path, limits, way: async () => PLAIN_WAY })
    const host = new Host(remote, begun, async () => {
      const closed = new Promise<void>((done) => void server.close(() => done()))
      server.closeAllConnections()
      await closed
      await folder[Symbol.asyncDispose]()
    })
    return host
  }

  async #take(request: IncomingMessage, response: ServerResponse, options: HostOptions): Promise<void> {
    this.pushed.push((await buffer(request)).toString('latin1'))
    answerPush(response, options)
  }

  async push(pack = PACK, signal = STEADY) {
    const receiver = await this.remote.receiver(BRANCH, STEADY)
    return this.remote.push(receiver, { branch: BRANCH, to: NEW, pack }, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end()
  }
}

function answerListing(
  response: ServerResponse,
  { tip = OLD, capabilities = 'report-status side-band-64k', list }: HostOptions,
) {
  response.writeHead(200, { 'content-type': 'application/x-git-receive-pack-advertisement' })
  response.write(Buffer.concat([packet('# service=git-receive-pack\n'), FLUSH]))
  response.write(packet(`${tip} ${BRANCH}\0${capabilities}\n`))
  if (list !== undefined) return list(response)
  response.end(FLUSH)
}

function answerPush(response: ServerResponse, { capabilities, report = [], answer }: HostOptions): void {
  response.writeHead(200, { 'content-type': 'application/x-git-receive-pack-result' })
  if (answer !== undefined) return answer(response)
  const lines = Buffer.concat([...report.map(packet), FLUSH])
  response.end(capabilities === 'report-status' ? lines : Buffer.concat([bandFrame(1, lines), FLUSH]))
}

const LARGE = {
  byteLength: 2 ** 26,
  async *pieces() {
    for (let done = 0; done < 2 ** 26; done += 2 ** 16) yield Buffer.alloc(2 ** 16)
  },
}

async function* pieces() {
  yield Buffer.from('PACK')
  yield Buffer.from('PACK')
}

function id(digit: string): ObjectId {
  const text = digit.repeat(40)
  if (!isObjectId(text)) throw new TypeError(`"${text}" is no object id`)
  return text
}
