import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { setDigestOf } from '../../../../src/sync/model/decisions/lock.ts'
import { World, skill } from '../../../e2e/world.ts'

test('lock writes what each pack holds, and the same bytes again while nothing moved', async () => {
  await using world = await locking([CREW, '{ id: empty, include: [{ tag: none }] }'])

  const end = await world.home.command('lock')
  const first = await lockOf(world)
  await world.home.command('disable', 'team/alpha')
  const again = await world.home.command('lock', '--json')

  const { sources, packs } = JSON.parse(first)
  const [alpha] = Object.entries<{ name: string; digest: string }>(sources.team.skills)
  expect(end).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('pack crew: 1 skill\npack empty: 0 skills\n'),
  })
  expect(packs).toEqual({
    crew: { choices: DIGEST, sources: { team: DIGEST }, digest: DIGEST, skills: ['team/alpha'] },
    empty: { choices: DIGEST, sources: { team: DIGEST }, digest: `sha256:${setDigestOf(new Map())}`, skills: [] },
  })
  const set = new Map([['team/alpha', { name: 'alpha', digest: alpha![1].digest.replace('sha256:', '') }]])
  expect(packs.crew.digest).toBe(`sha256:${setDigestOf(set)}`)
  expect(JSON.parse(again.stdout)).toMatchObject({
    written: false,
    packs: [{ id: 'crew', skills: 1 }, { id: 'empty' }],
  })
  expect(await lockOf(world)).toBe(first)
})

test('update moves what a pack holds with its sources, and takes out a pack that there is no more', async () => {
  await using world = await locking([CREW, OTHER])
  await world.home.command('lock')
  const before = JSON.parse(await lockOf(world)).packs
  await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'new') })
  await configure(world, [CREW])

  const end = await world.home.command('update')

  expect(end).toMatchObject({ status: 0, stdout: expect.stringContaining('pack crew: 2 skills\n') })
  const { packs } = JSON.parse(await lockOf(world))
  expect(packs).toEqual({
    crew: { ...before.crew, sources: { team: DIGEST }, digest: DIGEST, skills: ['team/alpha', 'team/beta'] },
  })
  expect(packs.crew.digest).not.toBe(before.crew.digest)
})

test('a source that is in the lock and in the configuration no more has no part in packs', async () => {
  await using world = await locking([CREW])
  const team = [`url: ${world.git.origin}/team.git`, 'every: 1h']
  await world.home.configure({ team, old: team })
  await world.home.command('sync')
  await world.home.command('lock')
  await configure(world, ['{ id: all, include: [{ name: "*" }] }'])

  const end = await world.home.command('lock')

  const { sources, packs } = JSON.parse(await lockOf(world))
  expect(end).toMatchObject({ status: 0 })
  expect(Object.keys(sources)).toEqual(['old', 'team'])
  expect(packs.all.skills).toEqual(['team/alpha'])
})

test('with --locked, packs that choose otherwise than in the lock are refused, by name and with what to do', async () => {
  await using world = await locking([CREW, OTHER])
  await world.home.command('lock')
  const agreed = await world.home.command('sync', '--locked')
  await configure(world, ['{ id: crew, include: [{ name: alpha }] }', '{ id: fresh, include: [{ name: a }] }'])

  const refused = await world.home.command('sync', '--locked')
  const found = await world.home.command('verify', '--locked')
  const noted = await world.home.command('verify')
  await world.home.command('lock')
  const mended = await world.home.command('sync', '--locked')

  expect(agreed).toMatchObject({ status: 0 })
  expect(refused).toMatchObject({ status: 1, stdout: '' })
  for (const what of ['pack crew', 'pack fresh', 'pack other', 'skillsyncd lock'])
    expect(refused.stderr).toContain(what)
  expect([found.status, noted.status]).toEqual([3, 0])
  expect(found.stdout).toContain('pack crew')
  expect(mended).toMatchObject({ status: 0 })
})

test('verify names a pack that holds other skills than the locked ones', async () => {
  await using world = await locking([CREW, OTHER])
  await world.home.command('lock')
  const agreed = await world.home.command('verify', '--locked')
  await configure(world, [CREW, OTHER], ['lock: ignore'])
  await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'new') })
  await world.synced()

  const free = await world.home.command('verify')
  const locked = await world.home.command('verify', '--locked')

  expect(agreed).toMatchObject({ status: 0 })
  expect([free.status, locked.status]).toEqual([0, 3])
  for (const { stdout } of [free, locked]) {
    expect(stdout).toContain('pack crew')
    expect(stdout).not.toContain('pack other')
  }
})

const CREW = '{ id: crew, include: [{ source: team }] }'
const OTHER = '{ id: other, include: [{ name: alpha }] }'
const DIGEST = expect.stringMatching(/^sha256:[0-9a-f]{64}$/)

async function locking(packs: readonly string[]): Promise<World> {
  const world = await World.create()
  await configure(world, packs)
  await world.synced()
  return world
}

async function configure({ home, git }: World, packs: readonly string[], rest: readonly string[] = []): Promise<void> {
  const team = [`url: ${git.origin}/team.git`, 'every: 1h']
  await home.configure({ team }, [`packs: [${packs.join(', ')}]`, ...rest])
}

async function lockOf({ home }: World): Promise<string> {
  return readFile(home.lockFile, 'utf8')
}
