import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Store } from '../../src/sync/store/store.ts'
import { World, skill } from '../e2e/world.ts'
import { modernHttp, stdio } from '../support/clients/peer.ts'
import type { Peer } from '../support/clients/peer.ts'
import { Repository } from '../support/git/repository.ts'
import { Home } from '../support/process/program.ts'

const ALPHA = 'skill://team/alpha/SKILL.md'

test('--locked refuses a lock that lacks a source, has one too many, another url or ref, and names each', async () => {
  await using world = await World.create()
  await locked(world)
  const url = `${world.git.origin}/team.git`
  const other = world.git.serve('other', world.repository)
  const configured: [string, readonly string[], readonly string[]][] = [
    ['"more" is not in the lock', [`url: ${url}`], [`url: ${url}`]],
    ['"team" has url', [`url: ${other}`], []],
    ['"team" has ref', [`url: ${url}`, 'ref: refs/heads/main'], []],
    ['"team" has root', [`url: ${url}`, 'root: alpha'], []],
  ]
  const before = await lockOf(world.home)

  for (const [said, team, more] of configured) {
    await world.home.configure({ team, ...(more.length > 0 && { more }) })
    for (const command of ['sync', 'start', 'mcp']) {
      const end = await world.home.command(command, '--locked')
      expect(end).toMatchObject({ status: 1, stdout: '' })
      expect(end.stderr).toContain(said)
    }
    const told = await world.home.command('status', '--upstream', '--json')
    expect(told.status).toBe(3)
    expect(JSON.parse(told.stdout).sources.at(-1).state).toBe(more.length > 0 ? 'missing' : 'differs')
  }
  await world.home.configure({ more: [`url: ${url}`] })
  const both = await world.home.command('sync', '--locked')

  expect(both.status).toBe(1)
  expect(both.stderr).toContain('"more" is not in the lock; "team" is in the lock and not in the configuration')
  const { sources } = JSON.parse((await world.home.command('status', '--upstream', '--json')).stdout)
  expect(sources.map(({ source, state }: any) => [source, state])).toEqual([
    ['more', 'missing'],
    ['team', 'extra'],
  ])
  expect(await lockOf(world.home)).toBe(before)
})

test('without --locked only lock writes, and it adds what is missing and moves nothing', async () => {
  await using world = await World.create()
  await locked(world)
  const before = JSON.parse(await lockOf(world.home))
  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  const url = `${world.git.origin}/team.git`
  await world.home.configure({ team: [`url: ${url}`], more: [`url: ${url}`] })

  expect(await world.home.command('sync')).toMatchObject({ status: 0 })
  expect(JSON.parse(await lockOf(world.home))).toEqual(before)
  expect(await world.home.command('lock')).toMatchObject({ status: 0 })

  const after = JSON.parse(await lockOf(world.home))
  expect(after.sources.team).toEqual(before.sources.team)
  expect(after.sources.more.commit).not.toBe(before.sources.team.commit)
  expect(await world.home.command('sync', '--locked')).toMatchObject({ status: 0 })
  await world.home.configure({ team: [`url: ${url}`] })
  expect(await world.home.command('lock', '--prune')).toMatchObject({ status: 0 })
  expect(JSON.parse(await lockOf(world.home))).toEqual(before)
})

test('a locked commit whose skills have another digest is refused by name, and is not served', async () => {
  await using world = await World.create()
  await locked(world)
  // Whole in itself, as one that was made on purpose is.
  await relock(world, { 'alpha/SKILL.md': skill('alpha', 'forged') })

  const end = await world.home.command('sync', '--locked', '--json')
  const list = await world.home.command('list', '--served', '--json')

  expect(end.status).toBe(1)
  const [
    {
      problem: { code, message },
    },
  ] = JSON.parse(end.stdout).sources
  expect(code).toBe('lock-mismatch')
  expect(message).toContain('"alpha" has another digest or name')
  expect(message).toContain(await world.repository.git('rev-parse', 'main~1'))
  // Without --locked the state folder may serve on; with it, and afterwards, nothing is left in it.
  expect(JSON.parse(list.stdout)).toEqual({ skills: [] })
})

