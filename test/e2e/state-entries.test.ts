import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { Home } from '../support/process/program.ts'
import { skill } from './world.ts'

test('a state folder that many commands wrote to, and that lost its format, has only entries of its own', async () => {
  await using home = await Home.create()
  await using git = await GitServer.start()
  await using repository = await Repository.create()
  const first = await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'one'), 'beta/SKILL.md': skill('beta', '') })
  const key = join(home.path, 'channel.key')
  const team = [`url: ${git.serve('team', repository)}`, 'every: 1h']
  expect(await home.command('hub', 'channel', 'new-key', 'hub', '--out', key)).toMatchObject({ status: 0 })
  await home.configure({ team }, [
    `channel: { name: hub, key: { file: ${key} } }`,
    `links: [{ to: ${join(home.path, 'linked')} }]`,
    `publish: [{ to: ${join(home.path, 'published')} }]`,
    'rings: [{ id: early, share: 5% }, { id: stable }]',
  ])
  const daemon = home.start('start')
  await daemon.line()
  await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'two') })
  for (const line of [
    'sync',
    'link claude-code',
    'hub token add ci',
    'disable team/beta',
    'enable team/beta',
    'disable team/beta --followers --reason broken',
    'hold team',
    'release team',
    `rollback team ${first}`,
    'list --usage --json',
    'verify',
    `store backup ${join(home.path, 'saved')}`,
  ])
    expect(await home.command(...line.split(' ')), line).toMatchObject({ status: 0 })
  await daemon.kill()

  const names = await readdir(home.state)
  await rm(join(home.state, 'format'))
  const refused = await home.command('start')

  expect(names.length).toBeGreaterThan(15)
  expect(refused.status).toBe(1)
  expect(refused.stderr).toContain('it has no file "format" and it contains only')
})
