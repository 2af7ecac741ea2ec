import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../../e2e/world.ts'
import { startFront } from '../../../sync/upstream/front.ts'

test('one source is told in full, with ages in words and exact times in JSON', async () => {
  await using world = await World.create()
  await world.synced()

  const lines = await world.home.command('status')
  const json = JSON.parse((await world.home.command('status', '--json')).stdout)

  const [source] = json.sources
  const short = source.served.commit.slice(0, 12)
  expect(lines.stdout).toMatch(
    new RegExp(`serves \\S+ at ${short}; up to date: upstream was at ${short} (?:now|\\d+ s ago)\n`),
  )
  expect(source.upstream.at).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  expect(json.items).toEqual([
    { kind: 'source', id: 'team', source: 'team', state: 'served', urgency: 'well', problems: [], parts: [] },
  ])
})

test('where a command cannot read the decisions of a running daemon, it says that it judges no skill', async () => {
  await using world = await World.create()
  const { home } = world
  await world.synced()
  await home.command('disable', 'alpha')
  const daemon = home.start('start')
  await daemon.line()
  const before = await home.command('status')
  for (const name of ['decisions.json', 'decisions-copy.json']) await writeFile(join(home.state, name), '{')

  const lines = await home.command('status')
  const json = JSON.parse((await home.command('status', '--json')).stdout)
  const log = JSON.parse((await home.command('log', '--json')).stdout)
  await daemon.stop()

  expect(before.stdout).toContain('disabled team/alpha')
  expect(before.stdout).not.toContain('no skill is judged here')
  expect(lines.stdout).toContain('! the decisions cannot be read, so that no skill is judged here')
  expect([json.isUnjudged, log.decisions]).toEqual([true, null])
})

test('without a state folder there is nothing to judge, and no decision that cannot be read', async () => {
  await using world = await World.create()

  const lines = await world.home.command('status')
  const json = JSON.parse((await world.home.command('status', '--json')).stdout)

  expect(lines.stdout).toContain('team')
  expect(lines.stdout).not.toContain('cannot be read')
  expect(json.isUnjudged).toBeUndefined()
})

test('of one source of three, the lock says if that one follows it', async () => {
  await using world = await World.create()
  const { home, git, repository } = world
  const url = `url: ${git.serve('team', repository)}`
  await home.configure({ team: [url], other: [url], third: [url] })
  await home.command('sync')
  await home.command('lock')

  const one = await home.command('status', 'team')
  const all = await home.command('status')

  expect(one.stdout).toContain('skills.lock: followed by 1 of 1 source\n')
  expect(all.stdout).toContain('skills.lock: followed by 3 of 3 sources\n')
})

test('a source whose host redirects says where it is now, until its host redirects no more', async () => {
  await using world = await World.create()
  const { home, git } = world
  let isMoved = true
  await using front = await startFront(git.origin, (request, response) => {
    const url = request.url ?? ''
    request.url = url.replace('/old.git', '/team.git')
    const isRedirected = isMoved && url.startsWith('/old.git')
    if (isRedirected) response.writeHead(301, { location: request.url }).end()
    return isRedirected
  })
  await home.configure({ team: [`url: ${front.origin}/old.git`], twin: [`url: ${front.origin}/old.git`] })
  await home.command('sync')

  const lines = await home.command('status')
  const { sources } = JSON.parse((await home.command('status', '--json')).stdout)
  isMoved = false
  await home.run('sync')
  const back = JSON.parse((await home.command('status', '--json')).stdout)

  const movedTo = `${front.origin}/team.git`
  expect(lines.stdout).toContain(`! source-moved: its host redirects to ${movedTo}; write that into \`url\`\n`)
  expect(sources).toMatchObject([
    { id: 'team', movedTo },
    { id: 'twin', movedTo },
  ])
  for (const source of back.sources) expect(source).not.toHaveProperty('movedTo')
})