test('a lock of which any value is another one serves nothing of its source on a new machine', async () => {
  await using world = await World.create()
  await locked(world)
  const text = await lockOf(world.home)
  const other = await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  const { sources } = JSON.parse(text)
  const { commit, tree, digest, skills } = sources.team
  const edits: Readonly<Record<string, (team: typeof sources.team) => unknown>> = {
    'another commit': (team) => (team.commit = `sha1:${other}`),
    'a commit that is nowhere': (team) => (team.commit = lastDigitOther(commit)),
    'another tree': (team) => (team.tree = lastDigitOther(tree)),
    'another digest of the set': (team) => (team.digest = lastDigitOther(digest)),
    'another digest of a skill': (team) => (team.skills.alpha.digest = lastDigitOther(skills.alpha.digest)),
    'another name of a skill': (team) => (team.skills.alpha.name = 'beta'),
    'a skill more': (team) => (team.skills.beta = skills.alpha),
    'a skill less': (team) => delete team.skills.alpha,
    'another path of a skill': (team) => (team.skills = { beta: skills.alpha }),
    'another address': (team) => (team.url = 'https://evil.example/team.git'),
    'no commit': (team) => delete team.commit,
  }
  const outcomes: unknown[] = []
  await using unedited = await freshHome(world, text)
  expect(await unedited.command('sync', '--locked')).toMatchObject({ status: 0 })

  for (const [name, edit] of Object.entries(edits)) {
    const edited = JSON.parse(text)
    edit(edited.sources.team)
    await using home = await freshHome(world, JSON.stringify(edited))
    const { status } = await home.command('sync', '--locked')
    const list = await home.command('list', '--served', '--json')
    outcomes.push([name, status, list.stdout.includes('alpha') || list.stdout.includes('beta')])
  }

  expect(outcomes).toEqual(Object.keys(edits).map((name) => [name, 1, false]))
})

test('two updates at once, with a daemon and without one, go one after the other and both are in the lock', async () => {
  await using world = await World.create()
  await using more = await Repository.create()
  await more.commit({ 'beta/SKILL.md': skill('beta', 'first') })
  const url = world.git.serve('more', more)
  await world.home.configure({ team: [`url: ${world.git.origin}/team.git`], more: [`url: ${url}`] })
  await locked(world)

  for (const withDaemon of [false, true]) {
    const daemon = withDaemon ? world.home.start('start') : undefined
    await daemon?.line()
    const commits = {
      team: await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', `${withDaemon}`) }),
      more: await more.commit({ 'beta/SKILL.md': skill('beta', `${withDaemon}`) }),
    }

    const ends = await Promise.all([world.home.run('update', 'team'), world.home.run('update', 'more')])

    for (const end of ends) expect(end).toMatchObject({ status: 0, stderr: expect.not.stringContaining('skillsyncd:') })
    const { sources } = JSON.parse(await lockOf(world.home))
    for (const id of ['team', 'more'] as const) expect(sources[id].commit).toBe(`sha1:${commits[id]}`)
    await daemon?.stop()
  }
  expect(await readdir(join(world.home.path, 'config', 'skillsyncd'))).toEqual(['skills.lock', 'skillsyncd.yaml'])
})

test('an update that names its commit is the yes to what waits, also where the rules were edited since the last pull', async () => {
  await using world = await World.create()
  await locked(world)
  const commit = await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  const team = ['update: review', 'exclude: [zzz]', `url: ${world.git.origin}/team.git`]
  await world.home.configure({ team }, ['lock: ignore'])

  const end = await world.home.command('update', 'team', '--precise', commit)

  const { sources } = JSON.parse((await world.home.command('status', '--json')).stdout)
  expect(end).toMatchObject({ status: 0 })
  expect(sources[0]).toMatchObject({ served: { commit }, upstream: { commit } })
})

test('an update locks nothing of a source with update: review that no operator was shown, and says how', async () => {
  await using world = await World.create(['update: review'])
  const first = await world.repository.git('rev-parse', 'main')

  const unseen = await world.home.command('update', 'team')
  const lock = await lockOf(world.home).catch(() => 'none')
  await world.home.command('sync')
  await world.home.command('approve', 'team', first)
  const seen = await world.home.command('update', 'team')
  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  const moved = await world.home.command('update', 'team')

  expect([unseen.status, seen.status, moved.status]).toEqual([1, 0, 1])
  expect(unseen.stdout).toContain(
    `team: not updated (awaiting-approval): Cannot lock "team" at ${first}: its source has \`update: review\`, so only a commit that you name is locked: skillsyncd update team --precise ${first}`,
  )
  expect(lock).toBe('none')
  expect(JSON.parse(await lockOf(world.home)).sources.team.commit).toBe(`sha1:${first}`)
})

