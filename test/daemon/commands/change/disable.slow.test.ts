import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World, skill } from '../../../e2e/world.ts'
import { modernHttp, stdio } from '../../../support/clients/peer.ts'
import type { Peer } from '../../../support/clients/peer.ts'

const ALPHA = 'skill://team/alpha/SKILL.md'

test('disable and enable take effect at once, heed no case, and a second time nothing', async () => {
  await using world = await World.create()
  await world.synced()
  const { home } = world
  const url = await home.start('start').line()
  await using peer = await modernHttp(url)
  await using follower = await stdio(['--config', home.configFile], 'modern', home.env)
  const heard = await follower.subscribe([ALPHA])

  const ends = [await home.command('disable', 'TEAM/Alpha', '--json'), await home.command('disable', 'team/alpha')]
  const gone = await found(peer)
  await heard.next((message) => message.params?.uri === ALPHA)
  const updates = heard.messages.filter(({ params }) => params?.uri === ALPHA).length
  const told = [await home.command('status'), await home.command('list'), await home.command('show', 'alpha')]
  told.push(await home.command('why', 'Team/alpha'))
  const back = [await home.command('enable', ALPHA.toUpperCase()), await home.command('enable', 'alpha')]

  expect(ends.map(({ status, stderr }) => [status, stderr])).toEqual([
    [0, ''],
    [0, ''],
  ])
  expect(JSON.parse(ends[0]!.stdout)).toEqual({
    skills: [
      { source: 'team', path: 'alpha', uri: ALPHA, already: false, others: { count: 0, places: [] }, disabled: true },
    ],
    unknown: [],
  })
  expect(ends[1]?.stdout).toBe(
    'team/alpha: already disabled: in no list, and clients do not find it; skillsyncd enable team/alpha\n',
  )
  expect([gone, updates]).toEqual([false, 1])
  expect(told[0]?.stdout).toContain('0 of 1 skill served, 1 disabled\n')
  expect(told[1]?.stdout).toMatch(/skill:\/\/team\/alpha +disabled/)
  for (const { stdout } of told.slice(2)) {
    expect(stdout).toContain('alpha (disabled)')
    expect(stdout).toContain('    skillsyncd enable team/alpha\n')
  }
  expect(back.map(({ status, stdout }) => [status, stdout])).toEqual([
    [0, 'team/alpha: enabled\n'],
    [0, 'team/alpha: already enabled\n'],
  ])
  expect(await found(peer)).toBe(true)
})

test('the reason of a disabled skill is shown wherever that is, over a restart and at other places, until it is enabled', async () => {
  await using world = await World.create()
  await world.synced()
  const { home, repository } = world

  const disabled = await home.command('disable', 'alpha', '--reason', 'breaks tables')
  await repository.commit({ 'alpha/SKILL.md': null, 'beta/SKILL.md': skill('alpha', 'first') })
  await world.synced()
  const told = [await home.command('why', 'team/beta'), await home.command('show', 'team/beta')]
  const listed = JSON.parse((await home.command('list', '--json')).stdout)
  const wrong = await home.command('disable', 'alpha', '--reason', ' ')

  expect(disabled.stdout).toContain(
    'team/alpha: disabled: breaks tables: in no list, and clients do not find it; skillsyncd enable team/alpha\n',
  )
  for (const { stdout } of told)
    expect(stdout).toContain(
      '! disabled team/alpha: breaks tables: in no list, and clients do not find it; it has the ',
    )
  expect(listed.skills[0].verdict).toMatchObject({ state: 'disabled', reasons: [{ place: 'team/alpha' }, {}] })
  expect(wrong).toMatchObject({ status: 2, stderr: expect.stringContaining('--reason takes 1 to') })
  expect(await home.command('enable', 'team/beta')).toMatchObject({ status: 0 })
  expect((await home.command('why', 'team/beta')).stdout).not.toContain('breaks tables')
})

test('a name that no skill has is a warning with status 1, changes nothing, and keeps no other from its decision', async () => {
  await using world = await World.create()
  await world.synced()
  const { home } = world

  const unknown = await home.command('disable', 'team/nobody')
  const decisions = await readFile(join(home.state, 'decisions.json'), 'utf8').catch(() => 'none')
  const beside = await home.command('disable', 'nobody', 'alpha', '--json')
  const nothing = await home.command('disable')

  expect([unknown.status, unknown.stdout, decisions]).toEqual([1, '', 'none'])
  expect(unknown.stderr).toContain('no skill is called "team/nobody", so nothing was changed for it')
  expect(beside.status).toBe(1)
  expect(JSON.parse(beside.stdout)).toMatchObject({ skills: [{ path: 'alpha', already: false }], unknown: ['nobody'] })
  expect([nothing.status, nothing.stdout]).toEqual([2, ''])
})

test('a name that several skills have changes none, and the error lists them', async () => {
  await using world = await World.create()
  await world.repository.commit({ 'a/beta/SKILL.md': skill('beta', 'one'), 'b/beta/SKILL.md': skill('beta', 'two') })
  await world.synced()

  const both = await world.home.command('disable', 'alpha', 'team/beta')
  const one = await world.home.command('disable', 'team/b/beta')

  expect([both.status, both.stdout, one.status]).toEqual([1, '', 0])
  expect(both.stderr).toContain('"team/beta" can mean 2 skills: team/a/beta, team/b/beta')
  const decisions: unknown = JSON.parse(await readFile(join(world.home.state, 'decisions.json'), 'utf8'))
  expect(decisions).toMatchObject({
    rules: [{ effect: 'withdraw', on: { places: [{ source: 'team', path: 'b/beta' }] } }],
  })
})