test('many sources are a line each, the most urgent first, and those that are named are told in full', async () => {
  await using world = await World.create()
  await inMany(world, { broken: ['ref: none'] })
  const [table, named, unknown] = [
    await world.home.command('status'),
    await world.home.command('status', 'a'),
    await world.home.command('status', 'nobody'),
  ]

  expect(table.stdout).toContain('4 sources, 3 up to date\nneeds a person: source broken\n')
  const rows = table.stdout.split('\n').filter((line) => /^[!~ ] [a-z-]+ +[0-9a-f-]+ /.test(line))
  expect(rows.map((row) => row.slice(0, 8).trimEnd())).toEqual(['! broken', '  a', '  b', '  c'])
  expect(table.stdout).toContain('→ Check `ref`')
  expect(named.stdout).toContain('\na  ')
  expect(named.stdout).not.toContain('broken')
  expect(unknown).toMatchObject({ status: 2, stdout: '' })
})

test('--check exits with 3 where something needs a person, of the sources that are named', async () => {
  await using world = await World.create()
  await inMany(world, { broken: ['ref: none'] })

  const ends = [
    await world.home.command('status'),
    await world.home.command('status', '--check'),
    await world.home.command('status', '--check', 'a', 'b'),
    await world.home.command('status', '--check', 'broken', '--json'),
  ]

  expect(ends.map(({ status }) => status)).toEqual([0, 3, 0, 3])
})

test('colours are for terminals, and for those who do not mind them', async () => {
  await using world = await World.create()
  await inMany(world, { broken: ['ref: none'] })
  const { home } = world

  const [terminal, file] = [await home.typing([], 'status'), await home.command('status')]
  home.env['NO_COLOR'] = '1'
  const without = await home.typing([], 'status')

  expect(terminal.stdout).toContain('\u001B[31m')
  expect(file.stdout + without.stdout).not.toContain('\u001B')
  const table = without.stdout.slice(without.stdout.indexOf('  SOURCE')).split('\n\n')[0]!.split('\n')
  expect(table.length).toBeGreaterThan(6)
  for (const line of table) expect(line.length).toBeLessThanOrEqual(80)
})

test('after its address was changed, nothing that was seen at the old one is told of the new one, nor the other way', async () => {
  await using world = await World.create()
  const { home, git } = world
  const [before, elsewhere] = [`${git.origin}/team.git`, `${git.origin}/none.git`]
  await world.synced()
  const told = async (): Promise<Record<string, unknown>> =>
    JSON.parse((await home.command('status', '--json')).stdout).sources[0]

  await home.configure({ team: [`url: ${elsewhere}`] })
  const unseen = await told()
  const failed = await home.command('sync')
  const tried = await told()
  await home.configure({ team: [`url: ${before}`] })
  const back = await told()

  expect(failed.status).toBe(1)
  expect(unseen).toMatchObject({ url: elsewhere, served: { url: before } })
  for (const one of [unseen, tried, back]) expect(one).not.toHaveProperty('upstream')
  expect(tried).toMatchObject({ served: { url: before }, problem: { code: 'repository-not-found' } })
  expect(tried).not.toHaveProperty('lastSuccess')
  expect(back).not.toHaveProperty('problem')
})

/** The same repository as `a`, `b` and `c`, and what is said of others. */
async function inMany({ home, git }: World, others: Readonly<Record<string, readonly string[]>>): Promise<void> {
  const url = `url: ${git.origin}/team.git`
  const more = Object.entries(others).map(([id, lines]) => [id, [url, ...lines]] as const)
  await home.configure({ a: [url], b: [url], c: [url], ...Object.fromEntries(more) })
  await home.command('sync')
}

test('why /readyz sends requests elsewhere is told, of the daemon that answers', async () => {
  await using world = await World.create(['required: true'])
  world.git.fault = { kind: 'status', status: 503 }
  const daemon = world.home.start('start')
  await daemon.said((line) => line.includes('"pull-failed"'))

  const { stdout } = await world.home.command('status')

  expect(stdout).toContain('\n~ readiness /readyz: not-ready: nothing is served\n')
  expect(stdout).toContain('\n~ readiness /readyz: not-ready: team is required, and nothing of it is served\n')
})
