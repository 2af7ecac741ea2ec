import { expect, test } from 'vitest'
import { eventsOf, hear, legacyHttp } from '../support/clients/peer.ts'
import type { Heard, Peer } from '../support/clients/peer.ts'
import type { Program } from '../support/process/program.ts'
import { skill, World } from './world.ts'

const RINGS = ['rings: [{ id: canary, principals: [ada] }, { id: stable, min_age: 3d }]']
const ALPHA = 'skill://team/alpha/SKILL.md'
const BETA = 'skill://team/beta/SKILL.md'

test('a client of a later ring that missed nothing is notified of nothing after a restart, and then of what its ring takes', async () => {
  await using scene = await Scene.start()
  await scene.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })

  await scene.restart()
  await using heard = await scene.connect()
  await scene.promote()
  await heard.next(isUpdate)

  expect(scene.updates(heard)).toEqual([ALPHA])
  await scene.restart()
  await using again = await scene.connect()
  await scene.commit({ 'beta/SKILL.md': skill('beta', 'second') })
  await scene.promote()
  await again.next(isUpdate)
  expect(scene.updates(again)).toEqual([BETA])
})

test('a client of a later ring that missed a promotion is notified of what changed alone', async () => {
  await using scene = await Scene.start()
  await scene.disconnect()
  await scene.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  await scene.promote()

  await scene.restart()
  await using heard = await scene.connect()
  await heard.next(isUpdate)
  await scene.commit({ 'beta/SKILL.md': skill('beta', 'second') })
  await scene.promote()
  await heard.next(({ params }) => params?.uri === BETA)

  expect(scene.updates(heard)).toEqual([ALPHA, BETA])
})

/** A daemon with rings, and a client of the 2025 era in the last one that subscribed to two skills. */
class Scene implements AsyncDisposable {
  readonly #world: World
  readonly #headers: Readonly<Record<string, string>>
  #daemon: Program
  #url: string
  #peer: Peer & { readonly session: string }

  private constructor(
    world: World,
    token: string,
    daemon: Program,
    client: { url: string; peer: Peer & { readonly session: string } },
  ) {
    this.#world = world
    this.#headers = { authorization: `Bearer ${token}` }
    this.#daemon = daemon
    this.#url = client.url
    this.#peer = client.peer
  }

  static async start(): Promise<Scene> {
    const world = await World.create()
    const { home, git, repository } = world
    await repository.commit({ 'beta/SKILL.md': skill('beta', 'first') })
    await home.configure({ team: [`url: ${git.serve('team', repository)}`, 'every: 1h'] }, RINGS)
    await world.synced()
    expect(await home.command('promote', '--now')).toMatchObject({ status: 0 })
    const token = (await home.command('hub', 'token', 'add', 'bob', '--scope', 'skills')).stdout.trim()
    const daemon = home.start('start', '--port', '0')
    const url = await daemon.line()
    const peer = await legacyHttp(url, VERSION, { authorization: `Bearer ${token}` })
    await peer.subscribe([ALPHA, BETA])
    return new Scene(world, token, daemon, { url, peer })
  }

  async commit(files: Readonly<Record<string, string>>): Promise<void> {
    await this.#world.repository.commit(files)
    expect(await this.#world.home.command('sync')).toMatchObject({ status: 0 })
  }

  async promote(): Promise<void> {
    expect(await this.#world.home.command('promote', '--now')).toMatchObject({ status: 0 })
  }

  async disconnect(): Promise<void> {
    await this.#peer[Symbol.asyncDispose]()
  }

  async restart(): Promise<void> {
    await this.#daemon.stop()
    this.#daemon = this.#world.home.start('start', '--port', '0')
    this.#url = await this.#daemon.line()
  }

  /** Opens the stream of the session anew. */
  async connect(): Promise<Heard> {
    const { session } = this.#peer
    const headers = {
      ...this.#headers,
      accept: 'text/event-stream',
      'mcp-session-id': session,
      'mcp-protocol-version': VERSION,
    }
    const stop = new AbortController()
    const response = await fetch(this.#url, { headers, signal: stop.signal })
    expect(response.status).toBe(200)
    return hear(eventsOf(response), async () => stop.abort())
  }

  /** The skills of the notifications, in their order. */
  updates({ messages }: Heard): readonly string[] {
    return messages.filter(isUpdate).map(({ params }) => params.uri)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#peer[Symbol.asyncDispose]()
    await this.#world[Symbol.asyncDispose]()
  }
}

const VERSION = '2025-11-25'

function isUpdate({ method }: { readonly method?: string }): boolean {
  return method === 'notifications/resources/updated'
}
