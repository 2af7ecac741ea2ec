import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { Machine } from './fleet.ts'
import { skill } from './world.ts'

const RINGS = 'rings: [{ id: canary, anonymous: true }, { id: beta, min_age: 1d }, { id: stable, min_age: 3d }]'

test('a follower of the first ring gets a commit at once, and that of the last ring once it is promoted', async () => {
  await using scene = await Scene.start()
  await using canary = await scene.follower('canary')
  await using stable = await scene.follower('stable')
  expect(await canary.skills()).toEqual(['skill://hub/team/alpha/SKILL.md'])
  expect(await stable.skills()).toEqual(['skill://hub/team/alpha/SKILL.md'])

  await scene.team.commit({ 'beta/SKILL.md': skill('beta', 'text') })
  await scene.hub.told('sync')

  await expect
    .poll(() => canary.skills())
    .toEqual(['skill://hub/team/alpha/SKILL.md', 'skill://hub/team/beta/SKILL.md'])
  await stable.told('sync')
  expect(await stable.skills()).toEqual(['skill://hub/team/alpha/SKILL.md'])

  await scene.hub.told('promote', '--now')

  await expect
    .poll(() => stable.skills())
    .toEqual(['skill://hub/team/alpha/SKILL.md', 'skill://hub/team/beta/SKILL.md'])
})

test('a follower that moves to the channel of an older ring takes its content, without an alarm', async () => {
  await using scene = await Scene.start()
  const newer = await scene.team.commit({ 'alpha/SKILL.md': skill('alpha', 'newer') })
  await scene.hub.told('sync')
  await using machine = await scene.follower('canary')
  expect(await machine.told('why', 'hub/team/alpha', '--json')).toContain(newer)

  await machine.home.configure({ hub: [await scene.followed('stable'), 'every: 1h'] })
  await machine.told('reload')
  await machine.told('sync')

  expect(await machine.skills()).toEqual(['skill://hub/team/alpha/SKILL.md'])
  expect(await machine.told('why', 'hub/team/alpha', '--json')).toContain(scene.first)
  expect(await machine.command('status')).toMatchObject({ status: 0 })
})

test('a recall reaches the followers of each ring, and its report names their rings', async () => {
  await using scene = await Scene.start()
  await scene.team.commit({ 'beta/SKILL.md': skill('beta', 'text') })
  await scene.hub.told('sync')
  await using canary = await scene.follower('canary')
  await using stable = await scene.follower('stable')

  const [id = ''] = (await scene.hub.told('disable', 'team/alpha', '--followers', '--reason', 'it is bad')).split(':')

  await expect.poll(() => canary.skills()).toEqual(['skill://hub/team/beta/SKILL.md'])
  await expect.poll(() => stable.skills()).toEqual([])
  const report = async () => JSON.parse((await scene.hub.command('disable', '--report', id, '--json')).stdout)
  await expect.poll(async () => (await report()).counts, { timeout: 15_000 }).toMatchObject({ obeyed: 2, behind: 0 })
  expect((await report()).followers.map(({ ring }: { readonly ring?: string }) => ring).toSorted()).toEqual([
    'canary',
    undefined,
  ])
})

test('a token reads the channel of its ring and of later ones, and no other', async () => {
  const named = 'rings: [{ id: canary, principals: [ada] }, { id: beta, principals: [bob] }, { id: stable }]'
  await using scene = await Scene.start(named)
  const tokens = await Promise.all(
    ['ada', 'bob', 'eve'].map(async (name) =>
      (await scene.hub.told('hub', 'token', 'add', name, '--scope', 'channel')).trim(),
    ),
  )

  const answers = tokens.map(async (token) =>
    Promise.all(
      ['/channels/ring.canary/', '/channels/ring.beta/', '/channel/'].map((path) => scene.status(path, token)),
    ),
  )

  expect(await Promise.all(answers)).toEqual([
    [200, 200, 200],
    [404, 200, 200],
    [404, 404, 200],
  ])
  expect(await scene.status('/channels/ring.stable/', tokens[0])).toBe(404)
  expect(await scene.status('/channels/ring.canary/', undefined)).toBe(404)
  const { channel } = JSON.parse(await scene.hub.told('status', '--rings', 'bob', '--json'))
  const key = await scene.keyOf('beta')
  expect(channel).toEqual({ address: '/channels/ring.beta/', log: 'hub.example/channel/ring.beta', keys: [key] })
  expect(await scene.hub.told('status', '--rings', 'bob')).toContain(
    `    follow: { url: "https://…/channels/ring.beta/", key: "${key}", auth: { token: { env: HUB_TOKEN } } }\n`,
  )
  await rm(scene.hub.keyFile)
  expect(await scene.hub.told('status', '--rings', 'bob')).toContain('skillsyncd hub channel keys prints its key')
})