test.each(['lock', 'update'])(
  '%s refuses what could not all be read: no other machine could have that commit',
  async (command) => {
    await using world = await World.create()
    await world.synced()
    const store = await Store.open(world.home.state)
    const [held] = (await store.generations.current())!.sources
    const snapshot = await store.snapshots.read(held!.snapshot)
    const finding = { rule: 'not-read', path: 'alpha/x.md', message: 'The permission to read it is missing' } as const
    const skills = snapshot.skills.map((one) => ({ ...one, findings: [finding] }))
    const unread = await store.snapshots.keep({ ...snapshot, skills })
    await store.generations.publish([{ ...held!, snapshot: unread }], new Date())

    const end = await world.home.command(command)

    expect(end.status).toBe(1)
    for (const part of ['"team"', snapshot.revision.commit, '"alpha/x.md"', 'permission', 'lock it again'])
      expect(end.stdout).toContain(part)
    expect(await lockOf(world.home).catch(() => 'none')).not.toContain('"team"')
  },
)

test('two people who lock the same state get the same bytes', async () => {
  await using world = await World.create()
  await using home = await Home.create()
  await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'first') })
  await locked(world)
  // In another folder, later, with another schedule.
  await home.configure({ team: ['every: 7s', `url: ${world.git.origin}/team.git`] })

  expect(await home.command('lock', '--state', join(home.path, 'elsewhere'))).toMatchObject({ status: 0 })

  expect(await lockOf(home)).toBe(await lockOf(world.home))
})

test('update moves the lock and what is served, and tells commits and skills; status --upstream said so before', async () => {
  await using world = await World.create()
  await locked(world)
  const from = await world.repository.git('rev-parse', 'main')
  await world.repository.commit({ 'gone/SKILL.md': skill('gone', 'x') })
  await world.home.command('update')
  const to = await world.repository.commit({
    'alpha/SKILL.md': skill('alpha', 'second'),
    'new/SKILL.md': skill('new', 'x'),
    'gone/SKILL.md': null,
  })

  const outdated = await world.home.command('status', '--upstream')
  const end = await world.home.command('update', '--json')

  expect(outdated.status).toBe(3)
  expect(outdated.stdout).toContain(`upstream has refs/heads/main at ${to}`)
  expect(end).toMatchObject({ status: 0, stderr: '' })
  const [source] = JSON.parse(end.stdout).sources
  expect(source).toMatchObject({ source: 'team', to: { commit: to, ref: 'refs/heads/main' }, sync: { commit: to } })
  expect(source.from.commit).not.toBe(from)
  expect(source.changes).toEqual([
    { change: 'added', count: 1, first: [{ path: 'new' }] },
    { change: 'changed', count: 1, first: [{ path: 'alpha' }] },
    { change: 'removed', count: 1, first: [{ path: 'gone' }] },
  ])
  expect(await world.home.command('status', '--upstream')).toMatchObject({ status: 0, stderr: '' })
  expect((await world.home.command('update')).stdout).toContain('skills.lock is as it was')

  const back = await world.home.command('update', 'team', '--precise', from)
  expect(back.stdout).toContain(`moved from refs/heads/main at ${to} to ${from} at ${from}`)
  expect(await world.home.command('sync', '--locked')).toMatchObject({ status: 0 })
  expect(await servedBody(world)).toBe(skill('alpha', 'first'))
  expect(await world.home.command('status', '--upstream')).toMatchObject({ status: 3 })
})

test('update says that a skill which was locked is withheld, once, and in the words of diff', async () => {
  await using world = await World.create()
  await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'first') })
  await locked(world)
  await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'hidden \u{E0061}') })

  const told = await world.home.command('diff', 'served', 'upstream')
  const update = await world.home.command('update', 'team', '--json')
  const again = await world.home.command('update', 'team')
  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  const later = await world.home.command('update', 'team')

  expect(told.stdout).toContain('  withheld beta: hidden-unicode')
  const [{ changes }] = JSON.parse(update.stdout).sources
  expect(changes).toMatchObject([
    { change: 'withheld', count: 1, first: [{ path: 'beta', reason: { code: 'hidden-unicode' } }] },
  ])
  expect(again.stdout).not.toContain('  withheld')
  expect(later.stdout).toContain('  changed  alpha\n')
  expect(later.stdout).not.toContain('  withheld')
})

