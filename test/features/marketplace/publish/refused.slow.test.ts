import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loseObject } from '../../../support/damage.ts'
import { GitServer } from '../../../support/git/git-server.ts'
import type { Fault } from '../../../support/git/git-server.ts'
import { Authority } from '../../../support/http/certificates.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { World } from './published.ts'

test('a hook that refuses is quoted, without its escape codes and its second line', async () => {
  await using world = await World.create()
  await world.hook('pre-receive', `printf '\\033[31mno\\033]0;title\\007\\nskillsyncd: fake line\\r\\n' >&2`, 'exit 1')

  const end = await world.publish()

  expect(end).toMatchObject({
    kind: 'failed',
    problem: { code: 'push-refused', message: expect.stringContaining('pre-receive hook declined') },
  })
  const { message } = (end as { problem: { message: string } }).problem
  expect(message).toContain('no')
  expect(message).not.toMatch(/[\p{Cc}]/u)
  const [problem] = world.daemon.parts.status.status().publications ?? []
  expect(problem).toMatchObject({ isCurrent: false, problem: { code: 'push-refused', message } })
  expect(world.scene.served.logged()).toContain('"event":"not-published"')
  expect(world.scene.served.logged()).not.toContain('\\u001b')
  expect(await world.remote.git('for-each-ref')).toBe('')
})

test('a hook of the branch that refuses all updates leaves the branch where it was, and is asked once', async () => {
  await using world = await World.create()
  const before = await world.remote.commit({ 'README.md': 'there\n' })
  await world.hook('update', 'echo "protected branch" >&2', 'exit 1')

  const end = await world.publish()

  expect(end).toMatchObject({
    problem: { code: 'push-refused', message: expect.stringMatching(/hook declined.*protected branch/) },
  })
  expect(await world.history()).toEqual([before])
  expect(world.pushes).toBe(1)
})

test('a branch that moves on between the listing and the push is followed, and no commit is lost', async () => {
  await using world = await World.create()
  await world.publish()
  await world.scene.commit({ 'new/SKILL.md': '---\nname: new\ndescription: New\n---\nnew\n' })
  const theirs: string[] = []
  world.server.before = async ({ method, url }) => {
    if (method !== 'POST' || !url.includes('git-receive-pack') || theirs.length > 0) return
    theirs.push(await world.remote.commit({ 'README.md': 'meanwhile\n' }))
  }

  const end = await world.publish()

  expect(end).toMatchObject({ kind: 'pushed', parent: theirs[0] })
  expect(await world.history()).toHaveLength(3)
  expect(await world.treeOf('main')).toBe(await world.servedTree())
  expect(await world.fsck()).toBe('')
})

test('a branch that moves on each time is left after a bounded number of attempts', async () => {
  await using world = await World.create()
  let count = 0
  world.server.before = async ({ method, url }) => {
    if (method !== 'POST' || !url.includes('git-receive-pack')) return
    await world.remote.commit({ 'README.md': `${(count += 1)}\n` })
  }

  const end = await world.publish()

  expect(end).toMatchObject({
    kind: 'failed',
    problem: { code: 'source-unreachable', message: expect.stringContaining('moved on') },
  })
  expect(world.pushes).toBe(4)
})

test.each([
  [401, 'credentials-rejected'],
  [403, 'credentials-rejected'],
  [404, 'repository-not-found'],
  [500, 'source-unreachable'],
])('a server that answers a push with %i is told apart as %s', async (status, code) => {
  await using world = await World.create()
  world.server.fault = { kind: 'status', status, on: 'receive-pack' }

  const end = await world.publish()

  expect(end).toMatchObject({ kind: 'failed', problem: { code } })
})

test('a 429 with a delay is kept to: no request goes to the host before', async () => {
  await using world = await World.create()
  world.server.fault = { kind: 'status', status: 429, headers: { 'retry-after': '600' }, on: 'info-refs', of: 'out' }
  await world.publish()
  const before = world.server.requests.length

  const end = await world.publish()

  expect(end).toMatchObject({ problem: { code: 'rate-limited' } })
  expect(world.server.requests).toHaveLength(before)
})

test.each([
  { 'retry-after': 'Sat, 13 Sep 275760 00:00:00 GMT', date: 'Thu, 01 Jan 1970 00:00:00 GMT' },
  { 'retry-after': '999999999' },
])('a delay of decades, %j, is a day at most', async (headers) => {
  await using world = await World.create()
  world.server.fault = { kind: 'status', status: 429, headers, on: 'info-refs', of: 'out' }

  await world.publish()

  const nextAttempt = world.status()?.nextAttempt ?? ''
  expect(Date.parse(nextAttempt)).toBeLessThanOrEqual(Date.now() + 86_400_000)
})

