import { expect, test } from 'vitest'
import { Repository } from '../support/git/repository.ts'
import { ScriptedUpstream } from '../support/git/scripted-upstream.ts'
import { Desk, skills } from './desk.ts'

test('a commit that changes one skill tells of that one alone, and leaves the others where they lie', async () => {
  await using desk = await Desk.open()
  await desk.repository.commit(skills('one', 'two'))
  await desk.start()
  await desk.sync()
  const before = await desk.placesOf('two')
  const told: string[] = []
  using _listening = desk.daemon.registry.listen(({ added, changed, removed }) => {
    told.push(...added, ...changed, ...removed)
  })
  await desk.repository.commit({ ...skills('one'), 'one/new.md': 'new' })

  await desk.sync()

  expect(told).toEqual(['skill://team/one/new.md'])
  expect(await desk.placesOf('two')).toEqual(before)
})

test('a branch that was rewritten is followed, and recorded with both commits', async () => {
  await using desk = await Desk.open()
  desk.upstream = new ScriptedUpstream(skills('one'))
  await desk.start()
  await desk.sync()
  const first = desk.served()
  desk.upstream.files = skills('two')
  desk.upstream.related = 'rewritten'

  const outcome = await desk.sync()

  const second = desk.served()
  expect(second).not.toBe(first)
  expect(outcome).toMatchObject({ kind: 'updated', rewritten: true, from: { commit: first } })
  expect(desk.logged('history-rewritten')).toMatchObject([{ source: 'team', from: first, commit: second }])
  expect((await desk.history())[0]).toMatchObject({
    cause: { action: 'update', source: 'team', rewritten: true },
    moves: [
      {
        source: 'team',
        from: first,
        to: second,
        skills: [
          { count: 1, first: [{ path: 'two' }] },
          { count: 1, first: [{ path: 'one' }] },
        ],
      },
    ],
  })
})

test('a force push to an unrelated history is followed from a real server, and never called a plain update', async () => {
  await using desk = await Desk.open()
  const first = await desk.repository.commit(skills('one'))
  await desk.start()
  await desk.sync()
  const second = await desk.repository.commit(skills('two'), { orphan: true })

  const outcome = await desk.sync()

  expect(outcome).toMatchObject({ kind: 'updated', from: { commit: first }, revision: { commit: second } })
  expect(outcome).toMatchObject({ rewritten: true })
})

test.each([
  ['to the commit before', 1, true],
  ['by several commits', 3, true],
  ['by several commits, of a host that shows no history', 3, false],
])(
  'a branch that goes back %s is held with both commits named, and followed once it is approved',
  async (_, back, filter) => {
    await using desk = await Desk.open()
    await desk.repository.git('config', 'uploadpack.allowFilter', String(filter))
    const older = await desk.repository.commit(skills('one'))
    for (let made = 0; made < back; made += 1)
      await desk.repository.commit({ 'one/SKILL.md': null, ...skills('two'), n: `${made}` })
    await desk.start()
    await desk.sync()
    const newer = desk.served()
    await desk.repository.git('update-ref', 'refs/heads/main', older)

    const outcome = await desk.sync()

    expect(outcome).toMatchObject({
      kind: 'waiting',
      revision: { commit: older },
      reason: { code: 'history-rewritten' },
    })
    expect(outcome).toMatchObject({
      reason: { message: expect.stringContaining(`went back from ${newer} to ${older}`) },
    })
    expect(desk.served()).toBe(newer)
    await desk.decide('approve', older)
    await desk.sync()
    expect(desk.served()).toBe(older)
  },
)

test('a branch that goes back is followed where the operator wants that', async () => {
  await using desk = await Desk.open(['brakes: follow'])
  const older = await desk.repository.commit(skills('one'))
  await desk.repository.commit(skills('two'))
  await desk.start()
  await desk.sync()
  await desk.repository.git('update-ref', 'refs/heads/main', older)

  const outcome = await desk.sync()

  expect(outcome).toMatchObject({ kind: 'updated', rewritten: true })
  expect(desk.served()).toBe(older)
})

test('another repository that the operator names is followed, although its commits are older', async () => {
  await using desk = await Desk.open()
  await using other = await Repository.create()
  desk.git.serve('other', other)
  const older = await other.commit(skills('two'))
  await desk.repository.commit(skills('one'))
  await desk.repository.commit({ n: '1' })
  await desk.start()
  await desk.sync()
  desk.place = 'other'
  await desk.start()

  const outcome = await desk.sync()

  expect(outcome).toMatchObject({ kind: 'updated', revision: { commit: older } })
})