test('an update that names nothing leaves what waits of a moved tag to approve, and the entry of a source that fails', async () => {
  await using world = await World.create(['every: 1h', 'ref: v1'])
  await world.repository.tag('v1', { annotated: true })
  const team = [`url: ${world.git.origin}/team.git`, 'ref: v1']
  const other = [`url: ${world.git.serve('gone', world.repository)}`]
  await world.home.configure({ team, gone: other }, ['lock: ignore'])
  await locked(world)
  const commit = await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  const tag = await world.repository.tag('v1', { annotated: true })
  await using empty = await Repository.create()
  world.git.serve('gone', empty)
  const { gone } = JSON.parse(await lockOf(world.home)).sources
  expect(await world.home.command('sync', 'team')).toMatchObject({ status: 3 })

  const end = await world.home.command('update', '--json')
  const body = await servedBody(world)
  const approved = await world.home.command('approve', 'team', tag)

  expect([end.status, approved.status]).toEqual([1, 0])
  const { sources } = JSON.parse(end.stdout)
  expect(sources).toMatchObject([
    { source: 'team', to: { commit }, sync: { outcome: 'waiting', problem: { code: 'tag-moved' }, commit } },
    { source: 'gone', problem: { code: 'ref-not-found' } },
  ])
  expect(sources[0].sync.problem.fix).toContain(`skillsyncd approve team ${tag}`)
  expect(JSON.parse(await lockOf(world.home)).sources.gone).toEqual(gone)
  expect([body, await servedBody(world)]).toEqual([skill('alpha', 'first'), skill('alpha', 'second')])
})

test('update moves a source that follows the lock, and one with update: review where the commit is named', async () => {
  await using world = await World.create()
  const url = `url: ${world.git.origin}/team.git`
  await world.home.configure({ team: [url, 'update: review'], follows: [url, 'update: locked'] }, ['lock: ignore'])
  await world.home.command('sync', 'team')
  await world.home.command('approve', 'team', await world.repository.git('rev-parse', 'main'))
  expect(await world.home.command('lock')).toMatchObject({ status: 0 })
  const commit = await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  expect(await world.home.command('sync')).toMatchObject({ status: 3 })

  const follows = await world.home.command('update', 'follows', '--json')
  const team = await world.home.command('update', 'team', '--precise', commit, '--json')

  expect([follows.status, team.status]).toEqual([0, 0])
  for (const { stdout } of [follows, team])
    expect(JSON.parse(stdout).sources).toMatchObject([{ to: { commit }, sync: { outcome: 'updated', commit } }])
  expect(await servedBody(world)).toBe(skill('alpha', 'second'))
})

test('lock and update go on with the other sources where one follows the lock and its host is down', async () => {
  await using world = await World.create()
  const url = `url: ${world.git.origin}/team.git`
  await world.home.configure({ gone: [`url: ${world.git.origin}/gone.git`, 'update: locked'], team: [url] })

  for (const command of ['lock', 'update']) {
    const end = await world.home.command(command, '--json')
    expect(end.status).toBe(1)
    expect(JSON.parse(end.stdout).sources.find(({ source }: any) => source === 'gone')).toHaveProperty('problem')
    expect(Object.keys(JSON.parse(await lockOf(world.home)).sources)).toEqual(['team'])
  }
})

test('update --precise wants one source and a full commit id, and a commit that nobody has changes nothing', async () => {
  await using world = await World.create()
  await locked(world)
  const before = await lockOf(world.home)
  const absent = '1'.repeat(40)

  expect(await world.home.command('update', '--precise', absent)).toMatchObject({ status: 2 })
  expect(await world.home.command('update', 'team', '--precise', 'main')).toMatchObject({ status: 2 })
  expect(await world.home.command('update', 'nobody')).toMatchObject({ status: 2 })
  const end = await world.home.command('update', 'team', '--precise', absent)

  expect(end.status).toBe(1)
  expect(end.stdout).toContain(absent)
  expect(await lockOf(world.home)).toBe(before)
})

