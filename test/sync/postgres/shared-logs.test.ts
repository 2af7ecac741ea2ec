import { expect, test } from 'vitest'
import type { PostgresDatabase } from '../../../src/sync/postgres/postgres-database.ts'
import { SharedLogs } from '../../../src/sync/postgres/shared-logs.ts'

test.each([
  ['before the end of the log', 2],
  ['behind a gap', 4],
])('nothing is appended %s', async (_, position) => {
  const { logs, inserted } = logOf(3)

  const appending = logs.append({ log: 'a', position, lines: ['line'] }, 7)

  const message = `Cannot append to the log "a": it has 3 entries in the database, and ${position} here`
  await expect(appending).rejects.toMatchObject({ code: 'store-failed', message })
  expect(inserted).toEqual([])
})

test('nothing is appended in an epoch that is over', async () => {
  const { logs, inserted } = logOf(3)

  await expect(logs.append({ log: 'a', position: 3, lines: ['line'] }, 6)).rejects.toThrow('does not lead the hub')

  expect(inserted).toEqual([])
})

test('lines are appended at the end of the log, in the epoch of the leader', async () => {
  const { logs, inserted } = logOf(3)

  await logs.append({ log: 'a', position: 3, lines: ['x', 'y'] }, 7)

  expect(inserted).toEqual([['a', 3, ['x', 'y']]])
})

/** A log with so many entries, in a database whose leader is in epoch 7. */
function logOf(size: number): { readonly logs: SharedLogs; readonly inserted: readonly unknown[] } {
  const inserted: unknown[] = []
  const query = async (text: string, values: readonly unknown[] = []): Promise<unknown> => {
    if (text.includes('INSERT INTO skillsyncd.log_entry')) inserted.push(values)
    if (text.includes('epoch')) return { rowCount: Number(values[0] === 7), rows: [] }
    return { rowCount: 1, rows: [{ size: String(size) }] }
  }
  const transact = async (_: string, work: (client: object) => Promise<unknown>): Promise<unknown> => work({ query })
  return { logs: new SharedLogs({ transact } as unknown as PostgresDatabase), inserted }
}
