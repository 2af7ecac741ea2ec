import { once } from 'node:events'
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import type { GateCandidate } from '../../src/features/scan/candidate.ts'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { pullNow } from '../support/pull-now.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { Desk, skills } from './desk.ts'
import { Hub, idOf } from './hub.ts'

/** A gate of a few lines of shell; `$CANDIDATE` is the document it is asked about. */
async function gated(script: string, onFailure?: string) {
  const folder = await temporaryFolder()
  const command = join(folder.path, 'gate.sh')
  await writeFile(command, `#!/bin/sh\nCANDIDATE=$(cat)\n${script}\n`)
  await chmod(command, 0o755)
  const more = onFailure === undefined ? '' : `, on_failure: ${onFailure}`
  const desk = await Desk.open([], `gate: { command: ${command}${more} }`)
  return {
    desk,
    [Symbol.asyncDispose]: async () => {
      await desk[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

const REFUSES_BAD = 'case "$CANDIDATE" in *\'"bad"\'*) echo "bad is not wanted"; exit 1;; esac'

test('what a gate refuses is not served, and what was served is served on', async () => {
  await using scene = await gated(REFUSES_BAD)
  const { desk } = scene
  await desk.repository.commit(skills('good'))
  await desk.start()
  const first = await desk.sync()
  await desk.repository.commit(skills('bad'))

  const refused = await desk.sync()

  expect(first.kind).toBe('updated')
  expect(refused).toMatchObject({ kind: 'failed', error: { code: 'content-refused' } })
  expect(desk.status().problem?.message).toContain('the gate refuses it: bad is not wanted')
  expect(desk.names()).toEqual(['good'])
})

test('what a gate holds waits for a person, who is not asked again', async () => {
  await using scene = await gated('echo "look at it"; exit 3')
  const { desk } = scene
  const commit = await desk.repository.commit(skills('new'))
  await desk.start()

  const held = await desk.sync()
  const again = await desk.sync()
  await desk.decide('approve', commit)
  const taken = await desk.sync()

  expect([held, again]).toMatchObject([
    { kind: 'waiting', reason: { code: 'awaiting-approval' } },
    { kind: 'waiting', reason: { code: 'awaiting-approval' } },
  ])
  expect(taken.kind).toBe('updated')
  expect(desk.names()).toEqual(['new'])
})

test.each([
  [undefined, 'failed', []],
  ['publish', 'updated', ['new']],
])('a gate that is killed, with on_failure %s, ends the pull %s', async (onFailure, kind, names) => {
  await using scene = await gated('kill -9 $$', onFailure)
  const { desk } = scene
  await desk.repository.commit(skills('new'))
  await desk.start()

  const outcome = await desk.sync()

  expect(outcome.kind).toBe(kind)
  expect(desk.names()).toEqual(names)
})

test('what a gate reads stays while the pull of another source collects garbage', async () => {
  await using git = await GitServer.start()
  await using team = await Repository.create()
  await using other = await Repository.create()
  await using gate = await PausingGate.start('team')
  const sources = { team: [`url: ${git.serve('team', team)}`], other: [`url: ${git.serve('other', other)}`] }
  await using hub = await Hub.start(sources, undefined, [`gate: { url: ${gate.url} }`])
  const unused = join(hub.state, 'checkouts', 'a'.repeat(64))
  await team.commit(skills('awaited'))
  await other.commit(skills('other'))
  const pulling = pullNow(hub.daemon, [idOf('team')])
  const folder = await gate.paused
  await mkdir(unused)

  await pullNow(hub.daemon, [idOf('other')])

  await expect(stat(unused)).rejects.toThrow('ENOENT')
  expect(await readFile(join(folder, 'SKILL.md'), 'utf8')).toContain('awaited')
  gate.release()
  expect((await pulling).get(idOf('team'))?.kind).toBe('updated')
})

/** A gate at an address that has every source published, one of them only once it is released. */
class PausingGate implements AsyncDisposable {
  readonly url: string
  /** The folder of the first skill of the source that waits. */
  readonly paused: Promise<string>
  readonly release: () => void
  readonly #server: Server

  private constructor(server: Server, paused: Promise<string>, release: () => void) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    this.paused = paused
    this.release = release
  }

  static async start(source: string): Promise<PausingGate> {
    const paused = Promise.withResolvers<string>()
    const released = Promise.withResolvers<void>()
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const candidate: GateCandidate = JSON.parse(await text(request))
      if (candidate.source === source) {
        paused.resolve(candidate.skills[0]?.folder ?? '')
        await released.promise
      }
      response.end('{"verdict":"publish"}')
    }
    const server = createServer((request, response) => void answer(request, response))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return new PausingGate(server, paused.promise, released.resolve)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.release()
    this.#server.closeAllConnections()
    await once(this.#server.close(), 'close')
  }
}