test('what was locked is served byte-identical after upstream rewrote and collected its history', async () => {
  await using world = await World.create()
  const commit = await world.repository.git('rev-parse', 'main')
  await locked(world)
  await using fresh = await Home.create()
  await fresh.configure({ team: [`url: ${world.git.origin}/team.git`, 'every: 1h'] })
  await writeFile(fresh.lockFile, await lockOf(world.home))
  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'rewritten') }, { orphan: true })
  await collectGarbage(world.repository)
  await expect(world.repository.git('cat-file', '-e', commit)).rejects.toThrow('ended with')
  // It has moved on, so that the locked commit is not what it serves.
  await ignoresLock(world)
  expect(await world.home.command('sync')).toMatchObject({ status: 0 })
  expect(await servedBody(world)).toBe(skill('alpha', 'rewritten'))

  const held = await world.home.command('sync', '--locked')
  const lost = await fresh.command('sync', '--locked', '--json')

  expect(held.status).toBe(0)
  expect(await servedBody(world)).toBe(skill('alpha', 'first'))
  const outdated = await world.home.command('status', '--upstream', '--json')
  expect(outdated.status).toBe(3)
  expect(JSON.parse(outdated.stdout).sources).toMatchObject([{ state: 'moved', locked: { commit } }])
  expect(lost.status).toBe(1)
  const [
    {
      problem: { code, message },
    },
  ] = JSON.parse(lost.stdout).sources
  expect(code).toBe('ref-not-found')
  for (const part of ['"team"', commit, 'restore the state folder', 'skillsyncd update team'])
    expect(message).toContain(part)
  expect(JSON.parse((await fresh.command('list', '--json')).stdout)).toEqual({ skills: [] })
})

test('a branch that moved on and lost a skill: restored as locked with 0, told by status --upstream and diff with 3', async () => {
  await using world = await World.create()
  await world.repository.commit({ 'beta/SKILL.md': skill('beta', 'first') })
  await locked(world)
  const text = await lockOf(world.home)
  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second'), 'beta/SKILL.md': null })

  for (const home of [world.home, await freshHome(world, text)]) {
    expect(await home.command('sync', '--locked')).toMatchObject({ status: 0 })
    expect(await servedNames(home)).toEqual(['alpha', 'beta'])
    expect(await home.command('status', '--upstream')).toMatchObject({ status: 3 })
    const diff = await home.command('diff', '--json')
    expect(diff.status).toBe(3)
    expect(JSON.parse(diff.stdout).sources[0].changes).toMatchObject([
      { path: 'alpha', change: 'changed' },
      { path: 'beta', change: 'removed' },
    ])
    expect(await lockOf(home)).toBe(text)
  }
})

test.each([false, true])(
  'a tag that was moved (annotated: %s): served as locked, both named, with 3',
  async (annotated) => {
    await using world = await World.create(['every: 1h', 'ref: v1'])
    const locked1 = await world.repository.tag('v1', { annotated })
    await locked(world)
    const text = await lockOf(world.home)
    await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
    const moved = await world.repository.tag('v1', { annotated })
    const fresh = await freshHome(world, text, ['ref: v1'])

    for (const home of [world.home, fresh]) {
      const end = await home.command('sync', '--locked', '--json')
      expect(end.status).toBe(3)
      const [
        {
          problem: { code, message },
        },
      ] = JSON.parse(end.stdout).sources
      expect(code).toBe('tag-moved')
      for (const id of [locked1, moved]) expect(message).toContain(id)
      const outdated = await home.command('status', '--upstream', '--json')
      expect(outdated.status).toBe(3)
      expect(JSON.parse(outdated.stdout).sources).toMatchObject([{ state: 'tag-moved' }])
      expect(await lockOf(home)).toBe(text)
      expect(await bodyIn(home)).toBe(skill('alpha', 'first'))
    }
  },
)

test('with --locked a state folder that holds something newer serves nothing of it, from the first answer on', async () => {
  await using world = await World.create()
  await locked(world)
  await ignoresLock(world)
  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'newer') })
  await world.synced()
  expect(await servedBody(world)).toBe(skill('alpha', 'newer'))
  world.git.fault = { kind: 'hang-before' }

  const daemon = world.home.start('start', '--locked')
  await using peer = await modernHttp(await daemon.line())
  const bodies = [await bodyOf(peer)]
  await daemon.said((line) => line.includes('"source-updated"'))
  bodies.push(await bodyOf(peer))
  await daemon.stop()
  await using mcp = await stdio(['--locked'], 'legacy', world.home.env)
  bodies.push(await bodyOf(mcp))

  expect([undefined, skill('alpha', 'first')]).toContain(bodies[0])
  expect(bodies.slice(1)).toEqual([skill('alpha', 'first'), skill('alpha', 'first')])
})

