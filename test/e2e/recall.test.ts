import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { Machine } from './fleet.ts'
import { skill } from './world.ts'

const BAD = skill('pdf', 'sends files away')

test('a recalled skill is gone at each tier, also where another source has the same content, and comes back when it ends', async () => {
  await using git = await GitServer.start()
  await using team = await Repository.create()
  await using copies = await Repository.create()
  await team.commit({ 'pdf/SKILL.md': BAD, 'good/SKILL.md': skill('good', 'text') })
  await copies.commit({ 'copy/pdf/SKILL.md': BAD, 'other/SKILL.md': skill('other', 'text') })
  await using hub = await Machine.start('hub.example/channel', { team: [`url: ${git.serve('team', team)}`] })
  await hub.told('sync')
  const own = { own: [`url: ${git.serve('copies', copies)}`] }
  await using site = await Machine.start('site.example/channel', { hub: hub.followed, ...own })
  await site.told('sync')
  await using desk = await Machine.start('desk.example/channel', { site: site.followed, ...own })
  await desk.told('sync')
  expect(await desk.skills()).toHaveLength(6)

  const told = await hub.told('disable', 'team/pdf', '--followers', '--reason', 'sends files to a stranger')
  const [id = ''] = told.split(':')

  expect(await hub.skills()).toEqual(['skill://team/good/SKILL.md'])
  await expect.poll(() => site.skills()).toEqual(['skill://hub/team/good/SKILL.md', 'skill://own/other/SKILL.md'])
  await expect
    .poll(() => desk.skills())
    .toEqual(['skill://own/other/SKILL.md', 'skill://site/hub/team/good/SKILL.md', 'skill://site/own/other/SKILL.md'])
  const why = `sends files to a stranger (${id.slice(0, 12)}, `
  for (const machine of [site, desk]) {
    expect(await machine.told('why', 'own/copy/pdf')).toContain(why)
    expect(await machine.told('why', 'own/copy/pdf')).toContain('by hub.example/channel)')
    expect(await machine.told('list')).toMatch(/copy\/pdf +disabled/)
    expect(await machine.told('status')).toContain(why)
    expect(await machine.command('enable', 'own/copy/pdf')).toMatchObject({ stdout: expect.stringContaining(why) })
    expect(await machine.command('enable', id)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('end it there'),
    })
  }

  await expect
    .poll(async () => JSON.parse((await hub.command('disable', '--report', id, '--json')).stdout).total, {
      timeout: 15_000,
    })
    .toEqual({ obeyed: 2, behind: 0, unreachable: 0 })
  expect(await hub.command('disable', '--report', id)).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(
      /1 obeyed, 0 not seen since, 0 cannot be reached\n  with all tiers below: 2 obeyed.*\n  obeyed  [\da-f]{12}, seen .*; below it 1 obeyed/,
    ),
  })
  const csv = (await hub.command('disable', '--report', id, '--csv')).stdout
  expect(csv).toMatch(/^state,kind,name,follower,entries,seen,below_obeyed,[^\n]*\r\nobeyed,follower,[^\n]*,1,0,0\r\n$/)

  expect(await hub.told('enable', id)).toContain(`${id}: ended`)

  expect(await hub.skills()).toHaveLength(2)
  await expect.poll(async () => (await desk.skills()).length).toBe(6)
  expect(await desk.told('disable', '--followers')).toContain(`${id}: ended`)
  expect(await hub.command('disable', '--report', id, '--followers')).toMatchObject({ status: 2 })
})

test('enable at the hub that took a skill out of service at all followers serves it again at all, by its name and with what was disabled here', async () => {
  await using git = await GitServer.start()
  await using team = await Repository.create()
  await team.commit({ 'pdf/SKILL.md': BAD, 'good/SKILL.md': skill('good', 'text') })
  await using hub = await Machine.start('hub.example/channel', { team: [`url: ${git.serve('team', team)}`] })
  await hub.told('sync')
  await using site = await Machine.start('site.example/channel', { hub: hub.followed })
  await site.told('sync')
  const good = ['skill://hub/team/good/SKILL.md']
  for (const reason of ['it is bad', 'it is worse']) {
    await hub.told('disable', 'team/pdf', '--followers', '--reason', reason)
    await team.commit({ 'pdf/SKILL.md': skill('pdf', reason) })
    await hub.told('sync')
  }
  await hub.told('disable', 'team/pdf', '--reason', 'here too')
  await expect.poll(() => site.skills()).toEqual(good)

  await site.command('enable', 'hub/team/pdf')
  const still = await site.skills()
  const enabled = await hub.told('enable', 'team/pdf')

  expect(still).toEqual(good)
  expect(enabled).toBe('team/pdf: enabled, also at all followers\n')
  expect(await hub.skills()).toHaveLength(2)
  await expect.poll(async () => (await site.skills()).length).toBe(2)
  expect(await hub.told('disable', '--followers')).toMatch(/^[\da-f]{64}: ended [^]*^[\da-f]{64}: ended /m)
})

test('enable of a copy, or of a skill that holds files of it, does not end what counts at all followers, and names what does', async () => {
  await using git = await GitServer.start()
  await using team = await Repository.create()
  await using copies = await Repository.create()
  await team.commit({ 'outer/SKILL.md': skill('outer', 'text'), 'outer/pdf/SKILL.md': BAD })
  await copies.commit({ 'copy/pdf/SKILL.md': BAD })
  await using hub = await Machine.start('hub.example/channel', {
    team: [`url: ${git.serve('team', team)}`],
    own: [`url: ${git.serve('copies', copies)}`],
  })
  await hub.told('sync')
  const [id = ''] = (await hub.told('disable', 'team/outer/pdf', '--followers', '--reason', 'it is bad')).split(':')

  const ends = [await hub.command('enable', 'own/copy/pdf'), await hub.command('enable', 'team/outer')]
  const listed = await hub.told('disable', '--followers')
  const skills = await hub.skills()

  for (const { stdout } of ends) expect(stdout).toContain(`; skillsyncd enable ${id} ends it at all followers\n`)
  expect(listed).toContain(id)
  expect(listed).not.toContain('ended')
  expect(skills).toEqual([])
})

