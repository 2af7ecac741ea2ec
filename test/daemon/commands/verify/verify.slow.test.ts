import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { CheckResult } from '../../../../src/daemon/cli/check.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { World, skill } from '../../../e2e/world.ts'
import { faultsIn, notesIn } from '../../../support/checks.ts'
import { damageObject, damagePage, loseObject, servedIn } from '../../../support/damage.ts'

async function snapshotOf({ home }: World, generation: number): Promise<string> {
  using store = await Store.openExisting(home.state)
  return (await store!.generations.read(generation))!.sources[0]!.snapshot
}

/** Makes a checkout of the only skill, and returns the path of its document. */
async function checkedOut(world: World): Promise<string> {
  using store = await Store.open(world.home.state)
  return join(await store.checkouts.ensure(await world.stored()), 'SKILL.md')
}

interface Verified {
  readonly status: number | null
  readonly findings: readonly CheckResult[]
  readonly notes: readonly CheckResult[]
}

async function verified({ home }: World, ...args: readonly string[]): Promise<Verified> {
  const { status, stdout, stderr } = await home.command('verify', '--json', ...args)
  if (stdout === '') throw new Error(stderr)
  return { status, ...JSON.parse(stdout), findings: faultsIn(stdout), notes: notesIn(stdout) }
}

const codes = ({ findings }: Verified): string[] => findings.map(({ check }) => check)

test('a store that is whole is found so, deep too, with a daemon and without one; before the first sync too', async () => {
  await using world = await World.create()
  const before = await verified(world)
  await world.synced()

  const plain = await world.home.command('verify')
  const deep = await verified(world, '--deep')
  const daemon = world.home.start('start')
  await daemon.line()
  const asked = await verified(world, '--deep')

  expect(before).toMatchObject({ status: 0, findings: [], notes: [] })
  expect(plain).toMatchObject({ status: 0, stdout: 'generation 1, 1 skill checked: nothing found\n' })
  for (const end of [deep, asked]) expect(end).toMatchObject({ status: 0, findings: [], notes: [] })
})

test('what others left in the folder of a skill is a note, and no fault', async () => {
  await using world = await World.create()
  await world.synced()
  await mkdir(join(dirname(await checkedOut(world)), '__pycache__'))

  const end = await verified(world)

  expect(end).toMatchObject({
    status: 0,
    findings: [],
    notes: [{ check: 'stranger', subject: 'team/alpha/__pycache__' }],
  })
})

test.each([
  { what: 'changed', damage: damageObject, says: 'its SHA-256 is another' },
  { what: 'gone', damage: loseObject, says: 'it is gone' },
])('a stored file that is $what is found, with exit status 3', async ({ damage, says }) => {
  await using world = await World.create()
  await world.synced()
  const { files } = await world.stored()
  damage(world.home.state, files[0]!.sha256)

  const end = await verified(world)

  expect(end).toMatchObject({
    status: 3,
    findings: [{ check: 'file-damaged', subject: 'team/alpha/SKILL.md', message: says }],
  })
})

test.each([
  { what: 'changed', damage: overwrite, says: 'its SHA-256 is another' },
  { what: 'gone', damage: (file: string) => rm(file), says: 'it cannot be read: ENOENT' },
  { what: 'open to writing', damage: (file: string) => chmod(file, 0o644), says: 'its mode is 644, not 444' },
])('a file of a checkout that is $what is found, with exit status 3', async ({ damage, says }) => {
  await using world = await World.create()
  await world.synced()
  const file = await checkedOut(world)
  await damage(file)

  const end = await verified(world)

  expect(end).toMatchObject({
    status: 3,
    findings: [
      {
        check: 'checkout-edited',
        subject: 'team/alpha/SKILL.md',
        message: `in ${dirname(file)}: ${says}`,
      },
    ],
  })
})

test('damage to snapshots, generations and decisions is found, each by its code', async () => {
  await using world = await World.create()
  await world.synced()
  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  await world.synced()
  const { state } = world.home
  await writeFile(join(state, 'decisions.json'), '{')
  damageObject(state, await snapshotOf(world, 1))

  const plain = await verified(world)
  const deep = await verified(world, '--deep')
  damageObject(state, servedIn(state))
  const newest = await verified(world)

  expect([plain.status, codes(plain)]).toEqual([3, ['decisions-damaged']])
  expect([deep.status, codes(deep)]).toEqual([3, ['decisions-damaged', 'snapshot-damaged']])
  expect(codes(newest)).toContain('generation-damaged')
})

test.each([0, 1, 2, 3, 4])(
  'a database of which page %i was overwritten is found damaged, with what to do',
  async (page) => {
    await using world = await World.create()
    await world.synced()
    const { state } = world.home
    await damagePage(state, page)

    const end = await verified(world)
    const lines = await world.home.command('verify')

    expect([end.status, codes(end).filter((code) => code === 'database-damaged')]).toEqual([3, ['database-damaged']])
    expect(end.findings.find(({ check }) => check === 'database-damaged')?.message).toContain(
      `in "${join(state, 'store.db')}"`,
    )
    expect(lines).toMatchObject({
      status: 3,
      stdout: expect.stringContaining('restore a backup, or let skillsyncd sync'),
    })
  },
)

test('deep: an object that nothing refers to is checked too', async () => {
  await using world = await World.create()
  await world.synced()
  const { state } = world.home
  {
    using store = await Store.open(state)
    const [digest] = await store.objects.put([Buffer.from('for an approval')])
    damageObject(state, digest!)
  }

  const plain = await verified(world)
  const deep = await verified(world, '--deep', '--offline')

  expect(plain).toMatchObject({ status: 0, findings: [] })
  expect(deep).toMatchObject({
    status: 3,
    findings: [{ check: 'object-damaged', message: expect.stringContaining('its SHA-256 is another') }],
  })
})

