import { expect, test } from 'vitest'
import { Store } from '../../../../src/sync/store/store.ts'
import { World, skill } from '../../../e2e/world.ts'
import { changeDatabase } from '../../../support/damage.ts'
import type { Home } from '../../../support/process/program.ts'
import { never } from '../../../sync/store/samples.ts'

const FIRST = { 'beta/SKILL.md': skill('beta', 'text'), 'gamma/SKILL.md': skill('gamma', 'the same') }

/** Three generations, of which only the last has its contents: one skill left in the second, and one got another name. */
async function forgotten(): Promise<{ readonly world: World; readonly commits: readonly string[] }> {
  const world = await World.create()
  const commits = [await world.repository.commit(FIRST)]
  await world.synced()
  commits.push(
    await world.repository.commit({
      'beta/SKILL.md': null,
      'gamma/SKILL.md': null,
      'delta/SKILL.md': skill('gamma', 'the same').replace('name: gamma', 'name: delta'),
    }),
  )
  await world.synced()
  commits.push(await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'third') }))
  await world.synced()
  await forgetAllButLast(world.home)
  return { world, commits }
}

/** Leaves the last of three generations its contents, and the others their records. */
async function forgetAllButLast({ state }: Home): Promise<void> {
  using store = await Store.open(state)
  const retention = { generations: 1, youngerThanMs: -1, bytes: 2 ** 33 }
  expect(await store.collect({ now: new Date(), retention, keep: new Set() }, never())).toMatchObject({
    generations: 2,
  })
}

test('log names what changed in generations whose contents are gone, and diff compares their names', async () => {
  const { world, commits } = await forgotten()
  await using _world = world
  const { home } = world

  const [json, text, old] = [
    await home.command('log', '--json'),
    await home.command('log'),
    await home.command('diff', '1', '2'),
  ]
  const [now, back, none] = [
    JSON.parse((await home.command('diff', '1', 'served', '--json')).stdout),
    await home.command('diff', '2', '2'),
    await home.command('diff', '4', '1'),
  ]

  const { generations } = JSON.parse(json.stdout)
  expect(generations.map(({ generation, kept }: any) => [generation, kept])).toEqual([
    [3, true],
    [2, false],
    [1, false],
  ])
  expect(generations[1].sources).toMatchObject([
    {
      source: 'team',
      from: commits[0],
      to: commits[1],
      changes: [
        { change: 'renamed', first: [{ was: 'gamma', path: 'delta' }] },
        { change: 'removed', first: [{ path: 'beta' }] },
      ],
    },
  ])
  expect(text.stdout).toMatch(/^ {2}2 .*update of team by command {2}\(names alone\)\n/m)
  expect(old.status).toBe(3)
  expect(old.stdout).toContain(`team: refs/heads/main at ${commits[0]} to refs/heads/main at ${commits[1]}\n`)
  expect(old.stdout).toContain(
    'names and digests alone: the contents of an earlier generation are no longer in the store',
  )
  expect(old.stdout).toMatch(/^ {2}removed +beta$/m)
  expect(old.stdout).toMatch(/^ {2}renamed +gamma to delta$/m)
  expect(now.sources[0]).toMatchObject({
    areContentsGone: true,
    from: { commit: commits[0] },
    to: { commit: commits[2] },
  })
  expect(now.sources[0].changes.map(({ change, path }: any) => [change, path])).toEqual([
    ['changed', 'alpha'],
    ['removed', 'beta'],
    ['renamed', 'delta'],
  ])
  expect(back).toMatchObject({ status: 0, stdout: 'no difference\n' })
  expect(none.stderr).toContain('There is no generation 4')
})

test('diff takes a version that is gone for unknown, and not for one without files', async () => {
  await using world = await World.create()
  const { home, repository } = world
  for (const body of ['one', 'two', 'three']) {
    await repository.commit({ 'beta/SKILL.md': skill('beta', body), 'beta/run.sh': '#!/bin/sh\n' })
    await world.synced()
  }
  await forgetAllButLast(home)

  const text = await home.command('diff', '1', '3')
  const { sources } = JSON.parse((await home.command('diff', '1', '3', '--json')).stdout)

  expect(text.stdout).toContain('! a version of it is not known here, so none of its files is shown: "beta"\n')
  expect(text.stdout).not.toContain('run.sh')
  const beta = sources[0].changes.find(({ path }: any) => path === 'beta')
  expect(beta).toMatchObject({ change: 'changed', files: [], notes: [{ values: ['beta'] }] })
})