const SECRET = 'pub1ish-pub1ish-pub1ish'
const AUTH = [`auth: { token: { env: PUBLISH_SECRET } }`]

test('the token goes as it does to a source, and is in no output', async () => {
  process.env['PUBLISH_SECRET'] = SECRET
  await using world = await World.create({ publication: AUTH })
  world.server.access = { basic: { user: 'x-access-token', password: SECRET } }

  const end = await world.publish()

  expect(end).toMatchObject({ kind: 'pushed' })
  const said = JSON.stringify([end, world.daemon.parts.status.status()]) + world.scene.served.logged()
  expect(said).not.toContain(SECRET)
})

test('a redirect to another host is refused, and the token does not go there', async () => {
  process.env['PUBLISH_SECRET'] = SECRET
  await using world = await World.create({ publication: AUTH })
  await using other = await GitServer.start()
  world.server.fault = { kind: 'redirect', status: 302, to: other.origin, on: 'info-refs' }

  const first = await world.publish()
  world.server.fault = { kind: 'redirect', status: 307, to: other.origin, on: 'receive-pack' }
  const second = await world.publish()

  expect(first).toMatchObject({ kind: 'failed', problem: { message: expect.stringContaining('redirect') } })
  expect(second).toMatchObject({ kind: 'failed', problem: { message: expect.stringContaining('redirect') } })
  expect(other.requests).toEqual([])
})

test('a host over TLS is trusted by its `ca`, and by nothing else', async () => {
  await using folder = await temporaryFolder()
  const authority = new Authority()
  const file = join(folder.path, 'ca.pem')
  await writeFile(file, authority.cert)
  const identity = authority.vouchFor(['127.0.0.1'])
  await using world = await World.create({ tls: identity, publication: [`ca: ${file}`] })
  await using other = await World.create({ tls: identity })

  expect(await world.publish()).toMatchObject({ kind: 'pushed' })
  expect(await other.publish()).toMatchObject({ kind: 'failed', problem: { code: 'tls-failed' } })
})

test('a hook that prints the token finds it blotted out in the status and the log', async () => {
  process.env['PUBLISH_SECRET'] = SECRET
  await using world = await World.create({ publication: AUTH })
  await world.hook('pre-receive', `echo "you sent ${SECRET}" >&2`, 'exit 1')

  const end = await world.publish()

  const said = JSON.stringify([end, world.daemon.parts.status.status()]) + world.scene.served.logged()
  expect(end).toMatchObject({ problem: { code: 'push-refused', message: expect.stringContaining('you sent') } })
  expect(said).not.toContain(SECRET)
})

const FAULTS: readonly Fault[] = [
  { kind: 'truncate', at: 10 },
  { kind: 'end', at: 10 },
  { kind: 'end', at: 0 },
  { kind: 'flip', at: 2 },
]

test.each(['info-refs', 'receive-pack'] as const)(
  'an answer to %s that breaks off or is garbage is a failure',
  async (on) => {
    await using world = await World.create()
    for (const fault of FAULTS) {
      world.server.fault = { ...fault, on }

      expect(await world.publish(), JSON.stringify(fault)).toMatchObject({ kind: 'failed' })
      if (on === 'receive-pack') await world.remote.deleteRef('refs/heads/main')
    }
    world.server.fault = { kind: 'none' }

    expect(await world.publish()).toMatchObject({ kind: 'pushed' })
    expect(await world.fsck()).toBe('')
  },
)

test('a push of which the answer was lost is found done, and not made twice', async () => {
  await using world = await World.create()
  world.server.fault = { kind: 'truncate', at: 0, on: 'receive-pack' }
  const first = await world.publish()
  world.server.fault = { kind: 'none' }

  const second = await world.publish()

  expect(first).toMatchObject({ kind: 'failed', problem: { code: 'source-unreachable' } })
  expect(second).toMatchObject({ kind: 'unchanged' })
  expect(await world.history()).toHaveLength(1)
})

test('what the store has lost is not published, and the failure says so', async () => {
  await using world = await World.create()
  const [skill] = world.daemon.registry.catalog.snapshots[0]?.skills ?? []
  loseObject(world.scene.served.config.state, skill?.files[0]?.sha256 ?? '')

  const end = await world.publish()

  expect(end).toMatchObject({
    kind: 'failed',
    problem: { code: 'store-failed', message: expect.stringMatching(/^Cannot publish: /) },
  })
})
