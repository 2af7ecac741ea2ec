import { describe, expect, test } from 'vitest'
import { skill } from '../world.ts'
import { Hub, programs } from './replicas.ts'

describe.skipIf(programs === undefined)('a hub of several processes', () => {
  test('one leads, all serve, and another leads once it is killed', async () => {
    await using hub = await Hub.create()
    const one = await hub.start()
    await one.lists('alpha')
    const other = await hub.start()
    await other.lists('alpha')

    expect([await one.leads(), await other.leads()]).toEqual([true, false])
    await hub.repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })
    await other.lists('beta')

    await one.program.kill()
    await expect.poll(async () => other.leads(), { timeout: 20_000, interval: 200 }).toBe(true)
    await hub.repository.commit({ 'gamma/SKILL.md': skill('gamma', 'third') })
    await other.lists('gamma')
  })

  test('commands work at each process, and all obey', async () => {
    await using hub = await Hub.create()
    const one = await hub.start(['every: 1h'])
    await one.lists('alpha')
    const other = await hub.start(['every: 1h'])
    await other.lists('alpha')
    expect(await other.leads()).toBe(false)

    await hub.repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })
    const first = await hub.repository.git('rev-parse', 'main~1')
    const synced = await other.command('sync')
    expect(synced).toMatchObject({ status: 0, stdout: expect.stringContaining('team') })
    await other.lists('beta')
    await one.lists('beta')

    expect(await other.command('hold', 'team', first)).toMatchObject({ status: 0 })
    await expect.poll(async () => (await one.command('list')).stdout).not.toContain('beta')
    expect((await other.command('list')).stdout).not.toContain('beta')
    expect(await other.command('release', 'team')).toMatchObject({ status: 0 })
    await one.lists('beta')
    await other.lists('beta')

    expect(await other.command('disable', 'team/alpha')).toMatchObject({ status: 0 })
    await expect.poll(async () => (await one.command('list')).stdout).toMatch(/alpha +disabled/)
    expect(await one.command('enable', 'team/alpha')).toMatchObject({ status: 0 })
    await expect.poll(async () => (await other.command('list')).stdout).toMatch(/alpha +served/)
  })

  test('a process that is stopped hands the lead over at once', async () => {
    await using hub = await Hub.create()
    const one = await hub.start()
    await one.lists('alpha')
    const other = await hub.start()
    await other.lists('alpha')
    const changed = other.program.said((line) => line.includes('"hub-role"') && line.includes('"leads":true'))

    const ended = await one.program.stop()

    expect(ended.status).toBe(0)
    await changed
    await hub.repository.commit({ 'beta/SKILL.md': skill('beta', 'second') })
    await other.lists('beta')
    await one.start()
    await one.lists('beta')
    expect(await one.leads()).toBe(false)
  })
})
