import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { originHash } from '../../src/features/channel/witness/cosigned-logs.ts'
import { openCheckpoint } from '../../src/sync/transparency-log/checkpoint.ts'
import { parseVerifier } from '../../src/sync/transparency-log/signed-note.ts'
import { freePort } from '../support/free-port.ts'
import { Home } from '../support/process/program.ts'
import type { Program } from '../support/process/program.ts'

const NAME = 'skills.example.com/channel'

test('a hub that forks its log is caught by a witness, and a follower with a quorum keeps what it has', async () => {
  await using scene = await Scene.create()
  const { hub, follower } = scene

  const port = `${await freePort()}`
  const first = hub.home.start('start', '--port', port)
  const url = await first.line()
  await published(first)
  await follower.follow(url, { quorum: 1 })
  expect(await follower.synced()).toMatchObject({ status: 0 })
  expect(await follower.text()).toContain('of the first day')
  await first.stop()

  // The holder of the key makes two different logs of one.
  const fork = await scene.copyOfHub()
  await hub.write('of the second day')
  await fork.write('of the fork')
  const second = hub.home.start('start', '--port', port)
  await second.line()
  await published(second)
  expect(await follower.synced()).toMatchObject({ status: 0 })
  expect(await follower.text()).toContain('of the second day')
  await second.stop()

  const forked = fork.home.start('start', '--port', port)
  await forked.line()
  const refused = await forked.said((line) => line.includes('"not-published"'))
  expect(refused).toContain('log-unwitnessed')
  expect(await scene.witness.said((line) => line.includes('"not-cosigned"') && line.includes('422'))).toContain(NAME)
  const status = await fork.home.command('status')
  expect(status.stdout).toMatch(/channel at \/channel\/: log-unwitnessed since .*answers 422/)
  expect(status.stdout).not.toContain('channel at /channel/: up to date')
  // It still serves the state before, which is no news for a new follower and a rollback for this one.
  expect(await follower.synced()).toMatchObject({ status: 1, stdout: expect.stringContaining('log-rolled-back') })
  await forked.stop()

  // Without its witness it can publish the fork, and the follower sees that no witness has cosigned it.
  await fork.configure([])
  const alone = fork.home.start('start', '--port', port)
  await alone.line()
  await expect.poll(async () => (await fetch(new URL('/channel/checkpoint', url))).text()).toMatch(/^.*\n2\n/)
  expect(await follower.synced()).toMatchObject({ status: 1, stdout: expect.stringContaining('log-unwitnessed') })
  expect(await follower.text()).toContain('of the second day')
  const newcomer = await scene.addFollower()
  await newcomer.follow(url, { quorum: 1 })
  expect(await newcomer.synced()).toMatchObject({ status: 1, stdout: expect.stringContaining('log-unwitnessed') })
  // A follower without witnesses has no way to know.
  await newcomer.follow(url, {})
  expect(await newcomer.synced()).toMatchObject({ status: 0 })
  expect(await newcomer.text()).toContain('of the fork')
  // With a witness from now on, the answer that nothing is new is not believed.
  await newcomer.follow(url, { quorum: 1 })
  expect(await newcomer.synced()).toMatchObject({ status: 1, stdout: expect.stringContaining('log-unwitnessed') })
})

test('a hub whose log was restored from an old copy is refused by its witness, and says so', async () => {
  await using scene = await Scene.create()
  const { hub } = scene
  const first = hub.home.start('start')
  await first.line()
  await published(first)
  await first.stop()
  const old = await scene.copyOfHub()
  await hub.write('of the second day')
  const second = hub.home.start('start')
  await second.line()
  await published(second)
  await second.stop()
  // The state of the first day, without the skills of the second.
  await rm(hub.home.state, { recursive: true })
  await cp(old.home.state, hub.home.state, { recursive: true })
  await rm(join(hub.home.state, 'logs/channel.checkpoint'))
  await hub.write('of the first day')

  const restored = hub.home.start('start')
  await restored.line()
  const refused = await restored.said((line) => line.includes('"not-published"'))

  expect(refused).toContain('has cosigned 2 entries of this log, which has 1 here')
})

