import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { Repository } from '../../support/git/repository.ts'
import { Home } from '../../support/process/program.ts'
import { Hub, programs } from '../replicas/replicas.ts'
import { skill } from '../world.ts'
import { lockOf, reportPush, webhookLines } from './lock-site.ts'

describe.skipIf(programs === undefined)('a lock that a hub of several processes follows', () => {
  test('moves the sources of all of them, whichever gets the webhook, and outlives the leader', async () => {
    await using hub = await Hub.create()
    await using config = await Repository.create()
    const url = hub.git.serve('config', config)
    const job = await Home.create()
    await job.configure({ team: [`url: ${hub.git.serve('team', hub.repository)}`, 'update: locked'] })
    const locked = async (): Promise<string> => {
      expect(await job.command('update')).toMatchObject({ status: 0 })
      return config.commit({ 'skills.lock': await readFile(job.lockFile, 'utf8') })
    }
    await locked()
    const start = async (): ReturnType<Hub['start']> =>
      hub.start(
        ['update: locked', 'every: 1h'],
        ['lock:', '  every: 1h', '  from:', `    git: ${url}`, ...(await webhookLines(job))],
      )
    const leader = await start()
    await leader.lists('alpha')
    const other = await start()
    await other.lists('alpha')
    expect(await other.leads()).toBe(false)

    await hub.repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })
    const second = await locked()
    await reportPush(other.url)
    await other.lists('beta')
    await expect.poll(async () => (await lockOf(other.home)).from.commit, { timeout: 30_000 }).toBe(second)

    await leader.program.kill()
    await expect.poll(async () => other.leads(), { timeout: 30_000, interval: 200 }).toBe(true)
    await hub.repository.commit({ 'gamma/SKILL.md': skill('gamma', 'third') })
    const third = await locked()
    await reportPush(other.url)
    await other.lists('gamma')

    expect(await lockOf(other.home)).toMatchObject({ followed: 1, from: { commit: third } })
  }, 180_000)
})
