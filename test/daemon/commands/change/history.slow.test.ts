import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World, skill } from '../../../e2e/world.ts'
import { changeDatabase } from '../../../support/damage.ts'

test('log tells what moved from generation to generation, and rollback goes back by number and by commit', async () => {
  await using world = await World.create()
  const { home, repository } = world
  const first = await repository.git('rev-parse', 'main')
  await world.synced()
  const second = await repository.commit({ 'beta/SKILL.md': skill('beta', 'b'), 'alpha/SKILL.md': skill('alpha', '2') })
  await world.synced()

  const back = await home.command('rollback', '1')
  const log = await home.command('log', '--json')
  const again = await home.command('sync')
  const held = await home.command('hold', 'team', second.slice(0, 8), '--json')
  const lines = await home.command('log', '-n', '1')

  expect([back, log, again, held, lines].map(({ status }) => status)).toEqual([0, 0, 0, 0, 0])
  expect(back.stdout).toContain(`team: ${second} -> ${first} (refs/heads/main)`)
  expect(back.stdout).toContain(`the commit after ${second} is served without a decision`)
  const { generations } = JSON.parse(log.stdout)
  const one = (change: string, path: string) => ({ change, count: 1, first: [{ path }] })
  expect(generations).toMatchObject([
    {
      generation: 3,
      served: true,
      cause: { action: 'rollback', trigger: 'command' },
      sources: [
        { source: 'team', from: second, to: first, changes: [one('changed', 'alpha'), one('removed', 'beta')] },
      ],
    },
    {
      generation: 2,
      served: false,
      cause: { action: 'update', source: 'team' },
      sources: [{ source: 'team', from: first, to: second, changes: [one('added', 'beta'), one('changed', 'alpha')] }],
    },
    { generation: 1, sources: [{ source: 'team', to: first, changes: [one('added', 'alpha')] }] },
  ])
  expect(again.stdout).toContain('rolled-back')
  expect(JSON.parse(held.stdout)).toEqual({ sources: [{ source: 'team', decision: 'hold', commit: second }] })
  expect(lines.stdout).toMatch(new RegExp(`^\\* 4 .*rollback of team by command {2}\\(served\\)\\n.*${second}`))
})

test('log tells who decided what, when and why, between the generations, and the newest comes first', async () => {
  await using world = await World.create()
  const { home, repository } = world
  const first = await repository.git('rev-parse', 'main')
  await world.synced()
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', '2') })
  await world.synced()
  await home.command('hold', 'team', '--reason', 'release week')
  await home.command('release', 'team')
  await home.command('disable', 'alpha', '--reason', 'it asks for a password')
  await home.command('enable', 'alpha')
  await home.command('rollback', '1')

  const { stdout } = await home.command('log')
  const { decisions } = JSON.parse((await home.command('log', '--json')).stdout)

  const who = userInfo().username
  const told = stdout.split('\n').filter((line) => line.startsWith('  -  '))
  expect(told.map((line) => line.replace(/^ {2}- {2}\S+Z {2}/, ''))).toEqual([
    `rollback team at ${first} by ${who}`,
    `enable team/alpha by ${who}`,
    `disable team/alpha by ${who}: it asks for a password`,
    `release team by ${who}`,
    `hold team by ${who}: release week`,
  ])
  expect(stdout).toMatch(/^\* 3 [^]*\n {2}- {2}[^]*\n {2}2 [^]*\n {2}1 /)
  expect(decisions.at(-1)).toMatchObject({
    by: 'person',
    who,
    decision: 'hold',
    source: 'team',
    reason: 'release week',
  })
})

test('rollback without a target shows what there is, and is wrong usage', async () => {
  await using world = await World.create()
  await world.synced()

  const end = await world.home.command('rollback')

  expect(end.status).toBe(2)
  expect(end.stdout).toMatch(/^\* 1 /)
  expect(end.stderr).toContain('wants the number of a generation')
})

test('log has the age of a generation on a terminal alone', async () => {
  await using world = await World.create()
  await world.synced()

  const shown = await world.home.typing([], 'log')
  const piped = await world.home.command('log')

  expect(shown.stdout).toMatch(/^\* 1 {2}\S+Z \((?:now|\d+ s ago)\) {2}update of team by command/)
  expect(piped.stdout).toMatch(/^\* 1 {2}\S+Z {2}update of team by command/)
})

test('log says which generations are damaged', async () => {
  await using world = await World.create()
  await world.synced()
  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  await world.synced()
  changeDatabase(
    world.home.state,
    "UPDATE object SET bytes = x'00' WHERE digest = (SELECT generation FROM head WHERE sequence = 1)",
  )

  const { stdout } = await world.home.command('log')

  expect(stdout).toMatch(/^ {2}1 {2}.*\n {4}! it is damaged or missing/m)
  expect(stdout).toMatch(/^\* 2 /m)
})

test('why names the ref, the rule, the decision, the lock entry and the age of a skill', async () => {
  await using world = await World.create(["include: ['**', 'alpha']", 'every: 1h'])
  await world.synced()
  await world.repository.commit({ 'beta/SKILL.md': 'no frontmatter', 'gamma/SKILL.md': skill('delta', 'renamed') })
  const commit = await world.repository.git('rev-parse', 'main')
  await world.synced()
  await world.home.command('lock')
  await world.home.command('hold', 'team', '--reason', 'release week')

  const alpha = JSON.parse((await world.home.command('why', 'alpha', '--json')).stdout)
  const delta = await world.home.command('why', 'skill://team/delta')
  const beta = await world.home.command('why', 'team/beta')

  expect(alpha).toMatchObject({
    source: 'team',
    verdict: { state: 'served', since: { generation: 1, isOldestKept: false } },
    asked: 'the default branch',
    ref: 'refs/heads/main',
    commit,
    rule: { include: '**', renamed: false },
    update: 'auto',
    decision: { hold: { commit, reason: 'release week', at: expect.any(String) } },
    lock: { state: 'same', follows: false, commit },
  })
  expect(delta.stdout).toContain(
    '"gamma" below the root of the repository, matched by include "**"; served by its name',
  )
  expect(delta.stdout).toMatch(/since {3}served with this digest since generation 2 /)
  expect(delta.stdout).toContain(`held at ${commit} (release week) until skillsyncd release team`)
  expect(beta.stdout).toMatch(/^beta \(withheld\)/)
  expect(beta.stdout).toContain('! frontmatter-missing')
  expect((await world.home.command('why', 'nobody')).status).toBe(1)
})

test('a rollback to a generation names the sources for which it cannot serve that generation', async () => {
  await using world = await World.create()
  const { home, repository } = world
  await world.synced()
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  const folder = join(home.path, 'own')
  await mkdir(join(folder, 'gamma'), { recursive: true })
  await writeFile(join(folder, 'gamma', 'SKILL.md'), skill('gamma', 'text'))
  const [team = ''] = /url: \S+/.exec(await readFile(home.configFile, 'utf8')) ?? []
  await home.configure({ team: [team], own: [`path: ${folder}`] })
  await home.command('sync')

  const back = await home.command('rollback', '1')

  expect(back).toMatchObject({ status: 0, stderr: '' })
  expect(back.stdout).toContain('team: ')
  expect(back.stdout).toContain('own: is served as before: generation 1 did not have it\n')
})