test('a witness ends at SIGTERM, remembers what it cosigned, and is alone with its state', async () => {
  await using scene = await Scene.create()
  const { hub } = scene
  const daemon = hub.home.start('start')
  await daemon.line()
  await published(daemon)
  const shown = `${scene.url}${originHash(NAME)}/checkpoint`
  const before = await (await fetch(shown)).text()

  const second = await scene.home.run(...scene.command)
  expect(second).toMatchObject({
    status: 1,
    stdout: '',
    stderr: expect.stringMatching(/\(skillsyncd hub witness\) writes it; stop it first/),
  })
  const log = parseVerifier(hub.key)!
  const cosigner = parseVerifier(scene.key, 'cosignature')!
  expect(openCheckpoint(before, NAME, [log, cosigner])).toMatchObject({ size: 1, cosigners: [cosigner] })
  expect(await scene.witness.stop()).toMatchObject({ status: 0, signal: null })

  await scene.restartWitness()
  expect(await (await fetch(shown)).text()).toBe(before)
  await hub.write('of the second day')
  await hub.home.command('sync')
  await scene.witness.said((line) => line.includes('"cosigned"') && line.includes('"entries":2'))
})

test.each([
  [['--log', 'LOG', '--state', 'state'], 2, 'witness needs --key FILE'],
  [['--key', 'KEY', '--state', 'state'], 2, 'witness needs --log KEY'],
  [['--key', 'KEY', '--log', 'LOG'], 2, 'witness needs --state DIR'],
  [['--key', 'KEY', '--state', 'state', '--log', 'WITNESS'], 2, 'is no public key of a log'],
  [['--key', 'HUB', '--state', 'state', '--log', 'LOG'], 1, 'is no private key of a witness'],
  [['--key', 'KEY', '--state', 'state', '--log', 'LOG', '--listen', '8791'], 2, '--listen is HOST:PORT'],
  [['--key', 'KEY', '--state', 'state', '--log', 'LOG', '--listen', '127.0.0.1:70000'], 2, '--listen is HOST:PORT'],
])('witness %j ends with %i: %s', async (args, status, message) => {
  await using scene = await Scene.create()
  const values: Readonly<Record<string, string>> = {
    LOG: scene.hub.key,
    WITNESS: scene.key,
    KEY: scene.keyFile,
    HUB: scene.hub.keyFile,
    state: join(scene.home.path, 'other'),
  }

  const ended = await scene.home.command('hub', 'witness', ...args.map((arg) => values[arg] ?? arg))

  expect(ended).toMatchObject({ status, stdout: '', stderr: expect.stringContaining(message) })
})

/** Resolves when the daemon has added an entry to its log. */
async function published(daemon: Program): Promise<void> {
  await daemon.said((line) => line.includes('"channel-published"'))
}

/** Makes a key with the command, and returns the public one. */
async function makeKey(home: Home, name: string, file: string, ...options: string[]): Promise<string> {
  const made = await home.command('hub', 'channel', 'new-key', name, '--out', file, '--json', ...options)
  const { key }: { readonly key: string } = JSON.parse(made.stdout)
  return key
}

function commandIn(home: Home, logKey: string, listen: string): string[] {
  const [key, state] = [join(home.path, 'witness.key'), join(home.path, 'witness')]
  return ['hub', 'witness', '--key', key, '--state', state, '--log', logKey, '--listen', listen]
}

/** A hub in a home of its own, with one skill. */
class HubHome {
  readonly home: Home
  readonly key: string
  readonly #witnesses: readonly string[]

  constructor(home: Home, key: string, witnesses: readonly string[]) {
    this.home = home
    this.key = key
    this.#witnesses = witnesses
  }

  get keyFile(): string {
    return join(this.home.path, 'config/skillsyncd/channel.key')
  }

