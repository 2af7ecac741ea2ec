import { setTimeout as pause } from 'node:timers/promises'
import { postgresPrograms } from '../test/support/postgres.ts'
import { CountedPostgres } from './database.ts'
import { figureOf, rounds, timed } from './figure.ts'
import type { Figure, Times, Unit } from './figure.ts'
import type { Ground } from './ground.ts'
import { HubGroup } from './hub-group.ts'
import { measureUse, SETTLE_MS } from './hub-use.ts'
import { Client, ERAS } from './serve-clients.ts'
import type { Era } from './serve-clients.ts'
import { askAll } from './serve.ts'
import { runAlone } from './table.ts'
import { openWires } from './wire.ts'

/** A hub of several processes on one PostgreSQL, beside a hub of one process on SQLite alone. */
export async function measureHubOfSeveral(ground: Ground): Promise<Figure[]> {
  const programs = await postgresPrograms()
  if (programs === undefined) {
    console.log('hub-of-several: PostgreSQL is not installed; left out')
    return []
  }
  await using server = await CountedPostgres.start(programs)
  return [
    ...(await measureServing(ground, server)),
    ...(await measureFirstSyncs(ground, server)),
    ...(await measureTakeOver(ground, server)),
  ]
}

/** Changes, reads and idle time, with two processes and with many. */
async function measureServing(ground: Ground, server: CountedPostgres): Promise<Figure[]> {
  const { quick } = ground
  const [clients, many] = quick ? [40, 3] : [400, 20]
  const upstream = await ground.skills(quick ? 20 : 200)
  await using one = await HubGroup.open(ground, 1, upstream)
  const ofTwo = await server.createDatabase()
  const two = await HubGroup.open(ground, 2, upstream, ofTwo)
  const all = await measureTwo(server, one, two, { clients, quick })
  const uses = { ...(await measureUse(server, { one, several: two, database: ofTwo }, quick)) }
  await two[Symbol.asyncDispose]()
  const ofMany = await server.createDatabase()
  await using several = await HubGroup.open(ground, many, upstream, ofMany)
  Object.assign(uses, await measureUse(server, { one, several, database: ofMany }, quick))
  const last = `last of ${clients} clients`
  const ofUse = (what: string, unit: Unit): Figure => figure([uses], [`${what} of ${many}`, `${what} of 2`], unit)
  return [
    figure(all, [`${last}, two`, `${last}, one`]),
    figure(all, [`${last}, two, asked at the other`, `${last}, one`]),
    figure(all, ['last at the other', 'last at the leader']),
    ...MEMBERS.map((member) => figure(all, [`CPU of a change, ${member}`, 'CPU of a change, one'])),
    ...ERAS.flatMap((era) => [
      figure(all, [`1000 reads ${era}, two`, `1000 reads ${era}, one`]),
      figure(all, [`CPU of 1000 reads ${era}, two`, `CPU of 1000 reads ${era}, one`]),
    ]),
    ...[2, many].flatMap((count) =>
      MEMBERS.map((member) => figure([uses], [`CPU of an idle minute, ${member} of ${count}`, `one beside ${count}`])),
    ),
    ofUse('connections', 'connections'),
    ...['idle minute', 'change'].flatMap((per) => [
      ofUse(`statements, ${per}`, 'statements'),
      ofUse(`transactions, ${per}`, 'transactions'),
      ofUse(`writing transactions, ${per}`, 'transactions'),
      ofUse(`WAL, ${per}`, 'KiB'),
    ]),
  ]
}

/** The processes whose time a hub of several takes. */
const MEMBERS = ['leader', 'other', 'PostgreSQL']

function figure(all: readonly Times[], names: readonly [string, string], unit: Unit = 'ms'): Figure {
  return figureOf('hub-of-several', all, names, undefined, unit)
}

async function measureTwo(
  server: CountedPostgres,
  one: HubGroup,
  two: HubGroup,
  { clients, quick }: { readonly clients: number; readonly quick: boolean },
): Promise<Times[]> {
  await one.openClients(clients / 2, clients / 2)
  await two.openClients(clients / 4, clients / 4)
  const last = `last of ${clients} clients`
  const reads = quick ? 1_000 : 10_000
  const all = await rounds(quick ? 1 : 3, [
    async () => {
      const { told, cpuMs } = await changeOf(server, one)
      return { [`${last}, one`]: Math.max(...told), 'CPU of a change, one': cpuMs[0] ?? Number.NaN }
    },
    async () => {
      const { told, cpuMs, databaseMs } = await changeOf(server, two)
      const [leader = Number.NaN, other = Number.NaN] = told
      return {
        [`${last}, two`]: Math.max(leader, other),
        'last at the leader': leader,
        'last at the other': other,
        'CPU of a change, leader': cpuMs[0] ?? Number.NaN,
        'CPU of a change, other': cpuMs[1] ?? Number.NaN,
        'CPU of a change, PostgreSQL': databaseMs,
      }
    },
    async () => ({ [`${last}, two, asked at the other`]: Math.max(...(await two.change(1))) }),
    ...ERAS.flatMap((era) => [
      async () => readsOf(one, { era, reads, name: 'one' }),
      async () => readsOf(two, { era, reads, name: 'two' }),
    ]),
  ])
  for (const group of [one, two]) group.closeClients()
  return all
}