test('an entry that is taken out of the lock while a daemon runs --locked takes the source out of service', async () => {
  await using world = await World.create()
  await locked(world)
  const text = await lockOf(world.home)
  const daemon = world.home.start('start', '--locked')
  await using peer = await modernHttp(await daemon.line())
  await using mcp = await stdio(['--locked'], 'legacy', world.home.env)
  expect([await bodyOf(peer), await bodyOf(mcp)]).toEqual([skill('alpha', 'first'), skill('alpha', 'first')])
  await using heard = await mcp.subscribe([], { list: true })

  await writeFile(world.home.lockFile, JSON.stringify({ ...JSON.parse(text), sources: {} }))
  const end = await world.home.command('sync')
  await heard.next(({ method }) => method === 'notifications/resources/list_changed')

  expect(end.status).toBe(1)
  expect(end.stdout).toContain('"team" is not in the lock')
  expect([await bodyOf(peer), await bodyOf(mcp)]).toEqual([undefined, undefined])
  await writeFile(world.home.lockFile, text)
  expect(await world.home.command('sync')).toMatchObject({ status: 0 })
  expect(await bodyOf(peer)).toBe(skill('alpha', 'first'))
})

test('--frozen and --offline ask no host for anything, and serve what is here', async () => {
  await using world = await World.create()
  await locked(world)
  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  const asked = world.git.requests.length

  for (const flags of [['--frozen'], ['--offline'], ['--locked', '--offline']]) {
    expect(await world.home.command('sync', ...flags)).toMatchObject({ status: 0 })
    const daemon = world.home.start('start', ...flags)
    await using peer = await modernHttp(await daemon.line())
    expect(await world.home.command('sync', ...flags)).toMatchObject({ status: 0 })
    expect(await bodyOf(peer)).toBe(skill('alpha', 'first'))
    expect(await world.home.command('status', '--upstream')).toMatchObject({ status: 1 })
    await daemon.stop()
    await using mcp = await stdio(flags, 'legacy', world.home.env)
    expect(await bodyOf(mcp)).toBe(skill('alpha', 'first'))
  }
  const fresh = await freshHome(world, await lockOf(world.home))
  const end = await fresh.command('sync', '--frozen')

  expect(end.status).toBe(1)
  expect(end.stdout).toMatch(
    /team: failed \(not-stored\): .*: the store does not have it, and --offline forbids network access\n +Run skillsyncd sync once with neither --offline nor --frozen/,
  )
  expect(end.stdout).not.toContain('`ref`')
  expect(world.git.requests.length).toBe(asked)
})

test('diff tells what changed between lock, served, upstream, generations and another lock, with the text', async () => {
  await using world = await World.create(HIDDEN_NOTED)
  await locked(world)
  await ignoresLock(world, HIDDEN_NOTED)
  await writeFile(join(world.home.path, 'old.lock'), await lockOf(world.home))
  expect(await world.home.command('diff')).toMatchObject({ status: 0, stdout: 'no difference\n' })
  await world.repository.commit({ 'alpha/SKILL.md': `${skill('alpha', 'second')}\u001B[31m\ttabbed\u202E\n` })

  const upstream = await world.home.command('diff')
  expect(upstream.status).toBe(3)
  expect(upstream.stdout.split('\n')).toEqual(
    expect.arrayContaining([
      '  changed  alpha',
      '    changed SKILL.md',
      '      -first',
      '      +second',
      '      +\\u{1b}[31m\ttabbed\\u{202e}',
    ]),
  )
  expect(await world.home.command('diff', 'lock', 'served')).toMatchObject({ status: 0 })
  await world.synced()
  const pairs = [
    ['lock', 'served'],
    ['1', '2'],
    [join(world.home.path, 'old.lock'), 'upstream'],
    ['lock', 'upstream', '--only', 'team'],
  ]
  for (const pair of pairs) {
    const end = await world.home.command('diff', ...pair, '--json', '--text')
    expect(end.status).toBe(3)
    const [source, ...others] = JSON.parse(end.stdout).sources
    expect(others).toEqual([])
    expect(source.changes).toMatchObject([{ path: 'alpha', change: 'changed', from: { name: 'alpha' } }])
    const [{ lines }] = source.changes[0].files[0].diff.hunks
    expect(lines).toContain('+second')
  }
  const back = JSON.parse((await world.home.command('diff', 'served', 'lock', '--json')).stdout)
  expect(back.sources[0].changes).toMatchObject([{ path: 'alpha', change: 'changed' }])
  expect(back.sources[0].changes[0].files[0].diff).toBeUndefined()
})

