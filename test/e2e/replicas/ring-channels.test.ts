import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { signerText } from '../../../src/sync/transparency-log/signed-note.ts'
import { ORIGIN, SIGNER } from '../../features/channel/follow/site.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { skill } from '../world.ts'
import { Hub, programs } from './replicas.ts'
import type { Member } from './replicas.ts'

describe.skipIf(programs === undefined)('the channel of a ring in a hub of several processes', () => {
  test('is one log at all of them, goes on under the next leader, and moves apart from that of the last ring', async () => {
    await using hub = await Hub.create()
    await hub.repository.commit({ 'pdf/SKILL.md': skill('pdf', 'first') })
    await using folder = await temporaryFolder()
    const key = join(folder.path, 'channel.key')
    await writeFile(key, signerText(SIGNER, Buffer.alloc(32, 1)), { mode: 0o600 })
    const config = [
      'channel:',
      `  name: ${ORIGIN}`,
      `  key: { file: ${key} }`,
      'rings: [{ id: canary, anonymous: true }, { id: stable, min_age: 3d }]',
    ]
    const one = await hub.start(['every: 1h'], config)
    await one.lists('pdf')
    const other = await hub.start(['every: 1h'], config)
    await other.lists('pdf')
    const first = await checkpointOf(one, CANARY)
    const last = await checkpointOf(one, LAST)

    await hub.repository.commit({ 'pdf/SKILL.md': skill('pdf', 'second') })
    expect(await other.command('sync')).toMatchObject({ status: 0 })
    await expect.poll(async () => sizeOf(await checkpointOf(one, CANARY)), PATIENT).toBeGreaterThan(sizeOf(first))
    const second = await checkpointOf(one, CANARY)
    await expect.poll(async () => checkpointOf(other, CANARY), PATIENT).toBe(second)
    expect(await checkpointOf(other, LAST)).toBe(last)
    expect(second).toMatch(`${ORIGIN}/ring.canary\n`)

    await one.program.stop()
    await hub.repository.commit({ 'pdf/SKILL.md': skill('pdf', 'third') })
    await expect.poll(async () => other.leads(), PATIENT).toBe(true)
    expect(await other.command('sync')).toMatchObject({ status: 0 })

    await expect.poll(async () => sizeOf(await checkpointOf(other, CANARY)), PATIENT).toBeGreaterThan(sizeOf(second))
    expect(await checkpointOf(other, LAST)).toBe(last)
    const { logs, checks } = JSON.parse((await other.command('verify', '--log', '--json')).stdout)
    expect(checks).toEqual([])
    expect(logs.map(({ ring }: { readonly ring?: string }) => ring)).toEqual([undefined, 'canary'])
  }, 180_000)
})

const CANARY = '/channels/ring.canary/checkpoint'
const LAST = '/channel/checkpoint'

async function checkpointOf({ url }: Member, path: string): Promise<string> {
  return (await fetch(new URL(path, url))).text()
}

/** The number of entries of the log: the second line of a checkpoint (c2sp.org/tlog-checkpoint). */
function sizeOf(checkpoint: string): number {
  return Number(checkpoint.split('\n')[1])
}

/** It ends what hangs, and judges nothing. */
const PATIENT = { timeout: 60_000, interval: 100 }
