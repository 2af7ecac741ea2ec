import { readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { Standing } from '../../../../src/sync/model/skill.ts'
import { lockText, readLockText } from '../../../../src/sync/store/lock-text.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { World, skill } from '../../../e2e/world.ts'
import { skillAt } from '../../../sync/survey/surveyed.ts'

/** What is offered only since, with the entry of a lock as the version before wrote it of the same files. */
interface Case {
  readonly files: Readonly<Record<string, string>>
  readonly digest: string
  readonly skills: Readonly<Record<string, { readonly name: string; readonly digest: string }>>
  /** The skill, how it stands now, and how many a lock has since. */
  readonly now: { readonly path: string; readonly standing: Standing; readonly locked: number }
}

const ALPHA = {
  alpha: { name: 'alpha', digest: 'sha256:dd687bcb94fadf5edff52bb6e0b4aff93eaf0c40341a34da6ba923d4258c792e' },
}

const UNQUOTED = '---\nname: beta\ndescription: Use when: betas are needed\n---\nbody\n'
const BETA = { name: '', digest: 'sha256:c8239f402ba02c687e042a5f250f15dec91f3653053cd3c29967ce864e37c536' }

const CASES: Readonly<Record<string, Case>> = {
  'a skill whose URI another one has': {
    files: { 'alpha-2/SKILL.md': skill('alpha', 'second') },
    digest: 'sha256:24bed1f71c63d1bbb35a135688a004848f3ec0fa903f2e115ff227d0d3096f06',
    skills: ALPHA,
    now: { path: 'alpha-2', standing: 'tools', locked: 2 },
  },
  'a skill with a picture in LFS': {
    files: {
      'beta/SKILL.md': skill('beta', 'b'),
      'beta/picture.png': `version https://git-lfs.github.com/spec/v1\noid sha256:${'1'.repeat(64)}\nsize 12345\n`,
    },
    digest: 'sha256:24bed1f71c63d1bbb35a135688a004848f3ec0fa903f2e115ff227d0d3096f06',
    skills: ALPHA,
    now: { path: 'beta', standing: 'served', locked: 2 },
  },
  'the name of a skill that is no YAML': {
    files: { 'beta/SKILL.md': UNQUOTED },
    digest: 'sha256:8a50548983f64c05bc64d897da92339b98373927de30d18d8dd2fda1f78c6708',
    skills: { ...ALPHA, beta: BETA },
    now: { path: 'beta', standing: 'served', locked: 2 },
  },
  'names that lead to one path since they are read': {
    files: {
      'beta/SKILL.md': UNQUOTED,
      'beta-2/SKILL.md': UNQUOTED,
      'gamma/SKILL.md': '---\nname: delta\ndescription: Use when: gammas are needed\n---\nbody\n',
      'gamma-2/SKILL.md': skill('delta', 'x'),
    },
    digest: 'sha256:309d26136da6afb07df4d5e15e88b90329493d6f6ec2fe00d7e335f9d781e0a0',
    skills: {
      ...ALPHA,
      beta: BETA,
      'beta-2': BETA,
      gamma: { name: '', digest: 'sha256:971da24f643abe19d379bba80e1ead95e5155964b84ef6dff15a4cf81f267f24' },
      'gamma-2': { name: 'delta', digest: 'sha256:30d5e095eaa3bdb3958b9831de12640e5f6f5d99a0f6881a95f6f5b580f01e3d' },
    },
    now: { path: 'gamma-2', standing: 'tools', locked: 4 },
  },
}

test.each(Object.entries(CASES))('a lock of before lacks %s, and is followed on', async (_, one) => {
  await using world = await locked(one)
  const { home } = world

  const served = await home.command('sync', '--frozen')
  const strict = await home.command('sync', '--locked')
  const offline = await home.command('sync', '--offline')
  await rm(home.state, { recursive: true })
  const anew = await home.command('sync', '--locked')
  const verified = await home.command('verify', '--locked')

  for (const { status, stderr } of [served, strict, offline, anew]) expect(status, stderr).toBe(0)
  expect(verified.stdout).not.toContain('lock-')
  expect(await standingOf(world, one.now.path)).toBe(one.now.standing)
})

test.each(Object.entries(CASES))('update has %s in the lock, and lock leaves an entry as it is', async (_, one) => {
  await using world = await locked(one)
  const before = await lockOf(world)

  const kept = await world.home.command('lock', '--json')
  const after = await lockOf(world)
  await world.home.command('update')

  expect(JSON.parse(kept.stdout)).toMatchObject({ written: false })
  expect(after).toEqual(before)
  const { skills } = JSON.parse(await lockOf(world)).sources.team
  expect(Object.keys(skills)).toHaveLength(one.now.locked)
  expect(await world.home.command('sync', '--frozen')).toMatchObject({ status: 0 })
})

test.each(Object.entries(CASES))('a pack of a lock of before lacks %s too, and is verified', async (_, one) => {
  await using world = await locked(one, ['packs: [{ id: all, include: [{ name: "*" }, { path: "**" }] }]'])

  const packed = await world.home.command('lock', '--json')
  const verified = await world.home.command('verify', '--locked')

  expect(JSON.parse(packed.stdout).packs).toEqual([{ id: 'all', skills: Object.keys(one.skills).length }])
  expect(verified.stdout).not.toContain('lock-')
})

/** A world that was synced, with the lock that the version before made of it. */
async function locked(one: Case, rest: readonly string[] = []): Promise<World> {
  const world = await World.create()
  await world.repository.commit(one.files)
  if (rest.length > 0)
    await world.home.configure({ team: [`url: ${world.git.serve('team', world.repository)}`, 'every: 1h'] }, rest)
  await world.synced()
  await world.home.command('lock')
  const lock = JSON.parse(await lockOf(world))
  const { digest, skills } = one
  const selection = { ...lock.sources.team.selection, lfs: 'withhold' }
  lock.sources.team = { ...lock.sources.team, selection, digest, skills }
  delete lock.packs
  const file = lockFile(world)
  await writeFile(file, lockText(readLockText(JSON.stringify(lock), file)))
  return world
}

function lockFile({ home }: World): string {
  return join(dirname(home.configFile), 'skills.lock')
}

async function lockOf(world: World): Promise<string> {
  return readFile(lockFile(world), 'utf8')
}

async function standingOf({ home }: World, path: string): Promise<Standing> {
  const store = await Store.openExisting(home.state)
  const [held] = (await store!.generations.current())!.sources
  return skillAt(await store!.snapshots.read(held!.snapshot), path).standing
}
