import { join } from 'node:path'
import { expect } from 'vitest'
import { contentOf } from '../conformance/peers.ts'
import { listingOf } from '../faults/witness.ts'
import { modernHttp } from '../support/clients/peer.ts'
import type { Peer } from '../support/clients/peer.ts'
import { Home } from '../support/process/program.ts'
import type { Ended, Program } from '../support/process/program.ts'

/** A real daemon with a channel of its own, which other machines of the fleet follow. */
export class Machine implements AsyncDisposable {
  readonly home: Home
  /** The public key of its log. */
  readonly key: string
  readonly #sources: Readonly<Record<string, readonly string[]>>
  readonly #rest: readonly string[]
  #daemon: Program | undefined
  #peer: Peer | undefined
  #url = ''

  private constructor(
    home: Home,
    sources: Readonly<Record<string, readonly string[]>>,
    rest: readonly string[],
    key: string,
  ) {
    this.home = home
    this.#sources = sources
    this.#rest = rest
    this.key = key
  }

  /** Configures and starts a machine whose log has this name. */
  static async start(
    name: string,
    sources: Readonly<Record<string, readonly string[]>>,
    rest: readonly string[] = [],
  ): Promise<Machine> {
    const home = await Home.create()
    const file = keyFileIn(home)
    const made = await home.command('hub', 'channel', 'new-key', name, '--out', file)
    const [key = ''] = made.stdout.split('\n')
    const channel = `channel: { name: ${name}, key: { file: ${file} } }`
    const machine = new Machine(home, sources, [channel, ...rest], key)
    await machine.restart()
    return machine
  }

  /** The file of its private key. */
  get keyFile(): string {
    return keyFileIn(this.home)
  }

  /** The address of its channel. */
  get address(): string {
    return this.#url
  }

  /** The line of its configuration about its channel. */
  get channel(): string {
    return this.#rest[0] ?? ''
  }

  /** The lines of a source that follows this machine. */
  get followed(): readonly string[] {
    return [`follow: { url: "${this.#url}", key: "${this.key}" }`, 'every: 1h']
  }

  async restart(...flags: readonly string[]): Promise<void> {
    await this.stop()
    await this.home.configure(this.#sources, this.#rest)
    this.#daemon = this.home.start('start', ...flags)
    const url = await this.#daemon.line()
    this.#url = new URL('/channel/', url).href
    this.#peer = await modernHttp(url)
  }

  async stop(): Promise<void> {
    await this.#daemon?.stop()
    this.#daemon = undefined
  }

  async command(...args: string[]): Promise<Ended> {
    return this.home.command(...args)
  }

  /** The first line of a command that must succeed. */
  async told(...args: string[]): Promise<string> {
    const ended = await this.home.command(...args)
    expect(ended).toMatchObject({ status: 0 })
    return ended.stdout
  }

  /** The URIs that a client is offered, and can read. */
  async skills(): Promise<readonly string[]> {
    const peer = this.#peer
    if (peer === undefined) throw new Error('The machine was stopped')
    const uris = [...(await listingOf(peer)).keys()].toSorted()
    for (const uri of uris) contentOf(await peer.call('resources/read', { uri }))
    return uris
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
  }
}

function keyFileIn({ path }: Home): string {
  return join(path, 'config/skillsyncd/channel.key')
}
