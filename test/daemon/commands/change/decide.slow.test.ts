import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World, skill } from '../../../e2e/world.ts'

test('each decision says what became of it, with a daemon and without one, and status shows what stands', async () => {
  await using world = await World.create()
  await world.synced()
  const { home } = world

  const each = async () => [
    await home.command('hold', 'team', '--reason', 'release week'),
    await home.command('status'),
    await home.command('release', 'team'),
  ]
  const alone = await each()
  const daemon = home.start('start')
  await daemon.line()
  const asked = await each()

  for (const [held, status, released] of [alone, asked]) {
    expect([held?.status, status?.status, released?.status]).toEqual([0, 0, 0])
    expect(held?.stdout).toMatch(/^team: held at [0-9a-f]{40} \(release week\) until skillsyncd release team\n$/)
    expect(status?.stdout).toMatch(/ {2}held at [0-9a-f]{40} \(release week\) until skillsyncd release team/)
    expect(status?.stdout).not.toContain('up to date')
    expect(released?.stdout).toMatch(
      /^team: follows its ref again\nteam: unchanged, refs\/heads\/main at [0-9a-f]{12}\n$/,
    )
  }
})

test('what waits ends with exit status 3 and the line that takes it, and approve by the full id takes it at once', async () => {
  await using world = await reviewed()
  const commit = await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })

  const held = await world.home.command('sync')
  const wrong = await world.home.command('approve', 'team', 'a'.repeat(40))
  const short = await world.home.command('approve', 'team', commit.slice(0, 12))
  const approved = await world.home.command('approve', 'team', commit.toUpperCase(), '--json')

  expect([held.status, wrong.status, short.status, approved.status]).toEqual([3, 1, 2, 0])
  expect(held.stdout).toContain('awaiting-approval')
  expect(held.stdout).toContain(`skillsyncd approve team ${commit} or skillsyncd reject team ${commit}\n`)
  expect(wrong.stderr).toContain(`Cannot approve ${'a'.repeat(40)}: what waits of "team" is ${commit}`)
  expect(short.stderr).toContain(`"${commit.slice(0, 12)}" is not a full id`)
  expect(JSON.parse(approved.stdout)).toMatchObject({
    sources: [{ source: 'team', decision: 'approve', pull: { outcome: 'updated', commit } }],
  })
})

test('approve without an id shows what waits and its difference from what is served, and takes nothing', async () => {
  await using world = await reviewed()
  const commit = await world.repository.commit({
    'alpha/SKILL.md': skill('alpha', 'second'),
    'beta/SKILL.md': skill('beta', 'new'),
  })
  await world.home.command('sync')

  const shown = await world.home.command('approve', 'team')
  const json = await world.home.command('approve', 'team', '--json')
  const status = JSON.parse((await world.home.command('status', '--json')).stdout)

  expect([shown.status, json.status]).toEqual([2, 2])
  for (const text of [
    'team: awaiting-approval: Cannot serve without approval',
    `  refs/heads/main at ${commit}\n`,
    / {2}by .+ on \d{4}-\d\d-\d\dT[\d:.]+Z: /,
    '  changed  alpha\n    changed SKILL.md\n',
    '      -first\n      +second\n',
    '  added    beta\n    added SKILL.md\n',
    '      +new\n',
  ])
    expect(shown.stdout).toMatch(text)
  for (const { stderr } of [shown, json])
    expect(stderr).toBe(`skillsyncd: Nothing is approved without a yes or the id: skillsyncd approve team ${commit}\n`)
  expect(JSON.parse(json.stdout)).toMatchObject({
    source: 'team',
    waiting: { ref: 'refs/heads/main', commit, code: 'awaiting-approval', author: expect.any(String) },
    difference: {
      source: 'team',
      changes: [
        { path: 'alpha', change: 'changed', files: [{ path: 'SKILL.md', change: 'changed' }] },
        { path: 'beta', change: 'added', files: [{ path: 'SKILL.md', change: 'added' }] },
      ],
    },
    approve: `skillsyncd approve team ${commit}`,
  })
  expect(status.sources[0]).toMatchObject({ problem: { code: 'awaiting-approval' }, decision: {} })
})

