import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ChannelUpstream } from '../../src/features/channel/follow/channel-upstream.ts'
import { disabledIn } from '../../src/sync/model/decisions/disabled-matches.ts'
import type { Snapshot } from '../../src/sync/model/snapshot.ts'
import { SyncError } from '../../src/sync/model/sync-error.ts'
import { DecisionStore } from '../../src/sync/store/decision-store.ts'
import { openState } from '../../src/sync/store/files/state-folder.ts'
import { FollowedLogs } from '../../src/sync/store/followed-logs.ts'
import { Store } from '../../src/sync/store/store.ts'
import { PLAIN_WAY } from '../../src/sync/upstream/http/host-access.ts'
import { FETCH_LIMITS } from '../../src/sync/upstream/upstream.ts'
import { Machine } from '../e2e/fleet.ts'
import { skill } from '../e2e/world.ts'
import { followedChannel } from '../features/channel/follow/follower.ts'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { never, sample, snapshotOf, sourceId } from '../sync/store/samples.ts'

const BAD = skill('pdf', 'sends files away')

/** The followers of this process: 1,000 on three tiers together with the real ones. */
const FOLLOWERS = 995

/** Real ones: two that follow along, two that are locked, of which one sleeps, and one that is held. */
const MACHINES = 5

/** Of a hundred: killed before they wrote what they read, and offline until the end. */
const [KILLED, OFFLINE] = [10, 5]

test('a recall over three tiers reaches a fleet, and the report of its reach is right at each moment', async () => {
  await using git = await GitServer.start()
  await using team = await Repository.create()
  await team.commit({ 'pdf/SKILL.md': BAD, 'good/SKILL.md': skill('good', 'text') })
  await using hub = await Machine.start('hub.example/channel', { team: [`url: ${git.serve('team', team)}`] })
  await hub.told('sync')
  await using site = await Machine.start('site.example/channel', { hub: hub.followed })
  await site.told('sync')
  await using desk = await Machine.start('desk.example/channel', { site: site.followed })
  await desk.told('sync')
  await using locked = await Machine.start('locked.example/channel', { hub: hub.followed })
  await using asleep = await Machine.start('asleep.example/channel', { hub: hub.followed })
  await using held = await Machine.start('held.example/channel', { site: site.followed })
  const still = { locked, asleep, held }
  for (const machine of Object.values(still)) for (let round = 0; round < 2; round += 1) await machine.told('sync')
  for (const machine of [locked, asleep]) await machine.told('lock', 'hub')
  await held.told('hold', 'site')
  await locked.restart('--locked')
  await asleep.stop()
  const before = await servedBy({ locked, held })
  // What they keep is older than what the hub serves.
  await team.commit({ 'good/SKILL.md': skill('good', 'newer text') })
  await hub.told('sync')
  await using folder = await temporaryFolder()
  using shared = await Store.open(join(folder.path, 'objects'))
  const fleet: Simulated[] = []
  for (let index = 0; index < FOLLOWERS; index += 1)
    // Every second one is on the third tier.
    fleet.push(await Simulated.open(join(folder.path, `${index}`), index % 2 === 0 ? hub : site, shared))
  // A hub knows a follower from its second request on.
  for (let round = 0; round < 2; round += 1) await inGroups(fleet, async (one) => one.poll())
  expect(fleet.every((one) => !one.isGone)).toBe(true)

  const [id = ''] = (await hub.told('disable', 'team/pdf', '--followers', '--reason', 'it is bad')).split(':')
  await expect.poll(() => site.skills()).toEqual(['skill://hub/team/good/SKILL.md'])
  const reached = fleet.filter((_, index) => index % 100 >= OFFLINE)
  await inGroups(reached, async (one, index) => {
    if (index % 100 < KILLED) await one.killedPoll()
    else await one.poll()
  })

  const killed = reached.filter((one) => !one.isGone)
  expect(killed.length).toBeGreaterThan(FOLLOWERS / 20)
  const offline = fleet.length - reached.length
  await expect
    .poll(async () => (await reportOf(hub, id)).total, { timeout: 120_000 })
    .toEqual({
      obeyed: FOLLOWERS + MACHINES - 1 - killed.length - offline,
      behind: killed.length + offline + 1,
      unreachable: 0,
    })
  expect(await locked.skills()).toEqual(['skill://hub/team/good/SKILL.md'])
  expect(await held.skills()).toEqual(['skill://site/hub/team/good/SKILL.md'])
  expect(await servedBy({ locked, held })).toEqual(before)

  await inGroups(fleet, async (one) => one.poll())
  expect(fleet.every((one) => one.isGone)).toBe(true)
  await asleep.restart('--locked')
  await expect.poll(() => asleep.skills()).toEqual(['skill://hub/team/good/SKILL.md'])
  const end = async (): Promise<unknown> => (await reportOf(hub, id)).total
  await expect.poll(end, { timeout: 120_000 }).toEqual({ obeyed: FOLLOWERS + MACHINES, behind: 0, unreachable: 0 })
  expect(await desk.skills()).toEqual(['skill://site/hub/team/good/SKILL.md'])
}, 300_000)