test('a database that was removed is found, until a sync has filled it again', async () => {
  await using world = await World.create()
  await world.synced()
  for (const suffix of ['', '-wal', '-shm']) await rm(join(world.home.state, `store.db${suffix}`), { force: true })

  const lost = await verified(world)
  await world.synced()
  const filled = await verified(world)

  expect([lost.status, codes(lost)]).toEqual([3, ['generation-damaged']])
  expect(lost.findings[0]?.fix).toBe('skillsyncd sync fills it')
  expect(filled).toMatchObject({ status: 0, findings: [] })
})

test('decisions that are had from their copy are told of, and those of which both are damaged too', async () => {
  await using world = await World.create()
  await world.synced()
  const { state } = world.home
  expect(await world.home.command('disable', 'alpha')).toMatchObject({ status: 0 })
  await writeFile(join(state, 'decisions.json'), '{')

  const copied = await verified(world)
  await writeFile(join(state, 'decisions-copy.json'), '{')
  const lost = await verified(world)

  expect([copied.status, lost.status]).toEqual([3, 3])
  expect(copied.findings).toMatchObject([
    { check: 'decisions-damaged', message: expect.stringContaining('read from its copy') },
  ])
  expect(lost.findings).toMatchObject([
    { check: 'decisions-damaged', message: expect.stringContaining('nor its copy') },
  ])
})

test('decisions of which file and copy are gone are an alarm to verify and status, and the next decision writes all again', async () => {
  await using world = await World.create()
  await world.synced()
  const { home } = world
  expect(await home.command('disable', 'alpha')).toMatchObject({ status: 0 })
  for (const name of ['decisions.json', 'decisions-copy.json']) await rm(join(home.state, name))

  const lost = await verified(world)
  const status = await home.command('status', '--check')
  const told = JSON.parse((await home.command('status', '--json')).stdout)
  const again = await home.command('disable', 'alpha', '--json')
  const enabled = await home.command('enable', 'alpha')
  const after = await verified(world)

  expect([lost.status, codes(lost)]).toEqual([3, ['decisions-lost']])
  expect(status.status).toBe(3)
  expect(status.stdout).toContain('! decisions decisions.json: decisions-lost: Cannot read')
  expect(status.stdout).toContain(`cp "${join(home.state, 'generations', 'decisions.json')}"`)
  expect(told.decisionsLost).toContain('both are missing')
  expect(JSON.parse(again.stdout)).toMatchObject({ skills: [{ already: true }] })
  expect([enabled.status, after.status]).toEqual([0, 0])
})

test('the lock is held against the configuration and what is served; who does not follow it gets a note', async () => {
  await using world = await World.create()
  await world.synced()
  await world.home.command('lock')
  const agreed = await verified(world, '--locked')
  const team = [`url: ${world.git.origin}/team.git`, 'every: 1h']
  await world.home.configure({ team }, ['lock: ignore'])
  await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'new') })
  await world.synced()

  const free = await verified(world)
  const locked = await verified(world, '--locked')
  await world.home.configure({ team })
  const followed = await verified(world)
  await world.home.configure({ team: [...team, 'root: skills'] })
  const edited = await verified(world)
  await writeFile(world.home.lockFile, '<<<<<<< ours\n')
  const unreadable = await verified(world)

  expect(agreed).toMatchObject({ status: 0, findings: [], notes: [] })
  expect([free.status, free.notes.map(({ check }) => check)]).toEqual([
    0,
    ['lock-not-followed', 'lock-differs', 'lock-differs'],
  ])
  expect([locked.status, codes(locked)]).toEqual([3, ['lock-differs', 'lock-differs']])
  expect([followed.status, codes(followed)]).toEqual([3, ['lock-differs', 'lock-differs']])
  expect([edited.status, codes(edited)]).toEqual([3, ['lock-mismatch', 'lock-differs', 'lock-differs']])
  expect([unreadable.status, codes(unreadable)]).toEqual([3, ['lock-unreadable']])
})

test('deep: a tag that was moved, and a commit that upstream lost, are told with both commits', async () => {
  await using world = await World.create(['ref: v1', 'every: 1h'])
  const first = await world.repository.tag('v1')
  await world.synced()
  const second = await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'b') }, { orphan: true })
  await world.repository.tag('v1')
  const moved = await verified(world, '--deep')
  await world.repository.git('reflog', 'expire', '--expire=now', '--all')
  await world.repository.git('gc', '--quiet', '--prune=now')

  const gone = await verified(world, '--deep')
  const offline = await verified(world, '--deep', '--offline')

  expect([moved.status, codes(moved)]).toEqual([3, ['tag-moved']])
  for (const id of [first, second]) expect(moved.findings[0]?.message).toContain(id)
  expect([gone.status, codes(gone)]).toEqual([3, ['commit-gone', 'tag-moved']])
  expect(offline).toMatchObject({ status: 0, notes: [{ check: 'upstream-not-asked' }] })
})

test('deep: a repository that does not answer is a finding of its own', async () => {
  await using world = await World.create()
  await world.synced()
  world.git.fault = { kind: 'status', status: 404 }

  const end = await verified(world, '--deep')

  expect([end.status, codes(end)]).toEqual([3, ['repository-not-found']])
})

async function overwrite(file: string): Promise<void> {
  const bytes = await readFile(file)
  await chmod(file, 0o644)
  await writeFile(
    file,
    bytes.map((byte) => byte ^ 1),
  )
  await chmod(file, 0o444)
}
