import { expect, test } from 'vitest'
import { objectPath } from '../../../../src/features/channel/content/channel-entry.ts'
import { recallIdOf } from '../../../../src/sync/model/decisions/published-recall.ts'
import { recallsIn } from '../../../support/decided.ts'
import { Follower } from './follower.ts'
import { AT, CraftedChannel, sha256, skillNamed, startFileServer } from './site.ts'

test('a follower obeys a recall at once, also if the entry that it reads is replaced meanwhile', async () => {
  await using scene = await Scene.start()
  scene.onHead(async () => scene.publish())

  await scene.follower.pull()

  expect(recallsIn(scene.follower.store.decisions.outOfService).map(({ id }) => id)).toEqual([scene.id])
  expect(scene.checkpoints).toBe(2)
})

test('an entry that stays incomplete fails the pull, after one more look', async () => {
  await using scene = await Scene.start()
  scene.onHead(async () => {})

  expect(await scene.follower.failure()).toMatchObject({ code: 'source-unreachable' })

  expect(recallsIn(scene.follower.store.decisions.outOfService).map(({ id }) => id)).toEqual([])
  expect(scene.checkpoints).toBe(2)
})

/** A channel that has a recall since its follower was there. */
class Scene implements AsyncDisposable {
  readonly follower: Follower
  /** That of the recall. */
  readonly id: string
  readonly #channel: CraftedChannel
  readonly #server: Awaited<ReturnType<typeof startFileServer>>
  readonly #list: string
  #head = ''
  #count = 0

  private constructor(
    channel: CraftedChannel,
    parts: { readonly server: Awaited<ReturnType<typeof startFileServer>>; readonly follower: Follower },
  ) {
    this.#channel = channel
    this.#server = parts.server
    this.follower = parts.follower
    const contents = [sha256(Buffer.from('bad'))]
    this.id = recallIdOf({ at: AT, contents })
    this.#list = channel.object({ recalls: [{ id: this.id, at: AT, contents, reason: 'it is bad', places: [] }] })
  }

  static async start(): Promise<Scene> {
    const channel = new CraftedChannel()
    const server = await startFileServer(channel.read)
    await channel.publish(skillNamed('good'))
    const follower = await Follower.open({ place: server.url })
    await follower.updated()
    const scene = new Scene(channel, { server, follower })
    await scene.publish()
    server.requests.length = 0
    return scene
  }

  /** Appends an entry with the recall, and other content than the one before. */
  async publish(): Promise<void> {
    this.#count += 1
    const source = this.#channel.source([skillNamed('good', `version ${this.#count}`).skill])
    this.#head = await this.#channel.publishHead({ format: 1, sources: { items: [source] }, recalls: this.#list })
  }

  /** Removes the head of the newest entry when it is requested, and calls back then. */
  onHead(callback: () => Promise<void>): void {
    const path = objectPath(this.#head)
    this.#server.meddle = (_, response, asked) => {
      if (asked !== path) return false
      void callback().then(() => response.writeHead(404, { 'content-length': 0 }).end())
      return true
    }
  }

  /** The requests of the follower for the checkpoint since. */
  get checkpoints(): number {
    return this.#server.requests.filter(({ path }) => path === 'checkpoint').length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.follower[Symbol.asyncDispose]()
    await this.#server[Symbol.asyncDispose]()
  }
}