test('why, show and list answer for a skill whose last generation has no contents any more', async () => {
  const { world, commits } = await forgotten()
  await using _world = world
  const { home } = world

  const [why, shown, served] = [
    await home.command('why', 'beta'),
    JSON.parse((await home.command('show', 'team/beta', '--json')).stdout),
    JSON.parse((await home.command('show', 'team/alpha', '--json')).stdout),
  ]
  const [found, lines, other, only] = [
    JSON.parse((await home.command('list', 'gamma', '--json')).stdout),
    await home.command('list', 'beta'),
    JSON.parse((await home.command('list', 'alpha', '--json')).stdout),
    await home.command('list', 'absent'),
  ]

  const by = `commit ${commits[1]!.slice(0, 12)}`
  expect(why.stdout).toMatch(
    new RegExp(`team/beta: served until generation 1; in generation 2 of \\S+Z ${by} removed it\n`),
  )
  expect(shown).toMatchObject({
    source: 'team',
    path: 'beta',
    name: 'beta',
    commit: commits[0],
    ref: 'refs/heads/main',
    digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    verdict: { state: 'withheld', until: { generation: 1, next: 2, commit: commits[1] } },
  })
  for (const unknown of ['packs', 'size', 'files']) expect(shown).not.toHaveProperty(unknown)
  const told = new Set(Object.keys(served))
  expect(Object.keys(shown).filter((key) => !told.has(key))).toEqual([])
  expect(found).toEqual({
    skills: [expect.objectContaining({ id: 'delta' })],
    left: [
      expect.objectContaining({
        path: 'gamma',
        verdict: expect.objectContaining({ until: expect.objectContaining({ successor: 'delta' }) }),
      }),
    ],
  })
  expect(lines.stdout).toMatch(/^not there any more:\n.*team\/beta: served until generation 1; /)
  expect(Object.keys(other)).toEqual(['skills'])
  expect(only.stdout).toContain('Nothing was found')
})

test('rollback to a generation whose contents are gone says how to get each source back, and that works', async () => {
  const { world, commits } = await forgotten()
  await using _world = world
  const { home } = world

  const [refused, unknown] = [await home.command('rollback', '1'), await home.command('rollback', '9')]
  const back = await home.command('rollback', 'team', commits[0]!)

  expect(refused.status).toBe(1)
  expect(refused.stderr).toMatch(/The contents of generation 1 of \S+Z are gone; kept are 3\n/)
  expect(refused.stderr).toContain(`skillsyncd rollback team ${commits[0]}`)
  expect(unknown.stderr).toContain('There is no generation 9; kept are 3')
  expect(back).toMatchObject({ status: 0 })
  expect((await home.command('show', 'beta')).status).toBe(0)
})

test('diff with a generation whose changes were not recorded says that its contents are gone, and when it was', async () => {
  const { world } = await forgotten()
  await using _world = world
  const { home } = world
  changeDatabase(home.state, `UPDATE record SET text = replace(text, '"moves"', '"other"') WHERE sequence = 2`)

  const [one, none] = [await home.command('diff', '1', 'served'), await home.command('diff', '9', 'served')]

  expect(one.status).toBe(1)
  expect(one.stderr).toMatch(/The contents of generation 1 of \S+Z are gone; kept are 3\n.*skillsyncd log/)
  expect(none.stderr).toContain('There is no generation 9; kept are 3')
})

test('a backup has the record, and verify --deep finds what cannot be read of it', async () => {
  const { world } = await forgotten()
  await using _world = world
  const { home } = world
  const file = `${home.path}/backup`
  const log = await home.command('log', '--json')

  const steps = [
    await home.command('store', 'backup', file),
    await home.command('store', 'restore', file, '--state', `${home.path}/restored`),
  ]
  const restored = await home.command('log', '--json', '--state', `${home.path}/restored`)
  const whole = await home.command('verify', '--deep')
  changeDatabase(home.state, "UPDATE record SET text = 'x' WHERE sequence = 1")
  const damaged = await home.command('verify', '--deep')

  expect(steps.map(({ status }) => status)).toEqual([0, 0])
  expect(restored.stdout).toBe(log.stdout)
  expect(whole.stdout).not.toContain('record-damaged')
  expect(damaged.stdout).toContain('the record of generation 1 cannot be read')
})
