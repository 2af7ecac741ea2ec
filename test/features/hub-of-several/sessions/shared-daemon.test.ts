import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../../src/base/async/clock.ts'
import { environmentOf } from '../../../../src/daemon/config/environment.ts'
import type { WholeConfig } from '../../../../src/daemon/configuration.ts'
import { parseConfig } from '../../../../src/daemon/configuration.ts'
import { Daemon } from '../../../../src/daemon/daemon.ts'
import { whileServing } from '../../../../src/daemon/http-server.ts'
import type { DaemonContext } from '../../../../src/daemon/runtime/context.ts'
import { createLog } from '../../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import { SharedStore } from '../../../../src/sync/postgres/shared-store.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { legacyHttp } from '../../../support/clients/peer.ts'
import { describePostgres } from '../../../support/describe-postgres.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

describePostgres('a daemon with a shared store', (server) => {
  test('keeps the sessions of its clients in the database, also over a reload, and no journal', async () => {
    await using folder = await temporaryFolder()
    await using shared = SharedStore.at({ url: await server.createDatabase(), connections: 2 })
    const config = configAt(folder.path)
    using store = await Store.open(config.state)
    const context = contextOf(store, shared)
    await using first = await Daemon.start(config, context)
    const writer = { daemon: first }
    const listen = { host: '127.0.0.1', port: 0 }

    await whileServing(writer, { listen, sockets: {}, place: undefined, log: context.log }, async (front) => {
      await using before = await legacyHttp(`${front.url}/mcp`)
      const next = await Daemon.start(config, context, first)
      writer.daemon = next
      front.serve(next)
      await using after = await legacyHttp(`${front.url}/mcp`)
      await next.refreshSessions()

      expect(await before.call('resources/list')).toMatchObject({ status: 200 })
      expect(await after.call('resources/list')).toMatchObject({ status: 200 })
      const rows = await shared.database.query('read', 'SELECT replica FROM skillsyncd.session')
      expect(rows).toEqual([{ replica: shared.id }, { replica: shared.id }])
    })

    const [left] = await shared.database.query(
      'read',
      "SELECT seen = '-infinity' AS gone FROM skillsyncd.session_replica",
    )
    expect(left).toEqual({ gone: true })
    expect(await readdir(config.state)).not.toContain('sessions.journal')
  })
})

function configAt(path: string): WholeConfig {
  const text = [
    `state: ${join(path, 'state')}`,
    'sources:',
    "  - { id: team, url: 'https://git.example.com/team.git' }",
  ].join('\n')
  const config = parseConfig(text, 'skillsyncd.yaml', environmentOf({}, path))
  if (Array.isArray(config)) throw new Error(config.map(({ message }) => message).join('\n'))
  return config
}

function contextOf(store: Store, shared: SharedStore): DaemonContext {
  const [clock, redactor] = [systemClock, new Redactor()]
  const log = createLog({
    level: 'error',
    stream: { write: () => true },
    format: 'json',
    journal: false,
    clock,
    redactor,
  })
  return { store, shared, clock, log, redactor, environment: environmentOf({}, '/home/ada') }
}