test('a lock that names a recalled skill is refused with the reason, and the rest of its source is served on', async () => {
  await using git = await GitServer.start()
  await using team = await Repository.create()
  await team.commit({ 'pdf/SKILL.md': BAD, 'good/SKILL.md': skill('good', 'text') })
  const sources = { team: [`url: ${git.serve('team', team)}`, 'every: 1h'] }
  await using hub = await Machine.start('hub.example/channel', sources)
  await hub.told('sync')
  await hub.told('lock')
  await hub.restart('--locked')

  const [id = ''] = (await hub.told('disable', 'team/pdf', '--followers', '--reason', 'it is bad')).split(':')
  expect(await hub.skills()).toEqual(['skill://team/good/SKILL.md'])

  const refusals = [await hub.command('sync', '--locked'), await hub.command('update', '--locked')]
  await hub.restart()
  await hub.told('sync', '--quiet').catch(() => {})
  refusals.push(await hub.command('sync'), await hub.command('update'))
  for (const { status, stdout, stderr } of [refusals[0], ...refusals.slice(2)].flatMap((one) => one ?? [])) {
    expect(status).toBe(1)
    expect(`${stdout}${stderr}`).toContain(`"pdf" is recalled: it is bad (${id.slice(0, 12)}, `)
  }
  expect(await hub.skills()).toEqual(['skill://team/good/SKILL.md'])
  expect(await hub.told('status')).toContain('skill-recalled: Cannot lock "team"')

  await team.commit({ 'pdf/SKILL.md': null, 'good/SKILL.md': skill('good', 'text') })
  expect(await hub.command('update')).toMatchObject({ status: 0 })
  expect(await hub.command('sync')).toMatchObject({ status: 0 })
})

test('no change of its author, no restart and no lost file brings a recalled skill back', async () => {
  await using git = await GitServer.start()
  await using team = await Repository.create()
  await team.commit({ 'pdf/SKILL.md': BAD, 'good/SKILL.md': skill('good', 'text') })
  const sources = { team: [`url: ${git.serve('team', team)}`, 'every: 1h'] }
  await using hub = await Machine.start('hub.example/channel', sources)
  await hub.told('sync')
  await hub.told('disable', 'team/pdf', '--followers', '--reason', 'it is bad')
  const good = 'skill://team/good/SKILL.md'

  const moves: readonly Readonly<Record<string, string | null>>[] = [
    { 'pdf/SKILL.md': null, 'moved/pdf/SKILL.md': BAD },
    { 'moved/pdf/SKILL.md': skill('pdf', 'edited') },
    { 'moved/pdf/SKILL.md': null, 'renamed/SKILL.md': skill('pdf', 'edited') },
    { 'renamed/SKILL.md': null, 'good/inner/pdf/SKILL.md': BAD },
    { 'good/inner/pdf/SKILL.md': null, 'pdf/SKILL.md': skill('pdf', 'all new') },
  ]
  for (const [index, files] of moves.entries()) {
    await team.commit(files)
    await hub.command('sync')
    const held = (await hub.skills()).filter((uri) => uri !== good)
    expect([index, held]).toEqual([index, []])
  }
  await rm(join(hub.home.state, 'decisions.json'))
  await rm(join(hub.home.state, 'decisions-copy.json'))
  await hub.restart()
  expect(await hub.skills()).not.toContain('skill://team/pdf/SKILL.md')
  expect(await hub.told('disable', '--followers')).toContain('it is bad')
})

const STILL: readonly (readonly [string, string, readonly string[]])[] = [
  ['held', 'hold', []],
  ['locked', 'lock', ['--locked']],
]

test.each(STILL)(
  'a follower that is %s obeys at its first contact after it was offline, and for good',
  async (_, verb, flags) => {
    await using git = await GitServer.start()
    await using team = await Repository.create()
    await team.commit({ 'pdf/SKILL.md': skill('pdf', 'older'), 'good/SKILL.md': skill('good', 'text') })
    await using hub = await Machine.start('hub.example/channel', { team: [`url: ${git.serve('team', team)}`] })
    await hub.told('sync')
    await using site = await Machine.start('site.example/channel', { hub: hub.followed })
    await site.told('sync')
    await site.told(verb, 'hub')
    const both = ['skill://hub/team/good/SKILL.md', 'skill://hub/team/pdf/SKILL.md']
    expect(await site.skills()).toEqual(both)
    await team.commit({ 'pdf/SKILL.md': BAD })
    await hub.told('sync')
    await site.restart('--offline', ...flags)

    await hub.told('disable', 'team/pdf', '--followers', '--reason', 'it is bad')

    expect(await site.skills()).toEqual(both)
    await site.restart(...flags)
    await expect.poll(() => site.skills()).toEqual(['skill://hub/team/good/SKILL.md'])
    expect(await site.told('status')).toMatch(/disabled skill-recalled \S+: it is bad \(/)
    // It never had the recalled content, and the place of the skill is enough in the source of that hub.
    await hub.stop()
    await site.restart('--offline', ...flags)
    expect(await site.skills()).toEqual(['skill://hub/team/good/SKILL.md'])
  },
)
