import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { contentOf } from '../conformance/peers.ts'
import { listingOf } from '../faults/witness.ts'
import { CraftedChannel, KEY, skillNamed, startFileServer } from '../features/channel/follow/site.ts'
import type { FileServer } from '../features/channel/follow/site.ts'
import { modernHttp } from '../support/clients/peer.ts'
import type { Peer } from '../support/clients/peer.ts'
import { Home } from '../support/process/program.ts'
import type { Ended, Program } from '../support/process/program.ts'

test('an entry that the gate refuses is not served, and the next one is judged anew', async () => {
  await using world = await World.open(
    gateOf('case "$CANDIDATE" in *\'"bad"\'*) echo "bad is not wanted"; exit 1;; esac'),
  )
  await world.publish('good')
  expect(await world.sync()).toMatchObject({ status: 0 })

  await world.publish('good', 'bad')
  const refused = await world.sync()
  expect(refused).toMatchObject({
    status: 1,
    stdout: expect.stringContaining('the gate refuses it: bad is not wanted'),
  })
  expect(await world.skills()).toEqual({ good: 'entry 1' })

  await world.publish('good', 'better')
  expect(await world.sync()).toMatchObject({ status: 0 })
  expect(await world.skills()).toEqual({ better: 'entry 3', good: 'entry 3' })
})

test('an entry that the gate holds is served once it is approved, and a rejected one never', async () => {
  await using world = await World.open(gateOf('echo "look at it"; exit 3'))
  const first = await world.publish('one')
  await world.sync()
  expect(await world.skills()).toEqual({})
  expect(await world.problem()).toBe('awaiting-approval')

  expect(await world.home.command('approve', 'hub', first)).toMatchObject({ status: 0 })
  await world.sync()
  expect(await world.skills()).toEqual({ one: 'entry 1' })

  const second = await world.publish('one', 'two')
  await world.sync()
  expect(await world.home.command('reject', 'hub', second)).toMatchObject({ status: 0 })
  await world.sync()
  expect(await world.skills()).toEqual({ one: 'entry 1' })
  expect(await world.problem()).toBe('rejected')
})

test('an entry with few of the skills is held until it is approved', async () => {
  await using world = await World.open()
  const many = Array.from({ length: 12 }, (_, index) => `skill-${index}`)
  await world.publish(...many)
  await world.sync()
  const fewer = await world.publish('skill-0')
  await world.sync()

  expect(Object.keys(await world.skills())).toHaveLength(12)
  expect(await world.problem()).toBe('mass-deletion')
  expect(await world.home.command('approve', 'hub', fewer)).toMatchObject({ status: 0 })
  await world.sync()
  expect(await world.skills()).toEqual({ 'skill-0': 'entry 2' })
  expect(await world.problem()).toBe(undefined)
})

test('a hold at an earlier entry serves it through later ones, and release the newest', async () => {
  await using world = await World.open()
  const first = await world.publish('one')
  await world.sync()
  await world.publish('one', 'two')
  await world.sync()

  expect(await world.home.command('hold', 'hub', first)).toMatchObject({ status: 0 })
  expect(await world.skills()).toEqual({ one: 'entry 1' })
  await world.publish('one', 'three')
  await world.sync()
  expect(await world.skills()).toEqual({ one: 'entry 1' })

  expect(await world.home.command('release', 'hub')).toMatchObject({ status: 0 })
  await world.sync()
  expect(await world.skills()).toEqual({ one: 'entry 3', three: 'entry 3' })
})

test('a rollback lasts until the next entry', async () => {
  await using world = await World.open()
  const first = await world.publish('one')
  await world.sync()
  await world.publish('one', 'two')
  await world.sync()

  expect(await world.home.command('rollback', 'hub', first)).toMatchObject({ status: 0 })
  await world.sync()
  expect(await world.skills()).toEqual({ one: 'entry 1' })
  await world.publish('one', 'three')
  await world.sync()
  expect(await world.skills()).toEqual({ one: 'entry 3', three: 'entry 3' })
})

test('a skill of a channel that is disabled here is out of service in later entries too, until it is enabled', async () => {
  await using world = await World.open()
  await world.publish('one', 'two')
  await world.sync()

  expect(await world.home.command('disable', 'hub/team/one')).toMatchObject({ status: 0 })
  expect(await world.skills()).toEqual({ two: 'entry 1' })
  await world.publish('one', 'two')
  await world.sync()
  expect(await world.skills()).toEqual({ two: 'entry 2' })

  expect(await world.home.command('enable', 'hub/team/one')).toMatchObject({ status: 0 })
  expect(await world.skills()).toEqual({ one: 'entry 2', two: 'entry 2' })
})