test('what was disabled without a daemon is so for the next one, through pulls and while its source does not have it', async () => {
  await using world = await World.create(['every: 1h', 'brakes: follow'])
  await world.synced()
  const { home, repository } = world
  const text = skill('alpha', 'changed')

  const disabled = await home.command('disable', 'alpha', '--offline')
  const daemon = home.start('start', '--offline')
  await using peer = await modernHttp(await daemon.line())
  const restarted = await found(peer)
  await daemon.stop()
  await repository.commit({ alpha: null, 'beta/SKILL.md': skill('beta', 'first') })
  await world.synced()
  const absent = await home.command('status')
  const again = await home.command('disable', 'team/alpha')
  await repository.commit({ 'alpha/SKILL.md': text })
  await world.synced()
  await using next = await modernHttp(await home.start('start').line())
  const pulled = await found(next)
  const enabled = await home.command('enable', 'alpha')

  expect([disabled.status, again.status, enabled.status]).toEqual([0, 0, 0])
  expect([restarted, pulled]).toEqual([false, false])
  expect(absent.stdout).toContain(
    '  - disabled team/alpha: in no list, and clients do not find it\n    skillsyncd enable team/alpha',
  )
  expect(again.stdout).toContain('already disabled')
  const { result } = await next.call('resources/read', { uri: ALPHA })
  expect(result.contents[0].text).toBe(text)
})

test('a disabled skill that its author renames is in no folder of an agent, and the commands say why and bring it back', async () => {
  await using world = await World.create()
  await world.synced()
  const { home, repository } = world
  expect(await home.command('link', '--once', 'claude-code')).toMatchObject({ status: 0 })
  const linked = join(home.path, '.claude/skills/alpha/SKILL.md')
  const before = await readFile(linked, 'utf8')

  const disabled = await home.command('disable', 'alpha')
  await repository.commit({ alpha: null, 'alpha-2/SKILL.md': skill('alpha', 'first') })
  await world.synced()
  const told = [await home.command('status'), await home.command('why', 'alpha-2'), await home.command('list')]
  await using peer = await modernHttp(await home.start('start').line())
  const served = await found(peer)
  const without = await readFile(linked, 'utf8').catch((error: NodeJS.ErrnoException) => error.code)
  const enabled = await home.command('enable', 'alpha')

  expect([before, disabled.status, served, without]).toEqual([skill('alpha', 'first'), 0, false, 'ENOENT'])
  const out = 'disabled team/alpha: in no list, and clients do not find it'
  expect(told[0]?.stdout).toContain(`  - ${out}\n    skillsyncd enable team/alpha\n`)
  expect(told[0]?.stdout).toContain(`  - ${out}; it has the SKILL.md of team/alpha\n`)
  expect(told[1]?.stdout).toContain('it has the SKILL.md of team/alpha\n    skillsyncd enable team/alpha\n')
  expect(told[2]?.stdout).toMatch(/skill:\/\/team\/alpha +disabled/)
  expect(enabled).toMatchObject({ status: 0, stdout: 'team/alpha-2: enabled\n', stderr: '' })
  expect([await found(peer), await readFile(linked, 'utf8')]).toEqual([true, before])
})

test('what goes out of service with a disabled skill is named, and to enable that says what keeps it out', async () => {
  await using world = await World.create()
  await world.repository.commit({
    'outer/SKILL.md': skill('outer', 'one'),
    'outer/inner/SKILL.md': skill('inner', 'two'),
  })
  await world.synced()
  const { home } = world

  const disabled = await home.command('disable', 'inner')
  const outer = await home.command('enable', 'outer', '--json')
  const words = await home.command('enable', 'outer')
  const enabled = await home.command('enable', 'inner')

  expect(disabled.stdout).toContain('  team/outer is out of service too: it holds files of it\n')
  expect(JSON.parse(outer.stdout)).toMatchObject({
    skills: [{ path: 'outer', already: true, still: { as: 'team/outer/inner', by: 'holds' } }],
  })
  expect(words.stdout).toContain('team/outer: disabled: in no list, and clients do not find it; it holds files of')
  expect(enabled.stdout).toBe('team/outer/inner: enabled\n  team/outer is in service too\n')
})

test('with a lock that is followed a skill is disabled and enabled as without one', async () => {
  await using world = await World.create()
  await world.synced()
  const { home } = world
  expect(await home.command('lock')).toMatchObject({ status: 0 })

  const alone = await home.command('disable', 'alpha', '--frozen')
  await using peer = await modernHttp(await home.start('start', '--frozen').line())
  const gone = await found(peer)
  const enabled = await home.command('enable', 'alpha')

  expect([alone.status, gone, enabled.status, await found(peer)]).toEqual([0, false, 0, true])
})

test('where the decisions cannot be read nothing is disabled, and the file is left as it is', async () => {
  await using world = await World.create()
  await world.synced()
  const file = join(world.home.state, 'decisions.json')
  await writeFile(file, '{"disabled":')

  const end = await world.home.command('disable', 'alpha')

  expect([end.status, await readFile(file, 'utf8')]).toEqual([1, '{"disabled":'])
  expect(end.stderr).toContain('it is damaged')
})

/** Whether the client is given the skill: both lists and a read say the same. */
async function found(peer: Peer): Promise<boolean> {
  const { result: skills } = await peer.call('skills/list')
  const { error } = await peer.call('resources/read', { uri: ALPHA })
  const isListed = skills.skills.some(({ uri }: { uri: string }) => uri === ALPHA)
  expect(error === undefined || error.code === -32602).toBe(true)
  expect(isListed).toBe(error === undefined)
  return isListed
}