test('a branch that was rewritten by its author is followed, whatever its dates', async () => {
  await using desk = await Desk.open()
  const base = await desk.repository.commit(skills('one'))
  await desk.repository.commit(skills('two'))
  await desk.start()
  await desk.sync()
  await desk.repository.git('update-ref', 'refs/heads/main', base)
  const amended = await desk.repository.commit(skills('three'))

  const outcome = await desk.sync()

  expect(outcome).toMatchObject({ kind: 'updated', rewritten: true })
  expect(desk.served()).toBe(amended)
})

test.each([{ annotated: false }, { annotated: true }])(
  'a tag that moved is held with both commits named, and followed once it is approved: %o',
  async ({ annotated }) => {
    await using desk = await Desk.open(['ref: v1'])
    const first = await desk.repository.commit(skills('one'))
    const firstTag = await desk.repository.tag('v1', { annotated })
    await desk.start()
    await desk.sync()
    const second = await desk.repository.commit(skills('two'))
    const secondTag = await desk.repository.tag('v1', { annotated })

    const held = await desk.sync()
    const servedMeanwhile = desk.served()
    await desk.decideOnWaiting('approve')
    const after = await desk.sync()

    expect(held).toMatchObject({ kind: 'waiting', reason: { code: 'tag-moved' } })
    const { message } = held.kind === 'waiting' ? held.reason : { message: '' }
    for (const id of [first, second, ...(annotated ? [firstTag, secondTag] : [])]) expect(message).toContain(id)
    expect(servedMeanwhile).toBe(first)
    expect(after).toMatchObject({ kind: 'updated', revision: { commit: second } })
    expect(desk.status()).toMatchObject({ served: { commit: second }, problem: undefined, decision: {} })
  },
)

test('a tag that moved is followed where the configuration says so', async () => {
  await using desk = await Desk.open(['ref: v1', 'brakes: follow'])
  await desk.repository.commit(skills('one'))
  await desk.repository.tag('v1')
  await desk.start()
  await desk.sync()
  const second = await desk.repository.commit(skills('two'))
  await desk.repository.tag('v1')

  const outcome = await desk.sync()

  expect(outcome).toMatchObject({ kind: 'updated', revision: { commit: second } })
})

test('a tag that is made anew for the same commit is held too: it is another signature', async () => {
  await using desk = await Desk.open(['ref: v1'])
  const commit = await desk.repository.commit(skills('one'))
  const before = await desk.repository.tag('v1', { annotated: true })
  await desk.start()
  await desk.sync()
  const after = await desk.repository.tag('v1', { annotated: true, commit })

  const held = await desk.sync()
  await desk.decideOnWaiting('approve')
  const approved = await desk.sync()

  expect(before).not.toBe(after)
  expect(held).toMatchObject({ kind: 'waiting', reason: { code: 'tag-moved' } })
  expect(held.kind === 'waiting' && held.reason.message.includes(before) && held.reason.message.includes(after)).toBe(
    true,
  )
  expect(approved).toMatchObject({ kind: 'updated', revision: { commit, tag: after } })
  expect(await desk.sync()).toMatchObject({ kind: 'unchanged' })
  expect(desk.status().decision).toEqual({})
})

test('a deleted ref leaves what was served in place and says so; when it comes back it is followed again', async () => {
  await using desk = await Desk.open(['ref: stable'])
  const first = await desk.repository.commit(skills('one'), { branch: 'stable' })
  await desk.repository.commit(skills('other'))
  await desk.start()
  await desk.sync()
  await desk.repository.deleteRef('refs/heads/stable')

  const gone = await desk.sync()
  const during = { served: desk.served(), code: desk.status().problem?.code, names: desk.names() }
  await desk.repository.setRef('refs/heads/stable', first)
  const second = await desk.repository.commit(skills('two'), { branch: 'stable' })
  const back = await desk.sync()

  expect(gone).toMatchObject({ kind: 'failed', error: { code: 'ref-not-found' } })
  expect(during).toEqual({ served: first, code: 'ref-not-found', names: ['one'] })
  expect(back).toMatchObject({ kind: 'updated', revision: { commit: second } })
  expect(desk.status().problem).toBeUndefined()
})

