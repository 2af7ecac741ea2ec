import { expect } from 'vitest'
import { encodeEntry } from '../../../../src/sync/store/channel-entry.ts'
import { Follower } from './follower.ts'
import type { FollowerOptions } from './follower.ts'
import { AT, CraftedChannel, skillNamed, startFileServer } from './site.ts'
import type { FileServer } from './site.ts'

/** A follower over HTTP that has the first entry of a channel. */
export class World implements AsyncDisposable {
  readonly #place: { channel: CraftedChannel }
  readonly server: FileServer
  readonly follower: Follower

  private constructor(place: { channel: CraftedChannel }, server: FileServer, follower: Follower) {
    this.#place = place
    this.server = server
    this.follower = follower
  }

  /** The channel that the server has. */
  get channel(): CraftedChannel {
    return this.#place.channel
  }

  set channel(channel: CraftedChannel) {
    this.#place.channel = channel
  }

  static async open(options: Partial<FollowerOptions> = {}, entries = 1): Promise<World> {
    const channel = new CraftedChannel()
    await channel.append(...entriesNamed('other', entries - 1))
    await channel.publish(skillNamed('one'))
    const place = { channel }
    const server = await startFileServer(async (path) => place.channel.read(path))
    const world = new World(place, server, await Follower.open({ place: server.url, ...options }))
    await world.follower.updated()
    return world
  }

  /** A pull fails with this code, and what was served before is served on, also after a restart. */
  async expectRefused(code: string | RegExp, message: unknown = expect.any(String)): Promise<void> {
    const { follower } = this
    expect(await follower.failure()).toMatchObject({ code: expect.stringMatching(code), message })
    expect(await follower.skills()).toMatchObject(ONE)
    await follower.reopen()
    expect(await follower.skills()).toMatchObject(ONE)
  }

  /** The next content that the channel publishes is followed. */
  async recovers(channel = this.channel): Promise<void> {
    const { follower } = this
    this.channel = channel
    this.server.meddle = () => false
    await channel.publish(skillNamed('one'), skillNamed('next'))
    await follower.updated()
    expect(Object.keys(await follower.skills())).toEqual(['team/next', 'team/one'])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.follower[Symbol.asyncDispose]()
    await this.server[Symbol.asyncDispose]()
  }
}

/** Entries that name a head which is not there: only the newest one is read. */
export function entriesNamed(name: string, count: number): Uint8Array[] {
  return Array.from({ length: Math.max(count, 0) }, (_, index) =>
    encodeEntry({ at: AT, head: Buffer.from(`${name} ${index}`).toString('hex').padEnd(64, '0').slice(0, 64) }),
  )
}

const ONE = { 'team/one': { files: { 'SKILL.md': expect.stringContaining('name: one') } } }