test('a ring that leaves the configuration takes its channel along, and goes on with its log when it comes back', async () => {
  await using scene = await Scene.start()
  await using canary = await scene.follower('canary')
  const without = 'rings: [{ id: beta, anonymous: true }, { id: stable, min_age: 3d }]'

  await scene.reload(without)
  expect(await scene.status('/channels/ring.canary/', undefined)).toBe(404)
  expect(await scene.status('/channels/ring.beta/', undefined)).toBe(200)
  expect(await canary.command('sync')).toMatchObject({ status: 1 })
  expect(await canary.skills()).toEqual(['skill://hub/team/alpha/SKILL.md'])

  await scene.reload(RINGS)
  await scene.team.commit({ 'beta/SKILL.md': skill('beta', 'text') })
  await scene.hub.told('sync')
  await canary.told('sync')
  await expect.poll(() => canary.skills()).toHaveLength(2)
})

test('the log of a ring is proved, checked and written to a folder as that of everything', async () => {
  await using scene = await Scene.start()
  await scene.team.commit({ 'beta/SKILL.md': skill('beta', 'text') })
  await scene.hub.told('sync')
  const { path } = scene.hub.home
  const proof = join(path, 'canary.proof.json')

  const written = JSON.parse(
    await scene.hub.told('hub', 'publish', '--to', join(path, 'out'), '--ring', 'canary', '--json'),
  )
  expect(written.channels).toMatchObject([{ ring: 'canary' }])
  expect(await readFile(join(path, 'out/checkpoint'), 'utf8')).toMatch(/^hub\.example\/channel\/ring\.canary\n/)
  await scene.hub.told('hub', 'export', '--proof', proof, 'team/beta', '--ring', 'canary')
  await scene.hub.told('verify', '--proof', proof, '--key', await scene.keyOf('canary'))
  expect(await scene.hub.command('hub', 'export', '--proof', proof, 'team/beta')).toMatchObject({ status: 1 })
  const { logs, checks } = JSON.parse(await scene.hub.told('verify', '--log', '--json'))
  expect(checks).toEqual([])
  expect(logs.map(({ ring }: { readonly ring?: string }) => ring)).toEqual([undefined, 'canary', 'beta'])
  expect(await scene.hub.told('status')).toContain('channel of the ring canary at /channels/ring.canary/: up to date')
  expect(await scene.hub.command('hub', 'publish', '--to', join(path, 'out'), '--ring', 'none')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('there are canary, beta, stable'),
  })
})

/** A hub with rings, and machines that follow their channels as a whole. */
class Scene implements AsyncDisposable {
  readonly hub: Machine
  readonly team: Repository
  /** The commit that all rings have at the start. */
  readonly first: string
  readonly #git: GitServer
  readonly #sources: Sources

  private constructor(scene: Pick<Scene, 'hub' | 'team' | 'first'>, git: GitServer, sources: Sources) {
    this.hub = scene.hub
    this.team = scene.team
    this.first = scene.first
    this.#git = git
    this.#sources = sources
  }

  static async start(rings = RINGS): Promise<Scene> {
    const git = await GitServer.start()
    const team = await Repository.create()
    const first = await team.commit({ 'alpha/SKILL.md': skill('alpha', 'text') })
    const sources = { team: [`url: ${git.serve('team', team)}`, 'every: 1h'] }
    const hub = await Machine.start('hub.example/channel', sources, [rings])
    await hub.told('sync')
    await hub.told('promote', '--now')
    return new Scene({ hub, team, first }, git, sources)
  }

  /** The line by which a machine follows the channel of a ring. */
  async followed(ring: string): Promise<string> {
    const key = await this.keyOf(ring)
    const url = ring === 'stable' ? this.hub.address : new URL(`/channels/ring.${ring}/`, this.hub.address).href
    return `follow: { url: "${url}", key: "${key}" }`
  }

  async keyOf(ring: string): Promise<string> {
    const { keys } = JSON.parse(await this.hub.told('hub', 'channel', 'keys', '--json')) as Keys
    return keys.find((one) => one.ring === (ring === 'stable' ? undefined : ring))?.key ?? ''
  }

  async status(path: string, token: string | undefined): Promise<number> {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    return (await fetch(new URL(`${path}checkpoint`, this.hub.address), { headers })).status
  }

  async reload(rings: string): Promise<void> {
    await this.hub.home.configure(this.#sources, [this.hub.channel, rings])
    await this.hub.told('reload')
  }

  async follower(ring: string): Promise<Machine> {
    const machine = await Machine.start(`${ring}.example/channel`, { hub: [await this.followed(ring), 'every: 1h'] })
    await machine.told('sync')
    return machine
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.hub[Symbol.asyncDispose]()
    await this.team[Symbol.asyncDispose]()
    await this.#git[Symbol.asyncDispose]()
  }
}

type Sources = Readonly<Record<string, readonly string[]>>

interface Keys {
  readonly keys: readonly { readonly key: string; readonly ring?: string }[]
}