test('diff says what it cannot compare: a generation, lock or source that is not there, a host that is down', async () => {
  await using world = await World.create()
  await locked(world)

  expect((await world.home.command('diff', '99', 'served')).stderr).toContain('no generation 99')
  expect((await world.home.run('diff', './absent.lock', 'served')).stderr).toContain('there is none')
  expect(await world.home.command('diff', '--only', 'nobody')).toMatchObject({ status: 2 })
  world.git.fault = { kind: 'status', status: 503 }
  const down = await world.home.command('diff', '--json')

  expect(down.status).toBe(1)
  expect(JSON.parse(down.stdout).sources).toMatchObject([{ source: 'team', problem: { code: 'source-unreachable' } }])
})

test('diff tells of a SKILL.md over a mebibyte, and shows none of it', async () => {
  await using world = await World.create()
  await locked(world)
  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'x'.repeat(2 ** 20)) })

  const end = await world.home.command('diff')

  expect(end.status).toBe(3)
  expect(end.stdout).toMatch(/changed SKILL\.md: it has 10\d{5} bytes, too many to be shown here/)
  expect(end.stdout.length).toBeLessThan(2_000)
})

/** Writes the lock of what the world has now, and serves that. */
async function locked(world: World): Promise<void> {
  await world.synced()
  expect(await world.home.command('lock')).toMatchObject({ status: 0 })
}

/** From now on the source follows its ref, unless a switch says otherwise. */
async function ignoresLock({ home, git }: World, source: readonly string[] = ['every: 1h']): Promise<void> {
  await home.configure({ team: [`url: ${git.origin}/team.git`, ...source] }, ['lock: ignore'])
}

const HIDDEN_NOTED = ['every: 1h', 'hidden_unicode: note']

async function lockOf(home: Home): Promise<string> {
  return readFile(home.lockFile, 'utf8')
}

/** Makes the lock name its commit with the skills of another one, in a way that is whole in itself. */
async function relock(world: World, files: Readonly<Record<string, string>>): Promise<void> {
  const before = JSON.parse(await lockOf(world.home))
  await world.repository.commit(files)
  expect(await world.home.command('update')).toMatchObject({ status: 0 })
  const { commit, tree } = before.sources.team
  const after = JSON.parse(await lockOf(world.home))
  Object.assign(after.sources.team, { commit, tree })
  await writeFile(world.home.lockFile, JSON.stringify(after))
}

/** Another value of the same form. */
function lastDigitOther(hex: string): string {
  return `${hex.slice(0, -1)}${hex.endsWith('0') ? '1' : '0'}`
}

/** A machine that has the configuration and the lock, and nothing else. */
async function freshHome(world: World, text: string, source: readonly string[] = []): Promise<Home> {
  const home = await Home.create()
  await home.configure({ team: [`url: ${world.git.origin}/team.git`, 'every: 1h', ...source] })
  await writeFile(home.lockFile, text)
  return home
}

async function collectGarbage(repository: Repository): Promise<void> {
  await repository.git('reflog', 'expire', '--expire=now', '--all')
  await repository.git('gc', '--quiet', '--prune=now')
}

async function servedBody({ home }: World): Promise<string | undefined> {
  return bodyIn(home)
}

/** Of the skill `alpha`, by a program that reads the state folder and pulls nothing. */
async function bodyIn(home: Home): Promise<string | undefined> {
  await using mcp = await stdio(['--offline'], 'legacy', home.env)
  return await bodyOf(mcp)
}

async function bodyOf(peer: Peer): Promise<string | undefined> {
  const { result } = await peer.call('resources/read', { uri: ALPHA })
  return result?.contents[0].text
}

async function servedNames(home: Home): Promise<string[]> {
  const { skills } = JSON.parse((await home.command('list', '--served', '--json')).stdout)
  return skills.map(({ name }: any) => name)
}