  async configure(witnesses: readonly string[] = this.#witnesses): Promise<void> {
    const channel = ['channel:', `  name: ${NAME}`, '  key: { file: channel.key }', ...witnesses]
    await this.home.configure({ drafts: [`path: ${join(this.home.path, 'drafts')}`] }, channel)
  }

  async write(text: string): Promise<void> {
    const folder = join(this.home.path, 'drafts/review')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'SKILL.md'), `---\nname: review\ndescription: A review ${text}.\n---\n`)
  }
}

/** A follower in a home of its own. */
class FollowerHome {
  readonly #home: Home
  readonly #keys: { readonly key: string; readonly witness: string }

  constructor(home: Home, keys: { readonly key: string; readonly witness: string }) {
    this.#home = home
    this.#keys = keys
  }

  async follow(mcp: string, { quorum }: { readonly quorum?: number }): Promise<void> {
    const { key, witness } = this.#keys
    const trust = quorum === undefined ? '' : `, witnesses: ["${witness}"], quorum: ${quorum}`
    await this.#home.configure({ hub: [`follow: { url: "${new URL('/channel/', mcp).href}", key: "${key}"${trust} }`] })
  }

  async synced() {
    return this.#home.command('sync')
  }

  async text(): Promise<string> {
    return (await this.#home.command('show', 'review', '--json')).stdout
  }
}

/** A hub, a witness on another machine, and a follower. */
class Scene implements AsyncDisposable {
  readonly home: Home
  readonly key: string
  readonly hub: HubHome
  readonly follower: FollowerHome
  /** The address of the witness, which stays. */
  readonly url: string
  witness: Program

  private constructor(home: Home, key: string, parts: Pick<Scene, 'hub' | 'follower' | 'url' | 'witness'>) {
    this.home = home
    this.key = key
    this.hub = parts.hub
    this.follower = parts.follower
    this.url = parts.url
    this.witness = parts.witness
  }

  static async create(): Promise<Scene> {
    const [home, hubHome] = [await Home.create(), await Home.create()]
    const key = await makeKey(home, 'witness.example.com', join(home.path, 'witness.key'), '--witness')
    const logKey = await makeKey(hubHome, NAME, join(hubHome.path, 'config/skillsyncd/channel.key'))
    const witness = home.start(...commandIn(home, logKey, `127.0.0.1:${await freePort()}`))
    const url = await witness.line()
    const hub = new HubHome(hubHome, logKey, [`  witnesses: [{ url: "${url}", key: "${key}" }]`, '  quorum: 1'])
    await hub.write('of the first day')
    await hub.configure()
    const follower = new FollowerHome(await Home.create(), { key: logKey, witness: key })
    return new Scene(home, key, { hub, follower, url, witness })
  }

  get keyFile(): string {
    return join(this.home.path, 'witness.key')
  }

  /** The command line of the witness. */
  get command(): string[] {
    return commandIn(this.home, this.hub.key, new URL(this.url).host)
  }

  /** Starts the witness again, at the same address. */
  async restartWitness(): Promise<void> {
    this.witness = this.home.start(...this.command)
    expect(await this.witness.line()).toBe(this.url)
  }

  /** A second hub with the key, the log and the skills of the first. */
  async copyOfHub(): Promise<HubHome> {
    const home = await Home.create()
    const [from, to] = [this.hub.home, home]
    await cp(from.state, to.state, { recursive: true })
    await cp(join(from.path, 'drafts'), join(to.path, 'drafts'), { recursive: true })
    await writeFile(join(to.path, 'config/skillsyncd/channel.key'), await readFile(this.hub.keyFile), { mode: 0o600 })
    const copy = new HubHome(home, this.hub.key, [
      `  witnesses: [{ url: "${this.url}", key: "${this.key}" }]`,
      '  quorum: 1',
    ])
    await copy.configure()
    return copy
  }

  async addFollower(): Promise<FollowerHome> {
    return new FollowerHome(await Home.create(), { key: this.hub.key, witness: this.key })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.witness.kill()
  }
}
