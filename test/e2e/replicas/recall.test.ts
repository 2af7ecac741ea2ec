import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { signerText } from '../../../src/sync/transparency-log/signed-note.ts'
import { KEY, ORIGIN, SIGNER } from '../../features/channel/follow/site.ts'
import { modernHttp } from '../../support/clients/peer.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { Machine } from '../fleet.ts'
import { skill } from '../world.ts'
import { Hub, programs } from './replicas.ts'
import type { Member } from './replicas.ts'

describe.skipIf(programs === undefined)('a recall in a hub of several processes', () => {
  test('is made and ended at any process, and obeyed at all of them and by the followers of each', async () => {
    await using folder = await temporaryFolder()
    const config = await channelIn(folder.path)
    await using hub = await Hub.create()
    const [one, other] = await twoProcesses(hub, config)
    expect(await other.leads()).toBe(false)
    await using first = await followerOf(one, 'first.example/channel')
    await using second = await followerOf(other, 'second.example/channel')
    expect([await served(other), await second.skills()]).toEqual([BOTH, inHub(BOTH)])

    const { stdout } = await other.command(
      'disable',
      'team/pdf',
      '--followers',
      '--reason',
      'sends files to a stranger',
    )

    const [id = ''] = stdout.split(':')
    expect(await served(other)).toEqual(GOOD)
    await expect.poll(async () => served(one), PATIENT).toEqual(GOOD)
    for (const machine of [first, second]) await expect.poll(() => machine.skills(), PATIENT).toEqual(inHub(GOOD))
    for (const member of [one, other])
      await expect
        .poll(async () => reachOf(member, id), PATIENT)
        .toMatchObject({
          counts: { obeyed: 2, behind: 0 },
          followers: [{ state: 'obeyed' }, { state: 'obeyed' }],
        })
    // The time of a contact without news is shared later.
    const [known, shared] = await Promise.all([one, other].map(async (member) => reachOf(member, id)))
    expect(withoutTimes(known)).toEqual(withoutTimes(shared))
    expect((await other.command('disable', '--report', id)).stdout).toMatch(/^[\da-f]+: 2 obeyed, 0 not seen since/)

    expect(await one.command('enable', id)).toMatchObject({ status: 0 })

    for (const member of [one, other]) await expect.poll(async () => served(member), PATIENT).toEqual(BOTH)
    for (const machine of [first, second]) await expect.poll(() => machine.skills(), PATIENT).toEqual(inHub(BOTH))
  }, 180_000)

  test('has a report that outlives the process that a follower asked, and says when it is not that of the hub', async () => {
    await using folder = await temporaryFolder()
    const config = await channelIn(folder.path)
    await using hub = await Hub.create()
    const [one, other] = await twoProcesses(hub, config)
    await using first = await followerOf(one, 'first.example/channel')
    await using second = await followerOf(other, 'second.example/channel')
    for (const machine of [first, second]) await machine.told('sync')
    const [id = ''] = (
      await one.command('disable', 'team/pdf', '--followers', '--reason', 'sends files to a stranger')
    ).stdout.split(':')
    await expect.poll(async () => (await reachOf(one, id)).counts.obeyed, PATIENT).toBe(2)

    // One is gone with its state folder, and a new process comes.
    await other.program.kill()
    const third = await hub.start(['every: 1h'], config)
    await expect.poll(async () => (await reachOf(third, id)).counts, PATIENT).toMatchObject({ obeyed: 2, behind: 0 })
    const known = await reachOf(third, id)

    await hub.postgres.stop()
    await expect.poll(async () => (await reachOf(third, id)).process, PATIENT).toBeDefined()
    const away = await reachOf(third, id)
    expect(away).toMatchObject({ counts: known.counts, followers: known.followers, process: {} })
    expect((await third.command('disable', '--report', id)).stdout).toContain(
      `the database cannot be read: the followers that process ${away.process.id.slice(0, 8)} knows`,
    )
    await third.program.stop()
    await third.start()
    await expect.poll(async () => (await reachOf(third, id)).counts, PATIENT).toMatchObject({ obeyed: 2, behind: 0 })

    await hub.postgres.start()
    await expect.poll(async () => (await reachOf(third, id)).process, PATIENT).toBeUndefined()
    expect(await reachOf(third, id)).toMatchObject({ counts: known.counts, followers: known.followers })
  }, 180_000)
})

/** Two processes that serve a skill; the first leads. */
async function twoProcesses(hub: Hub, config: readonly string[]): Promise<[Member, Member]> {
  await hub.repository.commit({ 'pdf/SKILL.md': skill('pdf', 'sends files away') })
  const one = await hub.start(['every: 1h'], config)
  await one.lists('pdf')
  const other = await hub.start(['every: 1h'], config)
  await other.lists('pdf')
  return [one, other]
}

/** The configuration of a channel whose key is in this folder. */
async function channelIn(folder: string): Promise<readonly string[]> {
  const key = join(folder, 'channel.key')
  await writeFile(key, signerText(SIGNER, Buffer.alloc(32, 1)), { mode: 0o600 })
  return ['channel:', `  name: ${ORIGIN}`, `  key: { file: ${key} }`]
}

const GOOD = ['skill://team/alpha/SKILL.md']
const BOTH = [...GOOD, 'skill://team/pdf/SKILL.md']

function inHub(uris: readonly string[]): readonly string[] {
  return uris.map((uri) => uri.replace('skill://', 'skill://hub/'))
}

/** A machine that follows the channel at one process of the hub. */
async function followerOf({ url }: Member, name: string): Promise<Machine> {
  const place = new URL('/channel/', url).href
  const machine = await Machine.start(name, { hub: [`follow: { url: "${place}", key: "${KEY}" }`, 'every: 1h'] })
  await machine.told('sync')
  return machine
}

async function served({ url }: Member): Promise<readonly string[]> {
  await using peer = await modernHttp(url)
  const { result } = await peer.call('skills/list')
  return result.skills.map(({ uri }: { readonly uri: string }) => uri).toSorted()
}

async function reachOf(member: Member, id: string): Promise<any> {
  return JSON.parse((await member.command('disable', '--report', id, '--json')).stdout)
}

function withoutTimes(reach: any): unknown {
  return { ...reach, followers: reach.followers.map((follower: any) => ({ ...follower, seen: undefined })) }
}

/** It ends what hangs, and judges nothing. */
const PATIENT = { timeout: 60_000, interval: 100 }
