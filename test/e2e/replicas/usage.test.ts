import { describe, expect, test } from 'vitest'
import { legacyHttp, modernHttp } from '../../support/clients/peer.ts'
import { Hub, programs } from './replicas.ts'

const ALPHA = 'skill://team/alpha/SKILL.md'

describe.skipIf(programs === undefined)('the counts of use of a hub of several processes', () => {
  test('are one sum at each process, and those of one process if the database is away', async () => {
    await using hub = await Hub.create()
    const [one, other] = [await hub.start(), await hub.start()]
    for (const member of [one, other]) {
      await member.lists('alpha')
      await using modern = await modernHttp(member.url)
      await using legacy = await legacyHttp(member.url)
      for (const peer of [modern, legacy]) await peer.call('resources/read', { uri: ALPHA })
    }
    for (const member of [one, other]) await member.program.stop()

    const used = async (member: typeof one): Promise<any> =>
      JSON.parse((await member.command('list', '--usage', '--json')).stdout)
    const sums = [await used(one), await used(other)]
    await hub.postgres.stop()
    const alone = await used(other)

    for (const { rows, ofOneProcess } of sums) {
      expect(rows).toContainEqual({ skill: 'team/alpha', lists: 0, loads: 4, reads: 0, failures: 0 })
      expect(ofOneProcess).toBe(false)
    }
    expect(alone).toMatchObject({ ofOneProcess: true })
    expect(alone.rows).toContainEqual({ skill: 'team/alpha', lists: 0, loads: 2, reads: 0, failures: 0 })
    expect((await other.command('list', '--usage')).stderr).toContain('these are the counts of one process of the hub')
  }, 120_000)
})
