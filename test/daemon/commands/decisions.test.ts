import { expect, test } from 'vitest'
import { World, skill } from '../../e2e/world.ts'

test('each decision says what became of it, with a daemon and without one, and status shows what stands', async () => {
  await using world = await World.create()
  await world.synced()
  const { home } = world

  const alone = [await home.command('pin', 'team'), await home.command('status'), await home.command('unpin', 'team')]
  const daemon = home.start('start')
  await daemon.line()
  const asked = [await home.command('pin', 'team'), await home.command('status'), await home.command('unpin', 'team')]

  for (const [pin, status, unpin] of [alone, asked]) {
    expect([pin?.status, status?.status, unpin?.status]).toEqual([0, 0, 0])
    expect(pin?.stdout).toBe('team: pinned until skillsyncd unpin\n')
    expect(status?.stdout).toMatch(/ {2}pinned at [0-9a-f]{40} until skillsyncd unpin team/)
    expect(status?.stdout).not.toContain('up to date')
    expect(unpin?.stdout).toMatch(/^team: unpinned\nteam: unchanged, refs\/heads\/main at [0-9a-f]{12}\n$/)
  }
})

test('what waits is held with exit status 3, and approve takes it at once', async () => {
  await using world = await World.create(['every: 1h', 'update: review'])
  await world.synced()
  const commit = await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })

  const held = await world.home.command('sync')
  const wrong = await world.home.command('approve', 'team', 'abcdef')
  const approved = await world.home.command('approve', 'team', commit.slice(0, 7), '--json')

  expect([held.status, wrong.status, approved.status]).toEqual([3, 1, 0])
  expect(held.stdout).toContain('awaiting-approval')
  expect(wrong.stderr).toContain(`Cannot approve abcdef: what waits of "team" is ${commit}`)
  expect(JSON.parse(approved.stdout)).toMatchObject({
    sources: [{ source: 'team', decision: 'approve', pull: { outcome: 'updated', commit } }],
  })
})

test('reject passes over what waits, and says how it went on', async () => {
  await using world = await World.create(['every: 1h', 'update: review'])
  await world.synced()
  await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })
  await world.home.command('sync')

  const rejected = await world.home.command('reject', 'team')

  expect(rejected.status).toBe(0)
  expect(rejected.stdout).toMatch(/^team: rejected\nteam: held \(rejected\)/)
})

test('pause and resume without a source mean all that they can be about', async () => {
  await using world = await World.create()
  await world.synced()

  const ends = []
  for (const verb of ['pause', 'pause', 'resume', 'resume', 'release']) ends.push(await world.home.command(verb))

  expect(ends.map(({ status }) => status)).toEqual([0, 1, 0, 1, 1])
  expect(ends[0]?.stdout).toContain('team: paused')
  expect(ends[1]?.stderr).toContain('There is no source to pause')
  expect(ends[4]?.stderr).toContain('There is no source to release')
})

test.each([
  { args: ['unpin'], status: 2, says: 'wants the id of a source' },
  { args: ['pin'], status: 2, says: 'wants the id of a source' },
  { args: ['pin', 'nobody'], status: 2, says: 'No source is called "nobody"' },
  { args: ['pin', 'team', 'main'], status: 2, says: '"main" is no commit' },
  { args: ['pin', 'team', ''], status: 2, says: 'is no commit' },
  { args: ['pin', 'team', 'abcd', 'more'], status: 2, says: 'takes no "more"' },
  { args: ['unpin', 'team'], status: 1, says: '"team" is not pinned' },
  { args: ['resume', 'team'], status: 1, says: '"team" is not paused' },
  { args: ['release', 'team'], status: 1, says: '"team" is not held by a rollback' },
  { args: ['approve', 'team'], status: 1, says: 'Nothing of "team" waits for a decision' },
  { args: ['reject', 'team'], status: 1, says: 'Nothing of "team" waits for a decision' },
  { args: ['rollback', 'team'], status: 2, says: '"team" is no number of a generation' },
  { args: ['rollback', '7'], status: 1, says: 'There is no generation 7' },
  { args: ['rollback', 'team', 'x'], status: 2, says: '"x" is no commit' },
  { args: ['rollback', 'team', 'abcdef'], status: 1, says: 'The store has no commit of "team"' },
])('where there is nothing to decide it says why: $args', async ({ args, status, says }) => {
  await using world = await World.create()

  const end = await world.home.command(...args)

  expect([end.status, end.stdout]).toEqual([status, ''])
  expect(end.stderr).toContain(says)
})
