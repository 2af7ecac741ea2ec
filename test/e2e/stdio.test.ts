import { once } from 'node:events'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lockHolderOf } from '../../src/daemon/control/daemon-lock.ts'
import { stdio } from '../support/clients/peer.ts'
import { damageObject } from '../support/damage.ts'
import { Repository } from '../support/git/repository.ts'
import { Home } from '../support/process/program.ts'
import { World, skill } from './world.ts'

const ALPHA = 'skill://team/alpha/SKILL.md'

test.each(['legacy', 'modern'] as const)(
  'the first answer to a %s client has what the first pull brought',
  async (era) => {
    await using world = await World.create()

    await using mcp = await stdio([], era, world.home.env)
    const { result } = await mcp.call('skills/list')

    expect(result.skills.map(({ uri }: any) => uri)).toEqual([ALPHA])
    expect((await mcp.call('resources/read', { uri: ALPHA })).result.contents[0].text).toBe(skill('alpha', 'first'))
  },
)

test('without a configuration, and with nothing but a source, a client is served', async () => {
  await using world = await World.create()
  await using home = await Home.create()

  await using mcp = await stdio(['--source', world.repository.folder], 'legacy', home.env)

  const [{ uri }] = (await mcp.call('skills/list')).result.skills
  expect(uri).toMatch(/^skill:\/\/[a-z0-9-]+\/alpha\/SKILL\.md$/)
})

test('two clients with different sources do not meet', async () => {
  await using world = await World.create()
  await using other = await Repository.create()
  await other.commit({ 'beta/SKILL.md': skill('beta', 'other') })
  await using home = await Home.create()

  await using one = await stdio(['--source', world.repository.folder], 'legacy', home.env)
  await using two = await stdio(['--source', other.folder], 'legacy', home.env)

  const names = async (peer: typeof one) =>
    (await peer.call('skills/list')).result.skills.map(({ frontmatter }: any) => frontmatter.name)
  expect(await names(one)).toEqual(['alpha'])
  expect(await names(two)).toEqual(['beta'])
})

test('stdout carries messages and nothing else, whatever goes wrong', async () => {
  await using world = await World.create(['every: 1s'])
  world.git.fault = { kind: 'status', status: 503 }
  await using mcp = await stdio(['--log-level', 'debug'], 'legacy', world.home.env)
  await world.git.requested(() => true, world.git.requests.length)

  mcp.process.stdin.write('this is no JSON\n{"jsonrpc":"2.0"}\n[]\n\n')
  await mcp.call('skills/list')
  await mcp.call('no/such/method')

  // The peer parses each line as it comes, and would have thrown.
  expect(mcp.lines.length).toBeGreaterThanOrEqual(3)
  for (const line of mcp.lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' })
  expect(mcp.stderr()).toContain('"pull-failed"')
})

test('beside a daemon, with --log-level debug, it writes what it serves, what it answers and what it refuses', async () => {
  await using world = await World.create()
  await world.synced()
  await world.home.start('start').line()
  await using mcp = await stdio(['--log-level', 'debug'], 'legacy', world.home.env)

  await mcp.call('resources/read', { uri: ALPHA })
  await mcp.call('resources/read', { uri: 'skill://team/beta/SKILL.md' })
  while (!mcp.stderr().includes('"request-refused"')) await once(mcp.process.stderr, 'data')

  const lines = mcp
    .stderr()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toMatchObject([
    { level: 'debug', event: 'generation-served', generation: 1, skills: 1 },
    { level: 'debug', event: 'request-answered', asked: 'resources/read', of: ALPHA },
    { level: 'debug', event: 'request-refused', of: 'skill://team/beta/SKILL.md', why: expect.any(String) },
  ])
})

test('bad configuration ends it with 2 before it says anything to the client', async () => {
  await using home = await Home.create()
  await home.configure({ team: ['url: https://git.example.com/x.git', 'brunch: main'] })

  const end = await home.run('mcp')

  expect(end).toMatchObject({ status: 2, stdout: '' })
  expect(end.stderr).toContain('brunch')
})

test('one that writes and is killed is replaced by the next one, with what it had', async () => {
  await using world = await World.create(['every: 1s'])
  const killed = await stdio([], 'legacy', world.home.env)
  const exit = once(killed.process, 'exit')
  killed.process.kill('SIGKILL')
  await exit
  world.git.fault = { kind: 'hang-before' }

  await using next = await stdio([], 'modern', world.home.env)

  expect((await next.call('skills/list')).result.skills).toHaveLength(1)
  await world.git.requested(() => true, world.git.requests.length)
  expect(await lockHolderOf(world.home.state)).toMatchObject({ pid: next.process.pid })
})

test('one that writes fetches a damaged file again', async () => {
  await using world = await World.create()
  await using mcp = await stdio([], 'legacy', world.home.env)
  const [document] = (await world.stored()).files
  damageObject(world.home.state, document!.sha256)
  const requests = world.git.requests.length

  const damaged = await mcp.call('resources/read', { uri: ALPHA })
  await world.git.requested(({ body }) => /command=fetch/.test(body.toString('latin1', 0, 64)), requests)
  expect(await world.home.run('sync')).toMatchObject({ status: 0 })

  expect(damaged.error?.message).toContain('damaged')
  expect((await mcp.call('resources/read', { uri: ALPHA })).result.contents[0].text).toBe(skill('alpha', 'first'))
})

test('one that cannot write, since its socket would be for others too, serves what there is and logs why', async () => {
  await using world = await World.create()
  expect(await world.home.run('sync')).toMatchObject({ status: 0 })
  await chmod(join(world.home.env['XDG_RUNTIME_DIR']!, 'skillsyncd'), 0o755)

  await using mcp = await stdio([], 'legacy', world.home.env)

  expect((await mcp.call('skills/list')).result.skills).toHaveLength(1)
  while (!mcp.stderr().includes('it is not a folder of this user alone')) await once(mcp.process.stderr, 'data')
  expect(mcp.stderr()).not.toContain('    at ')
})

test('a lock that is none of ours ends each command with 1 and the lock is named, and stays', async () => {
  await using world = await World.create()
  expect(await world.home.run('sync')).toMatchObject({ status: 0 })
  const lock = join(world.home.state, 'daemon.lock')
  await writeFile(lock, 'not ours')

  for (const command of [['start'], ['mcp'], ['sync'], ['status'], ['list'], ['show', 'alpha']]) {
    const end = await world.home.run(...command)

    expect(end, command[0]).toMatchObject({ status: 1, stdout: '' })
    expect(end.stderr).toContain(`"${lock}": it is not a lock of skillsyncd`)
  }
  expect(await readFile(lock, 'utf8')).toBe('not ours')
})

test('a client beside a running daemon is told of what that one pulls', async () => {
  await using world = await World.create()
  const daemon = world.home.start('start')
  await daemon.line()
  await using mcp = await stdio([], 'modern', world.home.env)
  expect(await lockHolderOf(world.home.state)).toMatchObject({ pid: daemon.pid })
  const heard = await mcp.subscribe([ALPHA], { list: true })

  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second'), 'beta/SKILL.md': skill('beta', 'new') })
  expect(await world.home.run('sync')).toMatchObject({ status: 0 })

  await heard.next(({ method, params }) => method === 'notifications/resources/updated' && params.uri === ALPHA)
  await heard.next(({ method }) => method === 'notifications/resources/list_changed')
  expect((await mcp.call('resources/read', { uri: ALPHA })).result.contents[0].text).toContain('second')
  expect((await mcp.call('skills/list')).result.skills).toHaveLength(2)
})
