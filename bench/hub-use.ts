import { setTimeout as pause } from 'node:timers/promises'
import { timesUse, useBetween } from './database.ts'
import type { CountedPostgres, DatabaseUse } from './database.ts'
import { median, timed } from './figure.ts'
import type { Times } from './figure.ts'
import type { HubGroup } from './hub-group.ts'

/** A hub of one process, and one of several on a database, in the same minute. */
interface Beside {
  readonly one: HubGroup
  readonly several: HubGroup
  readonly database: string
}

/** The use of the database, and the time of all processes: of an idle minute, and of a change without what idle time uses. */
export async function measureUse(server: CountedPostgres, beside: Beside, quick: boolean): Promise<Times> {
  const { several, database } = beside
  const { length: count } = several.daemons
  const leader = await server.leader(database)
  await several.openClients(1, 0)
  await several.change()
  await pause(quick ? SETTLE_MS : COUNTED_MS)
  const { use: idle, times } = await idleMinute(server, beside, quick ? 2_000 : 60_000)
  const changes = quick ? 1 : 5
  const before = await server.use(database)
  const ms = await timed(async () => {
    for (let index = 0; index < changes; index += 1) await several.change()
    await pause(quick ? SETTLE_MS : COUNTED_MS)
  })
  const used = useBetween(before, await server.use(database))
  if ((await server.leader(database)) !== leader)
    console.log('hub-of-several: another process leads now; measure again')
  return {
    ...times,
    [`connections of ${count}`]: await server.connections(database),
    ...timesOf(idle, `idle minute of ${count}`),
    ...timesOf(timesUse(1 / changes, useBetween(timesUse(ms / 60_000, idle), used)), `change of ${count}`),
  }
}

/** Prints the statements of the time, too. */
async function idleMinute(
  server: CountedPostgres,
  { one, several, database }: Beside,
  ms: number,
): Promise<{ readonly use: DatabaseUse; readonly times: Times }> {
  const read = async () => ({
    use: await server.use(database),
    cpuMs: [...(await one.cpuMs()), ...(await several.cpuMs())],
  })
  await server.forgetStatements()
  const before = await read()
  const perMinute = 60_000 / (await timed(async () => pause(ms)))
  const statements = await server.mostFrequent(database)
  const after = await read()
  const { length: count } = several.daemons
  for (const [text, calls] of statements)
    console.log(
      `hub-of-several: ${count} idle processes, ${(calls * perMinute).toFixed(0)} a minute: ${text.slice(0, 100)}`,
    )
  const use = timesUse(perMinute, useBetween(before.use, after.use))
  const [own = Number.NaN, leader = Number.NaN, ...others] = after.cpuMs.map(
    (cpuMs, index) => (cpuMs - (before.cpuMs[index] ?? 0)) * perMinute,
  )
  return {
    use,
    times: {
      [`one beside ${count}`]: own,
      [`CPU of an idle minute, leader of ${count}`]: leader,
      [`CPU of an idle minute, other of ${count}`]: median(others),
      [`CPU of an idle minute, PostgreSQL of ${count}`]: use.cpuMs,
    },
  }
}

/** The server has counted the transactions of each connection by then. */
const COUNTED_MS = 11_000

function timesOf(use: DatabaseUse, per: string): Times {
  return {
    [`statements, ${per}`]: use.statements,
    [`transactions, ${per}`]: use.transactions,
    [`writing transactions, ${per}`]: use.writes,
    [`WAL, ${per}`]: use.walBytes / 1_024,
  }
}

/** A process writes what it has published when its clients know it already. */
export const SETTLE_MS = 1_000