test('on a terminal approve asks, and takes exactly what it showed', async () => {
  await using world = await reviewed()
  const commit = await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })
  await world.home.command('sync')

  const unanswered = await world.home.typing([], 'approve', 'team')
  const declined = await world.home.typing(['n'], 'approve', 'team')
  const approved = await world.home.typing(['y'], 'approve', 'team')

  expect([unanswered.status, declined.status, approved.status]).toEqual([3, 3, 0])
  expect(approved.stderr).toContain(`Approve ${commit}? [y/N]`)
  expect(approved.stdout).toContain(`team: approved ${commit}\n`)
  expect(approved.stdout).toContain(`team: updated, refs/heads/main at ${commit.slice(0, 12)}`)
})

test('what comes while an operator on a terminal reads is not approved by the answer', async () => {
  await using world = await reviewed()
  const second = await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })
  await world.home.command('sync')
  let third = ''
  async function* answering(): AsyncGenerator<string> {
    third = await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'third') })
    await world.home.command('sync')
    yield 'y'
  }

  const approved = await world.home.typing(answering(), 'approve', 'team')

  expect(approved.status).toBe(1)
  expect(approved.stderr).toContain(`Cannot approve ${second}: what waits of "team" is ${third}`)
  expect((await world.home.command('list')).stdout).not.toContain('beta')
})

test('a tag object is approved by its own id, and not by that of its commit', async () => {
  await using world = await World.create(['every: 1h', 'ref: v1', 'update: review'])
  const tag = await world.repository.tag('v1', { annotated: true })
  const commit = await world.repository.git('rev-parse', 'main')
  await world.home.command('sync')

  const shown = await world.home.command('approve', 'team')
  const byCommit = await world.home.command('approve', 'team', commit)
  const byTag = await world.home.command('approve', 'team', tag)

  expect([shown.status, byCommit.status, byTag.status]).toEqual([2, 1, 0])
  expect(shown.stdout).toContain(`  refs/tags/v1 at ${commit} (tag object ${tag})\n`)
  expect(shown.stderr).toContain(`skillsyncd approve team ${tag}\n`)
  expect(byCommit.stderr).toContain(`what waits of "team" is ${commit} (tag object ${tag})`)
  expect(byTag.stdout).toContain(`team: approved ${commit} (tag object ${tag})\n`)
})

test('the first commit is shown as all new, by approve and by the diff that the mend names', async () => {
  await using world = await World.create(['every: 1h', 'update: review'])
  const commit = await world.repository.git('rev-parse', 'main')
  const held = await world.home.command('sync')

  const diff = await world.home.command('diff', 'served', 'upstream', '--only', 'team')
  const shown = await world.home.command('approve', 'team')

  expect(held.status).toBe(3)
  expect(held.stdout).toContain('skillsyncd diff served upstream --only team')
  expect(diff).toMatchObject({ status: 3, stderr: '' })
  for (const { stdout } of [diff, shown])
    expect(stdout).toContain(`team: nothing to refs/heads/main at ${commit}\n  added    alpha\n    added SKILL.md\n`)
  expect(await world.home.command('approve', 'team', commit)).toMatchObject({ status: 0 })
  expect((await world.home.command('list')).stdout).toContain('alpha')
})

