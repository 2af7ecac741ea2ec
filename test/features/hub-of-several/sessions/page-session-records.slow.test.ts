import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { systemClock } from '../../../../src/base/async/clock.ts'
import { createLog } from '../../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import { PageSessionRecords } from '../../../../src/features/hub-of-several/sessions/page-session-records.ts'
import { PageSessions, sessionName } from '../../../../src/serve/page/http/page-sessions.ts'
import type { Principal } from '../../../../src/serve/principal.ts'
import { SharedStore } from '../../../../src/sync/postgres/shared-store.ts'
import { describePostgres } from '../../../support/describe-postgres.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { allowConnections } from '../../../support/postgres.ts'

const ADA: Principal = { id: 'token:ada', scopes: new Set(['page']) }

describePostgres('the sign-ins in the database of a hub', (server) => {
  test('however many requests end sessions that do not exist, one statement runs at a time, and the lead is renewed', async () => {
    const url = await server.createDatabase()
    await using shared = SharedStore.at({ url })
    await using other = SharedStore.at({ url, connections: 1 })
    await shared.open()
    await shared.leadership.take()
    const { sessions } = openSessions(shared)

    const [isLocked, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const locking = other.database.transact('lock', async (client) => {
      await client.query('LOCK TABLE skillsyncd.page_session')
      isLocked.resolve()
      await goOn.promise
    })
    await isLocked.promise
    const closings = Array.from({ length: 100 }, async () => sessions.close(inventedIds(8)))
    let waiting = 0
    while (waiting === 0) waiting = await countWaiting(other)
    const isRenewed = await shared.leadership.take()
    const most = Math.max(waiting, await countWaiting(other))
    goOn.resolve()
    await Promise.all([locking, ...closings])

    expect(isRenewed).toBe(true)
    expect(most).toBe(1)
  })

  test('while the database is away, invented sessions take no place of one that is signed out', async () => {
    const url = await server.createDatabase()
    await using shared = SharedStore.at({ url, times: { connectMs: 2_000, statementMs: 5_000 } })
    await shared.open()
    const { records, sessions } = openSessions(shared)
    const id = await sessions.open(ADA)
    const before = await records.find([sessionName(id)])

    await allowConnections(url, false)
    await Promise.all(Array.from({ length: 1_300 }, async () => sessions.close(inventedIds(8))))
    await sessions.close([id])
    await allowConnections(url, true)
    await records.refresh()

    expect(before.size).toBe(1)
    expect((await openSessions(shared).records.find([sessionName(id)])).size).toBe(0)
  })
})

/** A process. Its clock stands still, so that it waits for the database as long as that takes. */
function openSessions(shared: SharedStore) {
  const stream = { write: () => true }
  const clock = systemClock
  const log = createLog({ level: 'error', stream, format: 'json', journal: false, clock, redactor: new Redactor() })
  const tokens = { principalWithId: () => ADA }
  const records = new PageSessionRecords({ shared, tokens, log, clock: new FakeClock(), hasPacks: () => false })
  return { records, sessions: new PageSessions(() => performance.now(), records) }
}

function inventedIds(count: number): readonly string[] {
  return Array.from({ length: count }, () => randomBytes(32).toString('base64url'))
}

/** The number of statements that wait for a lock. */
async function countWaiting({ pulse }: SharedStore): Promise<number> {
  const text = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
  return (await pulse.query('count', text)).length
}