/** The commits that machines serve. */
async function servedBy(machines: Readonly<Record<string, Machine>>): Promise<unknown> {
  const served = Object.entries(machines).map(async ([name, machine]) => {
    const { sources } = JSON.parse(await machine.told('status', '--json'))
    return [name, sources.map((source: { readonly served?: { readonly commit: string } }) => source.served?.commit)]
  })
  return Object.fromEntries(await Promise.all(served))
}

async function reportOf(hub: Machine, id: string): Promise<{ readonly total: unknown }> {
  return JSON.parse((await hub.command('disable', '--report', id, '--json')).stdout)
}

async function inGroups<Item>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < items.length; at += AT_ONCE)
    await Promise.all(items.slice(at, at + AT_ONCE).map(async (item, index) => work(item, at + index)))
}

const AT_ONCE = 25

/** A follower with decisions and logs of its own, and a git source with the bad content; only the objects are shared. */
class Simulated {
  readonly #upstream: () => ChannelUpstream
  readonly #decisions: DecisionStore
  readonly #own: Snapshot
  readonly #life: { isOver: boolean }

  private constructor(upstream: () => ChannelUpstream, decisions: DecisionStore, life: { isOver: boolean }) {
    this.#life = life
    this.#upstream = upstream
    this.#decisions = decisions
    this.#own = { ...snapshotOf(sample('pdf', { 'SKILL.md': BAD })), source: sourceId('own') }
  }

  static async open(path: string, machine: Machine, { objects }: Store): Promise<Simulated> {
    const state = await openState(path)
    const [logs, decisions] = [new FollowedLogs(state), new DecisionStore(state)]
    await decisions.read()
    const source = followedChannel({ place: machine.address, keys: [machine.key] })
    const life = { isOver: false }
    const mortal: Pick<DecisionStore, 'obeyed' | 'obey'> = {
      obeyed: (...asked) => decisions.obeyed(...asked),
      obey: async (...asked) => {
        if (life.isOver) throw new Error('killed')
        return decisions.obey(...asked)
      },
    }
    const upstream = (): ChannelUpstream =>
      new ChannelUpstream(source, {
        limits: FETCH_LIMITS,
        way: async () => PLAIN_WAY,
        followed: { objects, logs, decisions: mortal, now: () => new Date() },
      })
    return new Simulated(upstream, decisions, life)
  }

  /** True once its own copy of the content is out of service. */
  get isGone(): boolean {
    return disabledIn(this.#own, this.#decisions.outOfService).size > 0
  }

  /** Polls until it has followed the log: a hub that moves on serves the objects of the entry before no more. */
  async poll(): Promise<void> {
    for (let isFollowed = false; !isFollowed;) isFollowed = await this.#isFollowed()
  }

  async #isFollowed(): Promise<boolean> {
    try {
      await this.#upstream().resolve(never())
      return true
    } catch (error) {
      if (error instanceof SyncError && error.code === 'source-unreachable') return false
      throw error
    }
  }

  /** Polls, and ends before anything of the recall is written. */
  async killedPoll(): Promise<void> {
    this.#life.isOver = true
    // The second tier may not have published it yet: then there is nothing to be killed at.
    await this.poll().catch((error: unknown) => {
      if (!(error instanceof Error) || error.message !== 'killed') throw error
    })
    this.#life.isOver = false
  }
}
