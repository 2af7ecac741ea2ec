import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { postgresPrograms } from '../../support/postgres.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import type { HubProcess } from './hub-process.ts'
import { obstacle, ReplicatedHub } from './replicated-hub.ts'

const run = promisify(execFile)
const programs = (await postgresPrograms()) ?? ''

describe.skipIf(obstacle !== undefined)(`a dump of a hub${obstacle === undefined ? '' : ` (${obstacle})`}`, () => {
  test('is continued by the processes whose state folders have later generations', async () => {
    await using folder = await temporaryFolder()
    await using hub = await ReplicatedHub.start()
    const dump = join(folder.path, 'hub.dump')

    await pgDump(hub.database, dump)
    await hub.generations(3)
    const last = hub.record.newest
    await stopAll(hub.processes)
    await pgRestore(hub.database, dump)
    await startAll(hub.processes)
    await hub.generations(2)

    expect(hub.record.newest).toBeGreaterThan(last)
    await hub.expectWhole()
  })

  test('has its generation and its decisions again, where no process has a state folder', async () => {
    await using folder = await temporaryFolder()
    await using hub = await ReplicatedHub.start({ followers: 0 })
    const [first] = hub.processes
    const dump = join(folder.path, 'hub.dump')

    await hub.commitNoMore()
    await hub.servesTip()
    await first!.home.command('disable', 'team/still')
    const dumped = await contentOf(first!)
    await pgDump(hub.database, dump)
    await first!.home.command('enable', 'team/still')
    expect(await contentOf(first!)).not.toEqual(dumped)
    await hub.commit()
    await hub.servesTip()
    await stopAll(hub.processes)
    for (const { home } of hub.processes) await rm(home.state, { recursive: true })
    await pgRestore(hub.database, dump)
    // Nothing is pulled, so that the content of the dump is what can be seen.
    hub.git.fault = { kind: 'status', status: 503 }
    await startAll(hub.processes)

    for (const each of hub.processes) {
      await expect.poll(async () => contentOf(each)).toEqual(dumped)
      expect(await each.home.command('verify')).toMatchObject({ status: 0 })
    }
  })
})

async function pgDump(url: string, file: string): Promise<void> {
  await run(join(programs, 'pg_dump'), [`--dbname=${url}`, '--schema=skillsyncd', '--format=custom', `--file=${file}`])
}

/** Restores into a database without the schema. */
async function pgRestore(url: string, file: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('DROP SCHEMA skillsyncd CASCADE')
  await client.end()
  await run(join(programs, 'pg_restore'), [`--dbname=${url}`, file])
}

/** The commits and the skills that a process serves. */
async function contentOf(process: HubProcess): Promise<unknown> {
  const { generation, commits } = await process.status()
  const { stdout } = await process.home.command('list', '--json')
  return { generation, commits, skills: JSON.parse(stdout).skills }
}

async function stopAll(processes: readonly HubProcess[]): Promise<void> {
  await Promise.all(processes.map(async ({ program }) => program.stop()))
}

async function startAll(processes: readonly HubProcess[]): Promise<void> {
  for (const each of processes) await each.start()
}