test('a folder with update: review is served as what was approved, and not as what it became since', async () => {
  await using world = await World.create()
  const folder = join(world.home.path, 'skills')
  const write = async (body: string): Promise<void> => {
    await mkdir(join(folder, 'gamma'), { recursive: true })
    await writeFile(join(folder, 'gamma', 'SKILL.md'), skill('gamma', body))
  }
  await write('first')
  await world.home.configure({ own: [`path: ${folder}`, 'update: review'] })
  const held = await world.home.command('sync')
  const shown = JSON.parse((await world.home.command('approve', 'own', '--json')).stdout)
  await write('second')

  const late = await world.home.command('approve', 'own', shown.waiting.commit)
  const listed = await world.home.command('list')
  const { waiting } = JSON.parse((await world.home.command('approve', 'own', '--json')).stdout)
  const approved = await world.home.command('approve', 'own', waiting.commit)

  expect([held.status, late.status, approved.status]).toEqual([3, 3, 0])
  expect(late.stdout).toContain(`the approved commit is not served, ${shown.waiting.commit}`)
  expect(listed.stdout).not.toContain('gamma')
  expect((await world.home.command('list')).stdout).toContain('gamma')
})

test('a lock that names the first commit is its approval on a new machine', async () => {
  await using world = await World.create(['every: 1h', 'update: review'])
  const commit = await world.repository.git('rev-parse', 'main')
  const unseen = await world.home.command('lock')
  await world.home.command('approve', 'team', commit)
  const locked = await world.home.command('lock')
  await rm(world.home.state, { recursive: true })

  const synced = await world.home.command('sync', '--locked')

  expect([unseen.status, locked.status, synced.status]).toEqual([1, 0, 0])
  expect(synced.stdout).toContain(`team: updated, refs/heads/main at ${commit.slice(0, 12)}`)
})

test('reject passes over what waits by its full id, and says how it went on', async () => {
  await using world = await reviewed()
  const commit = await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })
  await world.home.command('sync')

  const wrong = await world.home.command('reject', 'team', 'abcdef')
  const rejected = await world.home.command('reject', 'team')
  const back = await world.home.command('approve', 'team', commit)

  expect([wrong.status, rejected.status, back.status]).toEqual([1, 0, 0])
  expect(wrong.stderr).toContain(`Cannot reject abcdef: what waits of "team" is ${commit}`)
  expect(rejected.stdout).toContain(`team: rejected ${commit}\nteam: stays (rejected)`)
  expect(rejected.stdout).toContain(`skillsyncd approve team ${commit} approves this one after all`)
})

test('a source that is not polled is held where it is, and its failing host fails nothing', async () => {
  await using world = await World.create()
  await world.synced()
  const commit = await world.repository.git('rev-parse', 'main')
  world.git.fault = { kind: 'status', status: 503 }

  const held = await world.home.command('hold', 'team', '--no-poll', '--json')
  const synced = await world.home.command('sync')
  const { stdout: status } = await world.home.command('status')
  world.git.fault = { kind: 'none' }
  const released = await world.home.command('release', 'team')

  expect(JSON.parse(held.stdout)).toEqual({ sources: [{ source: 'team', decision: 'hold', commit, noPoll: true }] })
  expect(synced).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^team: stays \(held\): .*its host is not asked/),
  })
  expect(status).toContain(`  held at ${commit}, and not polled, until skillsyncd release team`)
  expect(released).toMatchObject({ status: 0, stdout: expect.stringContaining('team: unchanged') })
})

test('a hold at an earlier commit serves it at once while the host fails, and a commit that nobody has changes nothing', async () => {
  await using world = await World.create()
  await world.synced()
  const first = await world.repository.git('rev-parse', 'main')
  await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })
  await world.synced()
  const unknown = await world.home.command('hold', 'team', 'f'.repeat(40))
  const after = await world.home.command('list')
  world.git.fault = { kind: 'status', status: 503 }

  const held = await world.home.command('hold', 'team', first.slice(0, 12))

  expect(unknown).toMatchObject({ status: 1, stdout: '' })
  expect(after.stdout).toContain('beta')
  expect(held).toMatchObject({ status: 0, stdout: `team: held at ${first} until skillsyncd release team\n` })
  expect((await world.home.command('list')).stdout).not.toContain('beta')
})

