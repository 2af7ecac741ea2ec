import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { GitServer } from '../support/git/git-server.ts'
import { Repository } from '../support/git/repository.ts'
import { pullNow } from '../support/pull-now.ts'
import { Desk, named, skills } from './desk.ts'
import { Hub, idOf } from './hub.ts'

/** Each skill of `skills` takes about thirty characters of the listing. */
const LIMITED = ['packs:', '  - id: core', '    include: [{ source: team }]', '    budget: 150']

test('a commit that takes a pack over its limit waits with the figures, and is taken when it is approved', async () => {
  await using desk = await Desk.open([], ...LIMITED)
  const first = await desk.repository.commit(skills(...named(2)))
  await desk.start()
  await desk.sync()
  const second = await desk.repository.commit(skills(...named(20)))

  const held = await desk.sync()
  const again = await desk.sync()
  const during = [desk.served(), desk.names().length]
  await desk.decide('approve', second)
  const approved = await desk.sync()

  expect(held).toMatchObject({ kind: 'waiting', revision: { commit: second }, reason: { code: 'budget-exceeded' } })
  expect(held.kind === 'waiting' && held.reason.message).toMatch(
    /takes the listing of the pack "core" to \d+ of 150 characters in claude-code, from \d+$/,
  )
  expect(again).toEqual(held)
  expect(during).toEqual([first, 2])
  expect(approved).toMatchObject({ kind: 'updated', revision: { commit: second } })
})

test('a pack over its limit takes a commit that makes it no larger, and a raised limit takes the one that waits', async () => {
  await using desk = await Desk.open([], ...LIMITED)
  await desk.repository.commit(skills(...named(2)))
  await desk.start()
  await desk.sync()
  const large = await desk.repository.commit(skills(...named(20)))
  await desk.sync()

  desk.rest = LIMITED.map((line) => line.replace('150', '20000'))
  await desk.start()
  const raised = await desk.sync()
  desk.rest = LIMITED
  await desk.start()
  const other = await desk.repository.commit({ 'notes.txt': 'of no skill' })
  const same = await desk.sync()

  expect(raised).toMatchObject({ kind: 'updated', revision: { commit: large } })
  expect(same).toMatchObject({ revision: { commit: other } })
  expect(['updated', 'unchanged']).toContain(same.kind)
})

test('a source that no limited pack holds is not held', async () => {
  await using desk = await Desk.open([], ...LIMITED.map((line) => line.replace('team', 'other')))
  const first = await desk.repository.commit(skills(...named(20)))
  await desk.start()

  expect(await desk.sync()).toMatchObject({ kind: 'updated', revision: { commit: first } })
})

test('of two sources that are pulled at once and have no room together, the later one waits', async () => {
  await using git = await GitServer.start()
  await using team = await Repository.create()
  await using other = await Repository.create()
  await using gate = await MeetingGate.start(2)
  const sources = { team: [`url: ${git.serve('team', team)}`], other: [`url: ${git.serve('other', other)}`] }
  const pack = ['packs:', '  - id: core', '    include: [{ source: team }, { source: other }]', '    budget: 100']
  await using hub = await Hub.start(sources, undefined, [...pack, `gate: { url: ${gate.url} }`])
  await team.commit(skills('alpha', 'beta', 'gamma'))
  await other.commit(skills('delta', 'epsilon', 'zeta'))

  const first = await pullNow(hub.daemon)
  const again = await pullNow(hub.daemon)
  const waits = [...first].find(([, { kind }]) => kind === 'waiting')?.[0] ?? idOf('none')
  const held = first.get(waits)
  const during = [hub.source(waits).problem?.code, hub.daemon.registry.catalog.listed.length]
  await hub.daemon.parts.decisions.decide(
    waits,
    'approve',
    hub.daemon.parts.decisions.waiting(waits, 'approve').revision,
  )
  const approved = (await pullNow(hub.daemon)).get(waits)

  expect([...first.values()].map(({ kind }) => kind).toSorted()).toEqual(['updated', 'waiting'])
  expect(held).toMatchObject({ reason: { code: 'budget-exceeded' } })
  expect(held?.kind === 'waiting' && held.reason.message).toMatch(
    /takes the listing of the pack "core" to \d+ of 100 characters in claude-code, from \d+$/,
  )
  expect(again.get(waits)).toEqual(held)
  expect(during).toEqual(['budget-exceeded', 3])
  expect(approved?.kind).toBe('updated')
  expect(hub.daemon.registry.catalog.listed).toHaveLength(6)
})

/** A gate that has every candidate published, the first ones only once they are all there. */
class MeetingGate implements AsyncDisposable {
  readonly url: string
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  }

  static async start(count: number): Promise<MeetingGate> {
    const waiting: ServerResponse[] = []
    const server = createServer((request, response) => {
      request.resume()
      waiting.push(response)
      if (waiting.length >= count) for (const one of waiting) if (!one.writableEnded) one.end('{"verdict":"publish"}')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return new MeetingGate(server)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await once(this.#server.close(), 'close')
  }
}
