import { readFile, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { signerText } from '../../../src/sync/transparency-log/signed-note.ts'
import { Follower } from '../../features/channel/follow/follower.ts'
import { ORIGIN, SIGNER } from '../../features/channel/follow/site.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { portOf } from '../../sync/upstream/front.ts'
import { skill } from '../world.ts'
import { Hub, programs } from './replicas.ts'
import type { Member } from './replicas.ts'

describe.skipIf(programs === undefined)('the channel of a hub of several processes', () => {
  test('is one log, whichever process answers, and goes on when the leader is killed', async () => {
    await using hub = await Hub.create()
    await using folder = await temporaryFolder()
    const key = join(folder.path, 'channel.key')
    await writeFile(key, signerText(SIGNER, Buffer.alloc(32, 1)), { mode: 0o600 })
    const config = ['channel:', `  name: ${ORIGIN}`, `  key: { file: ${key} }`]
    const first = await hub.start(undefined, config)
    await first.lists('alpha')
    const second = await hub.start(undefined, config)
    await second.lists('alpha')
    await using proxy = await Alternating.before(first, second)
    await using follower = await Follower.open({ place: `${proxy.origin}/channel/` })
    await has(follower, 'first')

    await hub.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
    await has(follower, 'second')
    await first.program.kill()
    proxy.members = [second]
    await hub.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'third') })
    await has(follower, 'third')
    await first.start()
    await first.lists('alpha')
    proxy.members = [first, second]
    await hub.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'fourth') })
    await has(follower, 'fourth')

    const logs = async () => Promise.all([first, second].map(async ({ home }) => readFile(logOf(home.state), 'utf8')))
    await expect.poll(async () => new Set(await logs()).size, { timeout: 30_000, interval: 100 }).toBe(1)
    expect((await logs())[0]?.trimEnd().split('\n')).toHaveLength(4)
    const checkpoints = await Promise.all(
      [first, second].map(async ({ url }) => (await fetch(new URL('/channel/checkpoint', url))).text()),
    )
    expect(new Set(checkpoints).size).toBe(1)
  }, 180_000)
})

function logOf(state: string): string {
  return join(state, 'logs/channel.jsonl')
}

/** Pulls until the follower has the text. No pull may find anything wrong with the log. */
async function has(follower: Follower, text: string): Promise<void> {
  await expect
    .poll(
      async () => {
        const outcome = await follower.pull()
        if (outcome.kind === 'failed' && outcome.error.code !== 'source-unreachable') throw outcome.error
        return Object.values(await follower.skills())[0]?.files['SKILL.md']
      },
      { timeout: 60_000, interval: 100 },
    )
    .toContain(text)
}

/** A proxy that sends each request to the next process. */
class Alternating implements AsyncDisposable {
  members: readonly Member[]
  readonly origin: string
  readonly #close: () => Promise<void>
  #turn = 0

  private constructor(members: readonly Member[], origin: string, close: () => Promise<void>) {
    this.members = members
    this.origin = origin
    this.#close = close
  }

  static async before(...members: readonly Member[]): Promise<Alternating> {
    const server = createServer((incoming, response) => {
      const target = proxy.members[proxy.#turn++ % proxy.members.length]
      const { hostname, port } = new URL(target?.url ?? '')
      const options = {
        hostname,
        port,
        path: incoming.url,
        headers: { ...incoming.headers, host: `${hostname}:${port}` },
      }
      const passed = request(options, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      })
      passed.on('error', () => response.writeHead(502).end())
      passed.end()
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const proxy = new Alternating(members, `http://127.0.0.1:${portOf(server)}`, async () => {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    })
    return proxy
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
  }
}