test('a held channel stays at its entry, and is served on from it after a restart', async () => {
  await using world = await World.open()
  await world.publish('one')
  await world.sync()
  expect(await world.home.command('hold', 'hub')).toMatchObject({ status: 0 })
  await world.publish('one', 'two')
  await world.sync()
  expect(await world.skills()).toEqual({ one: 'entry 1' })
  expect(await world.problem()).toBe('held')

  await world.restart()
  await world.sync()
  expect(await world.skills()).toEqual({ one: 'entry 1' })
  expect(await world.home.command('release', 'hub')).toMatchObject({ status: 0 })
  await world.sync()
  expect(await world.skills()).toEqual({ one: 'entry 2', two: 'entry 2' })
})

test('--frozen serves the locked entry without a request, and a machine that does not have it says so', async () => {
  await using world = await World.open()
  await world.publish('one')
  await world.sync()
  expect(await world.home.command('lock')).toMatchObject({ status: 0 })
  await world.publish('one', 'two')
  const requests = world.server.requests.length

  await world.restart('--frozen')
  expect(await world.sync('--frozen')).toMatchObject({ status: 0 })
  expect(await world.skills()).toEqual({ one: 'entry 1' })
  expect(world.server.requests.length).toBe(requests)

  await world.stop()
  world.home.env['XDG_STATE_HOME'] = join(world.home.path, 'other-state')
  const elsewhere = await world.sync('--frozen')
  expect(elsewhere).toMatchObject({ status: 1, stdout: expect.stringContaining('failed (not-stored)') })
  expect(world.server.requests.length).toBe(requests)
})

/** A gate of a few lines of shell, whose candidate is in `$CANDIDATE`. */
function gateOf(script: string): string {
  return `#!/bin/sh\nCANDIDATE=$(cat)\n${script}\n`
}

/** A daemon that follows a channel on a web server. It polls when a command requests it. */
class World implements AsyncDisposable {
  readonly home: Home
  readonly server: FileServer
  readonly #channel: CraftedChannel
  #daemon: Program
  #peer: Peer

  private constructor(home: Home, channel: CraftedChannel, server: FileServer, running: Running) {
    this.home = home
    this.server = server
    this.#channel = channel
    this.#daemon = running.daemon
    this.#peer = running.peer
  }

  static async open(gate?: string): Promise<World> {
    const channel = new CraftedChannel()
    await using opened = new AsyncDisposableStack()
    const server = opened.use(await startFileServer(channel.read))
    const home = await Home.create()
    const command = join(home.path, 'gate.sh')
    if (gate !== undefined) await writeFile(command, gate, { mode: 0o755 })
    const rest = gate === undefined ? [] : [`gate: { command: ${command} }`]
    await home.configure({ hub: [`follow: { url: "${server.url}", key: "${KEY}" }`, 'every: 1h'] }, rest)
    // The first poll of the daemon finds the channel empty.
    const world = new World(home, channel, server, await startIn(home))
    opened.move()
    return world
  }

  /** Publishes these skills, with the number of the entry as their text, and returns its id. */
  async publish(...names: readonly string[]): Promise<string> {
    const text = `entry ${this.#channel.size + 1}`
    return this.#channel.publish(...names.map((name) => skillNamed(name, text)))
  }

  async sync(...flags: readonly string[]): Promise<Ended> {
    return this.home.command('sync', ...flags)
  }

  /** The text of each skill that a client reads, by its path at the hub. */
  async skills(): Promise<Readonly<Record<string, string>>> {
    const texts: Record<string, string> = {}
    for (const uri of (await listingOf(this.#peer)).keys()) {
      const text = contentOf(await this.#peer.call('resources/read', { uri })).bytes.toString()
      const [, name = uri] = /^skill:\/\/hub\/team\/([^/]+)\/SKILL\.md$/.exec(uri) ?? []
      texts[name] = text.split('\n').at(-2) ?? ''
    }
    return texts
  }

  async problem(): Promise<string | undefined> {
    const { sources } = JSON.parse((await this.home.command('status', '--json')).stdout)
    return sources[0].problem?.code
  }

  async stop(): Promise<void> {
    await this.#daemon.stop()
  }

  async restart(...flags: readonly string[]): Promise<void> {
    await this.stop()
    const { daemon, peer } = await startIn(this.home, flags)
    this.#daemon = daemon
    this.#peer = peer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
    await this.server[Symbol.asyncDispose]()
  }
}

interface Running {
  readonly daemon: Program
  readonly peer: Peer
}

async function startIn(home: Home, flags: readonly string[] = []): Promise<Running> {
  const daemon = home.start('start', ...flags)
  return { daemon, peer: await modernHttp(await daemon.line()) }
}