test('a repository that is gone is told apart from one that wants a credential, and both serve on', async () => {
  await using desk = await Desk.open()
  const commit = await desk.repository.commit(skills('one'))
  await desk.start()
  await desk.sync()

  desk.git.fault = { kind: 'status', status: 404 }
  const gone = await desk.sync()
  desk.git.fault = { kind: 'none' }
  desk.git.access = { token: 'wanted' }
  const closed = await desk.sync()
  desk.git.access = undefined
  const back = await desk.sync()

  expect(gone).toMatchObject({ kind: 'failed', error: { code: 'repository-not-found' } })
  expect(closed).toMatchObject({ kind: 'failed', error: { code: 'credentials-rejected' } })
  expect(back).toMatchObject({ kind: 'unchanged' })
  expect([desk.served(), desk.names(), desk.status().problem]).toEqual([commit, ['one'], undefined])
})

test('a name that is a branch and a tag is ambiguous; in full it is the one that is meant', async () => {
  await using desk = await Desk.open(['ref: v1'])
  const tagged = await desk.repository.commit(skills('tagged'))
  await desk.repository.tag('v1')
  const branched = await desk.repository.commit(skills('branched'), { branch: 'v1' })
  const outcomes = []

  for (const ref of ['v1', 'refs/tags/v1', 'refs/heads/v1']) {
    desk.source = [`ref: ${ref}`]
    await desk.start()
    outcomes.push(await desk.sync())
  }

  const [plain, ofTag, ofBranch] = outcomes
  expect(plain).toMatchObject({ kind: 'failed', error: { code: 'ref-ambiguous' } })
  expect(plain?.kind === 'failed' && plain.error.message).toMatch(/refs\/heads\/v1.*refs\/tags\/v1/)
  expect(ofTag).toMatchObject({ kind: 'updated', revision: { commit: tagged, ref: 'refs/tags/v1' } })
  expect(ofBranch).toMatchObject({ kind: 'updated', revision: { commit: branched, ref: 'refs/heads/v1' } })
})

test('a range follows a new tag in it, and neither a pre-release nor one outside', async () => {
  await using desk = await Desk.open(["ref: { range: '^1', prefix: v }"])
  await desk.repository.commit(skills('one'))
  await desk.repository.tag('v1.0.0')
  await desk.start()
  await desk.sync()

  const second = await desk.repository.commit(skills('two'))
  await desk.repository.tag('v1.2.0', { annotated: true })
  const followed = await desk.sync()
  await desk.repository.commit(skills('three'))
  await desk.repository.tag('v1.3.0-rc.1')
  await desk.repository.tag('v2.0.0')
  const stays = await desk.sync()

  expect(followed).toMatchObject({ kind: 'updated', revision: { commit: second, ref: 'refs/tags/v1.2.0' } })
  expect(stays).toMatchObject({ kind: 'unchanged', revision: { commit: second } })
})

test('the highest tag of a range that is deleted is served on, held by name', async () => {
  await using desk = await Desk.open(["ref: { range: '^1', prefix: v }"])
  const first = await desk.repository.commit(skills('one'))
  await desk.repository.tag('v1.0.0')
  const second = await desk.repository.commit(skills('two'))
  await desk.repository.tag('v1.1.0')
  await desk.start()
  await desk.sync()
  await desk.repository.deleteRef('refs/tags/v1.1.0')

  const held = await desk.sync()
  const served = desk.served()
  await desk.decideOnWaiting('approve')
  const approved = await desk.sync()

  expect(held).toMatchObject({ kind: 'waiting', reason: { code: 'tag-moved' } })
  expect(held.kind === 'waiting' && held.reason.message).toContain('tag "v1.1.0"')
  expect(served).toBe(second)
  expect(approved).toMatchObject({ kind: 'updated', revision: { commit: first } })
})

test('a default branch that was renamed without a commit is followed; another one is held until it is approved', async () => {
  await using desk = await Desk.open()
  const first = await desk.repository.commit(skills('one'))
  await desk.start()
  await desk.sync()

  await desk.repository.git('branch', '--move', 'main', 'trunk')
  const renamed = await desk.sync()
  const other = await desk.repository.commit(skills('other'), { branch: 'next', orphan: true })
  await desk.repository.git('symbolic-ref', 'HEAD', 'refs/heads/next')
  const held = await desk.sync()
  const served = desk.served()
  await desk.decideOnWaiting('approve')
  const approved = await desk.sync()

  expect(renamed).toMatchObject({ kind: 'updated', revision: { commit: first, ref: 'refs/heads/trunk' } })
  expect(held).toMatchObject({ kind: 'waiting', reason: { code: 'default-branch-moved' } })
  const { message } = held.kind === 'waiting' ? held.reason : { message: '' }
  for (const text of ['refs/heads/trunk', 'refs/heads/next', first, other]) expect(message).toContain(text)
  expect(served).toBe(first)
  expect(approved).toMatchObject({ kind: 'updated', revision: { commit: other, ref: 'refs/heads/next' } })
})
