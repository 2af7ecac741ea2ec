import { describe, expect, test } from 'vitest'
import { legacyHttp, modernHttp } from '../../support/clients/peer.ts'
import type { Heard, Peer } from '../../support/clients/peer.ts'
import { skill } from '../world.ts'
import { Hub, programs } from './replicas.ts'
import type { Member } from './replicas.ts'

const ALPHA = 'skill://team/alpha/SKILL.md'
const SOURCE = ['every: 1h']
const RINGS = ['rings: [{ id: canary, principals: [ada] }, { id: stable, min_age: 3d }]']

describe.skipIf(programs === undefined)('the rings of a hub of several processes', () => {
  test('are the same at each process, obey commands at each, and go on under another leader', async () => {
    await using hub = await Hub.create()
    const one = await hub.start(SOURCE, RINGS)
    await one.lists('alpha')
    const other = await hub.start(SOURCE, RINGS)
    await other.lists('alpha')
    const tokens = { ada: await tokenOf(one, 'ada'), bob: await tokenOf(one, 'bob') }
    const bodies = async (...members: readonly Member[]): Promise<readonly string[]> =>
      Promise.all(members.flatMap((member) => [bodyOf(member, tokens.ada), bodyOf(member, tokens.bob)]))
    expect(await other.leads()).toBe(false)

    expect((await promoted(other)).map(({ ring }) => ring)).toEqual(['stable'])
    await expect.poll(async () => bodies(one, other), PATIENT).toEqual(['first', 'first', 'first', 'first'])
    await using heard = await Clients.at(other, tokens.bob)

    await hub.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second') })
    expect(await other.command('sync')).toMatchObject({ status: 0 })
    await expect.poll(async () => bodies(one, other), PATIENT).toEqual(['second', 'first', 'second', 'first'])
    expect(await ringsOf(other)).toEqual(await ringsOf(one))

    const hold = ['hold', 'team', '--ring', 'stable', '--reason', 'release week']
    expect(await other.command(...hold)).toMatchObject({ status: 0 })
    expect(await promoted(one)).toEqual([])
    expect((await ringsOf(other))[1].sources[0].problem).toMatchObject({ code: 'held', message: 'release week' })
    expect(await other.command('release', 'team', '--ring', 'stable')).toMatchObject({ status: 0 })
    expect(heard.counts).toEqual([0, 0])

    const trails = (await ringsOf(one))[1].sources
    await one.program.kill()
    await expect.poll(async () => other.leads(), PATIENT).toBe(true)
    expect((await ringsOf(other))[1].sources).toEqual(trails)
    expect(await bodies(other)).toEqual(['second', 'first'])

    await one.start()
    await one.lists('alpha')
    expect(await one.leads()).toBe(false)
    await using later = await Clients.at(one, tokens.bob)
    expect(await promoted(one)).toMatchObject([{ source: 'team', ring: 'stable' }])
    await Promise.all([heard.notified(), later.notified()])
    await expect.poll(async () => bodies(one, other), PATIENT).toEqual(['second', 'second', 'second', 'second'])
    // What comes after a change of another skill comes after a notification that was repeated.
    await hub.repository.commit({ 'beta/SKILL.md': skill('beta', 'new') })
    expect(await one.command('sync')).toMatchObject({ status: 0 })
    await promoted(one)
    await Promise.all([heard.listed(), later.listed()])
    expect([heard.counts, later.counts]).toEqual([
      [1, 1],
      [1, 1],
    ])
  }, 180_000)
})

/** A client of each era, which follows one skill and the list of all. */
class Clients implements AsyncDisposable {
  readonly #heard: readonly Heard[]
  readonly #open: AsyncDisposableStack

  private constructor(heard: readonly Heard[], open: AsyncDisposableStack) {
    this.#heard = heard
    this.#open = open
  }

  static async at(member: Member, token: string): Promise<Clients> {
    await using open = new AsyncDisposableStack()
    const headers = { authorization: `Bearer ${token}` }
    const modern = open.use(await modernHttp(member.url, headers))
    const legacy = open.use(await legacyHttp(member.url, '2025-11-25', headers))
    const heard = [open.use(await modern.subscribe([ALPHA], { list: true })), open.use(await legacy.subscribe([ALPHA]))]
    await heard[0]?.next(({ method }) => method?.endsWith('/acknowledged') === true)
    return new Clients(heard, open.move())
  }

  /** The notifications of the skill that each client got. */
  get counts(): readonly number[] {
    return this.#heard.map(({ messages }) => messages.filter(isUpdate).length)
  }

  async notified(): Promise<void> {
    await Promise.all(this.#heard.map(async (one) => one.next(isUpdate)))
  }

  async listed(): Promise<void> {
    await Promise.all(this.#heard.map(async (one) => one.next(isListChange)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.disposeAsync()
  }
}

async function tokenOf(member: Member, name: string): Promise<string> {
  const { stdout } = await member.command('hub', 'token', 'add', name, '--scope', 'skills')
  return stdout.trim()
}

async function bodyOf(member: Member, token: string): Promise<string> {
  await using peer: Peer = await modernHttp(member.url, { authorization: `Bearer ${token}` })
  const { result } = await peer.call('resources/read', { uri: ALPHA })
  return result?.contents[0].text.split('---\n').at(-1).trim() ?? ''
}

async function promoted(member: Member): Promise<readonly { readonly source: string; readonly ring: string }[]> {
  const { stdout } = await member.command('promote', '--now', '--json')
  return JSON.parse(stdout).promotions
}

async function ringsOf(member: Member): Promise<any> {
  return JSON.parse((await member.command('status', '--rings', '--json')).stdout).rings
}

function isUpdate({ method }: { readonly method?: string }): boolean {
  return method === 'notifications/resources/updated'
}

function isListChange({ method }: { readonly method?: string }): boolean {
  return method === 'notifications/resources/list_changed'
}

/** It ends what hangs, and judges nothing. */
const PATIENT = { timeout: 60_000, interval: 100 }