test('a hold at a commit that a demanded lock does not name is refused, and nothing moves', async () => {
  await using world = await World.create(['every: 1h', 'update: locked'])
  const first = await world.repository.git('rev-parse', 'main')
  expect(await world.home.command('update', 'team')).toMatchObject({ status: 0 })
  const second = await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })

  const refused = await world.home.command('hold', 'team', second)
  const held = await world.home.command('hold', 'team')

  expect(refused).toMatchObject({
    status: 1,
    stdout: '',
    stderr: expect.stringContaining('it is not what the lock has'),
  })
  expect(held.stdout).toContain(`team: held at ${first}`)
})

test.each([
  { args: ['release'], status: 2, says: 'wants the id of a source' },
  { args: ['hold'], status: 2, says: 'wants the id of a source' },
  { args: ['hold', 'nobody'], status: 2, says: 'No source is called "nobody"' },
  { args: ['hold', 'team', 'main'], status: 2, says: '"main" is not a commit' },
  { args: ['hold', 'team', ''], status: 2, says: 'is not a commit' },
  { args: ['hold', 'team', 'abcd', 'more'], status: 2, says: 'takes no "more"' },
  { args: ['hold', 'team'], status: 1, says: 'Nothing of "team" is served that it could be held at' },
  { args: ['hold', 'team', '--reason', ' '], status: 2, says: '--reason takes 1 to 500 characters' },
  { args: ['hold', 'team', '--ring', 'late'], status: 1, says: 'There are no rings' },
  { args: ['release', 'team'], status: 1, says: '"team" follows its ref: it is neither held nor rolled back' },
  { args: ['approve'], status: 2, says: 'the id of a source is wanted' },
  { args: ['approve', 'team', 'a'.repeat(40), 'b'.repeat(40)], status: 2, says: 'one source is decided on at a time' },
  { args: ['approve', 'team'], status: 1, says: 'Nothing of "team" waits for a decision' },
  { args: ['reject', 'team'], status: 1, says: 'Nothing of "team" waits for a decision' },
  { args: ['rollback', 'team'], status: 2, says: '"team" is not a number of a generation' },
  { args: ['rollback', '7'], status: 1, says: 'There is no generation 7' },
  { args: ['rollback', 'team', 'x'], status: 2, says: '"x" is not a commit' },
  { args: ['rollback', 'team', 'abcdef'], status: 1, says: 'The store has no commit of "team"' },
])('where there is nothing to decide it says why: $args', async ({ args, status, says }) => {
  await using world = await World.create()

  const end = await world.home.command(...args)

  expect([end.status, end.stdout]).toEqual([status, ''])
  expect(end.stderr).toContain(says)
})

test('a rollback of a source with update: review says what waits then, and that is what happens', async () => {
  await using world = await reviewed()
  const first = await world.repository.git('rev-parse', 'main')
  const second = await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  await world.home.command('sync')
  await world.home.command('approve', 'team', second)

  const back = await world.home.command('rollback', 'team', first)
  const third = await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'third') })
  const next = await world.home.command('sync', '--json')
  await world.repository.git('update-ref', 'refs/heads/main', second)
  const release = await world.home.command('release', 'team', '--json')

  expect(back.stdout).toContain(`the commit after ${second} waits for skillsyncd approve team`)
  expect(back.stdout).toContain('skillsyncd release team has that one wait again')
  expect(next.stdout).toContain('awaiting-approval')
  expect(next.stdout).toContain(third)
  expect(release.stdout).toContain('awaiting-approval')
})

/** A world with `update: review`, whose first commit is approved and served. */
async function reviewed(): Promise<World> {
  const world = await World.create(['every: 1h', 'update: review'])
  await world.home.command('sync')
  const commit = await world.repository.git('rev-parse', 'main')
  expect(await world.home.command('approve', 'team', commit)).toMatchObject({ status: 0 })
  return world
}
