import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SigningWorld } from '../../support/git/signing.ts'
import { skill } from '../world.ts'
import { lockOf, LockSite, logged, reportPush } from './lock-site.ts'

async function metricsAt(address: string): Promise<string> {
  return (await fetch(new URL('/metrics', address))).text()
}

test('a merge of the lock is what moves the sources, and a poisoned skill stops at the review', async () => {
  await using site = await LockSite.create()
  const { world, home } = site
  const merged = await site.merge((await site.propose()).lock)
  const hub = home.start('start', '--port', '0')
  const address = await hub.line()
  await logged(hub, 'lock-moved', merged)
  await hub.said((line) => line.includes('source-updated') && line.includes('team'))

  // Upstream moves, and nothing is served of that until a person has merged it.
  await world.repository.commit({
    'alpha/SKILL.md': skill('alpha', 'Reads \u202Eecalp siht'),
    'beta/SKILL.md': skill('beta', 'new'),
  })
  const poisoned = await site.propose()
  await home.command('sync')
  const before = await home.command('list')

  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
  const mended = await site.propose()
  const since = hub.stderr.length
  const commit = await site.merge(mended.lock)
  await reportPush(address)
  await logged(hub, 'lock-moved', commit, since)
  await hub.said((line) => line.includes('source-updated'), since)

  expect(poisoned.text).toContain('`team/alpha`: withheld')
  expect(before.stdout).not.toContain('beta')
  expect((await home.command('preview', 'team/alpha')).stdout).toContain('second')
  expect((await home.command('list')).stdout).toContain('beta')
  expect(await lockOf(home)).toMatchObject({ followed: 1, from: { commit } })
  expect((await home.command('status')).stdout).toContain(`lock skills.lock of ${site.url}, at ${commit}`)
  expect((await home.command('why', 'team/alpha')).stdout).toContain(commit)
  expect((await home.command('doctor')).stdout).toContain('"skills-lock"')
  expect(await metricsAt(address)).toContain('skillsyncd_lock_current 1\n')
}, 120_000)

test('a lock that cannot be read, one that is gone, and an older one leave the lock in force', async () => {
  await using site = await LockSite.create()
  const { home } = site
  const { lock } = await site.propose()
  const base = await site.merge(lock)
  const first = await site.merge(`${lock}\n`)
  await home.command('sync')

  const ends: unknown[] = []
  for (const change of [{ 'skills.lock': '{' }, { 'skills.lock': null }]) {
    await site.config.commit(change)
    await home.command('sync')
    ends.push([await lockOf(home), (await home.command('list')).stdout.includes('alpha')])
  }
  await site.config.setRef('refs/heads/main', base)
  await home.command('sync')
  const rewritten = await lockOf(home)
  const checked = await home.command('status', '--check')
  await site.follow([`accept: ${base}`])
  await home.command('sync')

  const kept = { followed: 1, from: { commit: first, problem: { code: 'lock-mismatch' } } }
  expect(ends).toMatchObject([
    [kept, true],
    [kept, true],
  ])
  expect(rewritten).toMatchObject({ followed: 1, from: { commit: first, problem: { code: 'history-rewritten' } } })
  expect(rewritten.from.problem?.fix).toContain('accept')
  expect(checked.status).toBe(3)
  const accepted = await lockOf(home)
  expect(accepted).toMatchObject({ followed: 1, from: { commit: base } })
  expect(accepted.from).not.toHaveProperty('problem')
}, 120_000)

test('before the first lock nothing is served, and afterwards a start without the host serves what was locked', async () => {
  await using site = await LockSite.create()
  const { home, world } = site
  await home.command('sync')
  const before = [await home.command('list'), await home.command('status')] as const
  await site.merge((await site.propose()).lock)
  await home.command('sync')
  await world.git[Symbol.asyncDispose]()

  const hub = home.start('start', '--port', '0')
  const address = await hub.line()
  await logged(hub, 'lock-not-taken', 'source-unreachable')

  expect(before[0].stdout).not.toContain('alpha')
  expect(before[1].stdout).toContain('no commit was taken yet')
  expect((await home.command('list')).stdout).toContain('alpha')
  expect(await lockOf(home)).toMatchObject({ followed: 1, from: { problem: { code: 'source-unreachable' } } })
  expect(await metricsAt(address)).toContain('skillsyncd_lock_current 0\n')
  expect(await (await fetch(new URL('/problems', address))).text()).toContain(
    'source-unreachable <span class="tag warn">lock</span>',
  )
}, 120_000)

test('commands that change a lock say where this one is changed, and change a file of a clone', async () => {
  await using site = await LockSite.create()
  const { home } = site
  const file = join(home.path, 'clone.lock')
  await writeFile(file, (await site.propose()).lock)

  const refused = [await home.command('lock'), await home.command('update', 'team')]
  const changed = await home.command('update', '--lock', file)

  for (const { status, stderr } of refused) {
    expect(status).toBe(2)
    expect(stderr).toContain(site.url)
    expect(stderr).toContain('skillsyncd update --lock skills.lock')
  }
  expect(changed).toMatchObject({ status: 0, stdout: expect.stringContaining(file) })
}, 120_000)

test('a merge that none of the signers signed is not followed, and the signed one after it is', async () => {
  await using keys = await SigningWorld.create()
  const key = await keys.sshKey('maintainer')
  const signers = join(keys.folder, 'signers')
  await writeFile(signers, `maintainer@example.com ${key.line}\n`)
  await using site = await LockSite.create([`signed: { require: commit, allowed_signers: ${signers} }`])
  const { home } = site
  const unsigned = await site.merge((await site.propose()).lock)
  await home.command('sync')
  const before = [await lockOf(home), (await home.command('list')).stdout] as const

  const tree = (await site.config.git('rev-parse', `${unsigned}^{tree}`)).trim()
  const signed = await site.config.git(...key.options, 'commit-tree', '-S', '-m', 'merge', '-p', unsigned, tree)
  await site.config.setRef('refs/heads/main', signed.trim())
  await home.command('sync')

  expect(before[0]).toMatchObject({ from: { problem: { code: 'revision-unverified' } } })
  expect(before[1]).not.toContain('alpha')
  expect(await lockOf(home)).toMatchObject({ followed: 1, from: { commit: signed.trim() } })
  expect((await home.command('list')).stdout).toContain('alpha')
}, 120_000)
