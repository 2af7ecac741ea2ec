import { randomBytes } from 'node:crypto'
import { readFile, readlink, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exchange, modern, type Answer } from '../conformance/exchange.ts'
import { stdio, type Reply } from '../support/clients/peer.ts'
import { damageFile, earlierFile, layOutEarlier } from '../support/earlier-state.ts'
import { World, skill } from './world.ts'

/** Two skills in two generations, of which one is disabled, a token, and links of an agent. */
async function usedWorld(): Promise<World> {
  const world = await World.create()
  await world.synced()
  await world.repository.commit({
    'beta/SKILL.md': skill('beta', 'b'),
    'gamma/SKILL.md': skill('gamma', 'c'),
    'gamma/run.sh': 'echo\n',
  })
  await world.synced()
  for (const args of [
    ['disable', 'beta'],
    ['token', 'add', 'ci', '--expires', 'never'],
    ['link', 'claude-code'],
  ])
    expect(await world.home.command(...args)).toMatchObject({ status: 0 })
  return world
}

/** What commands tell of all that is kept. */
async function toldOf({ home }: World): Promise<unknown> {
  const told: unknown[] = []
  for (const args of [['list'], ['list', '--disabled'], ['log'], ['token', 'list'], ['link'], ['verify']]) {
    const { status, stdout } = await home.command(...args, '--json')
    told.push([args, status, stdout])
  }
  return told
}

test.each(['1', '2'] as const)(
  'the first start takes a state of format %s over, with nothing from upstream: skills, history, decisions, tokens, links',
  async (format) => {
    await using world = await usedWorld()
    const before = await toldOf(world)
    await layOutEarlier(world.home.state, format)
    world.git.fault = { kind: 'status', status: 503 }
    const early = await world.home.command('list')

    const daemon = world.home.start('start')
    await daemon.line()

    expect(early).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('the daemon migrates it when it starts'),
    })
    expect(await toldOf(world)).toEqual(before)
    expect(await readFile(join(world.home.path, '.claude/skills/gamma/run.sh'), 'utf8')).toBe('echo\n')
    expect(await readlink(join(world.home.state, 'links/gamma'))).toContain('../checkouts/')
    await expect(stat(join(world.home.state, 'skills'))).rejects.toThrow('ENOENT')
  },
)

test.each(['1', '2'] as const)(
  'an mcp without a daemon takes a state of format %s over, and serves it',
  async (format) => {
    await using world = await usedWorld()
    const before = await toldOf(world)
    await layOutEarlier(world.home.state, format)
    world.git.fault = { kind: 'status', status: 503 }

    await using mcp = await stdio([], 'legacy', world.home.env)

    expect(namesIn(await mcp.call('skills/list'))).toEqual(['alpha', 'gamma'])
    expect(await toldOf(world)).toEqual(before)
  },
)

test('of two mcp that start on an earlier state one takes it over, and both serve it', async () => {
  await using world = await usedWorld()
  await layOutEarlier(world.home.state, '2')

  const starting = (['legacy', 'modern'] as const).map(async (era) => stdio([], era, world.home.env))
  const peers = await Promise.all(starting)
  const lists = await Promise.all(peers.map(async (mcp) => mcp.call('skills/list')))
  for (const mcp of peers) await mcp[Symbol.asyncDispose]()

  expect(lists.map(namesIn)).toEqual([
    ['alpha', 'gamma'],
    ['alpha', 'gamma'],
  ])
  expect(peers.filter((mcp) => mcp.stderr().includes('"state-migrated"'))).toHaveLength(1)
})

test('an mcp without a daemon on a database of garbage begins with a new one, and has everything again', async () => {
  await using world = await usedWorld()
  await writeFile(join(world.home.state, 'store.db'), 'This was written over it.\n'.repeat(4_000))

  await using mcp = await stdio([], 'legacy', world.home.env)

  expect(namesIn(await mcp.call('skills/list'))).toEqual(['alpha', 'gamma'])
  expect(mcp.stderr()).toContain('"store-replaced"')
})

test('a start that finds no room to take a state over ends with what it takes, and the next one goes on', async () => {
  await using world = await World.create()
  await world.repository.commit({ 'alpha/data.bin': randomBytes(400_000) })
  await world.synced()
  await layOutEarlier(world.home.state, '2')
  world.home.under = ['bash', '-c', `trap '' XFSZ; ulimit -f 200; exec "$@"`, 'bash']

  const ends = [await world.home.run('start'), await world.home.run('mcp')]
  world.home.under = []
  const daemon = world.home.start('start')
  await daemon.line()

  for (const { status, stdout, stderr } of ends) {
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/Cannot migrate the state folder ".*", which an earlier version wrote: Cannot store objects/)
    expect(stderr).toContain('a migration takes about 21 MB of space; or move the folder away')
  }
  expect(await world.home.command('verify', '--deep')).toMatchObject({ status: 0 })
})

test('a skill that was damaged in the earlier state is not given, and fetched again once a client asks for it', async () => {
  await using world = await World.create()
  await world.synced()
  const { home } = world
  const document = await world.stored()
  await layOutEarlier(home.state, '2')
  await damageFile(earlierFile(home.state, document, 'SKILL.md'))
  const daemon = home.start('start')
  const url = await daemon.line()
  const read = async (): Promise<Answer> =>
    exchange(url, modern('resources/read', { uri: 'skill://team/alpha/SKILL.md' }))
  const taken = await home.command('verify', '--json')

  const damaged = await read()
  await world.synced()
  const fetched = await read()

  expect(JSON.parse(taken.stdout).findings).toMatchObject([{ code: 'file-damaged', message: 'it is gone' }])
  expect(damaged.error).toBeDefined()
  expect(fetched.result).toMatchObject({ contents: [{ text: expect.stringContaining('first') }] })
  expect(await home.command('verify')).toMatchObject({ status: 0 })
})

test('a state of a later format is refused with a sentence, and stays as it is', async () => {
  await using world = await World.create()
  await world.synced()
  const format = join(world.home.state, 'format')
  await writeFile(format, '4\n')

  const end = await world.home.command('sync')

  expect(end).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('its format is "4" and this version knows "1", "2" and "3"'),
  })
  expect(await readFile(format, 'utf8')).toBe('4\n')
})

function namesIn({ result }: Reply): readonly string[] {
  return result.skills.map(({ frontmatter }: any) => frontmatter.name).toSorted()
}