interface Change {
  /** The time from the request to pull until the last client of each process was notified. */
  readonly told: readonly number[]
  /** The use of each process, and of the database, until a second after that. */
  readonly cpuMs: readonly number[]
  readonly databaseMs: number
}

async function changeOf(server: CountedPostgres, group: HubGroup): Promise<Change> {
  const databaseBefore = await server.cpuMs()
  const before = await group.cpuMs()
  const told = await group.change()
  await pause(SETTLE_MS)
  const cpuMs = (await group.cpuMs()).map((ms, index) => ms - (before[index] ?? 0))
  return { told, cpuMs, databaseMs: (await server.cpuMs()) - databaseBefore }
}

/** Reads of skills by clients that use all processes of a hub. A session is used at each of them. */
async function readsOf(
  { daemons, uris }: HubGroup,
  { era, reads, name }: { readonly era: Era; readonly reads: number; readonly name: string },
): Promise<Times> {
  const client = await Client.open(era, daemons[0]?.url ?? '')
  const places = await Promise.all(
    daemons.map(async ({ url, child }) => ({
      child,
      requests: uris.map((uri) => client.request('resources/read', { uri }, url)),
      wires: await openWires(url, WIRES / daemons.length),
    })),
  )
  const cpuMs = async (): Promise<number> => sumOf(await Promise.all(places.map(async ({ child }) => child.cpuMs())))
  const before = await cpuMs()
  const ms = await timed(async () =>
    Promise.all(places.map(async ({ wires, requests }) => askAll(wires, requests, reads / daemons.length))),
  )
  const used = (await cpuMs()) - before
  for (const wire of places.flatMap(({ wires }) => wires)) wire[Symbol.dispose]()
  return {
    [`1000 reads ${era}, ${name}`]: (ms * 1_000) / reads,
    [`CPU of 1000 reads ${era}, ${name}`]: (used * 1_000) / reads,
  }
}

/** The connections of all clients to a hub. */
const WIRES = 16

/** From the start of a process without a state until it serves all skills: of git, and of the other process. */
async function measureFirstSyncs(ground: Ground, server: CountedPostgres): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const count of ground.quick ? [20] : [200, 1_000]) {
    const upstream = await ground.skills(count)
    const [alone, beside, copied] = [`first sync of ${count}`, `first sync of ${count}, database`, `copy of ${count}`]
    const runs = [
      async () => {
        await using one = new HubGroup(upstream)
        const folder = await ground.fresh()
        return { [alone]: await timed(async () => one.add(folder)) }
      },
      async () => {
        await using two = new HubGroup(upstream, await server.createDatabase())
        const [first, second] = [await ground.fresh(), await ground.fresh()]
        return {
          [beside]: await timed(async () => two.add(first)),
          [copied]: await timed(async () => two.add(second)),
        }
      },
    ]
    // Each process is a new one: there is little to warm up, and a start takes long.
    const all = ground.quick ? [await once(runs)] : await rounds(3, runs)
    figures.push(figure(all, [beside, alone]), figure(all, [copied, alone]))
  }
  return figures
}

/** One round without another before it. */
async function once(runs: readonly (() => Promise<Times>)[]): Promise<Times> {
  const times: Record<string, number> = {}
  for (const run of runs) Object.assign(times, await run())
  return times
}

/** From the kill of a process until its hub has published a commit: by the process beside it, or by itself after a start. */
async function measureTakeOver(ground: Ground, server: CountedPostgres): Promise<Figure[]> {
  const upstream = await ground.skills(ground.quick ? 20 : 200)
  await using one = await HubGroup.open(ground, 1, upstream)
  await using two = await HubGroup.open(ground, 2, upstream, await server.createDatabase())
  const all: Times[] = []
  let lost: string | undefined
  while (all.length < (ground.quick ? 1 : 3)) {
    await one.commit()
    const folder = await one.kill()
    const again = await timed(async () => {
      await one.add(folder)
      await one.daemons[0]?.sync()
    })
    if (lost !== undefined) await two.add(lost)
    await two.commit()
    lost = await two.kill()
    const taken = await timed(async () => two.daemons[0]?.sync())
    all.push({ 'take-over, and a change': taken, 'start again, and a change': again })
  }
  return [figure(all, ['take-over, and a change', 'start again, and a change'])]
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

await runAlone(import.meta.url, measureHubOfSeveral)
