import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { socketPathOf } from '../../src/daemon/control/control-path.ts'
import { AuditFile } from '../../src/daemon/status/audit/audit-files.ts'
import { readLinks, writeLinks } from '../../src/features/agent-folders/links-file.ts'
import { openUsageToRead } from '../../src/features/usage/usage-database.ts'
import { SyncError } from '../../src/sync/model/sync-error.ts'
import { temporaryFolder } from '../support/temporary.ts'

test.each<readonly [string, RegExp, (folder: string) => Promise<unknown>]>([
  [
    'a record of links that is damaged',
    /^Cannot read ".*links\.json": it is damaged; .*check it before you remove it$/,
    async (folder) => {
      await writeFile(join(folder, 'links.json'), '[]')
      return readLinks(folder)
    },
  ],
  [
    'more links than the record holds',
    /^Cannot write ".*links\.json": there are more links than 16777216 bytes hold$/,
    async (folder) => {
      return writeLinks(folder, {
        skills: new Map(),
        folders: new Map([['x'.repeat(2 ** 24), { entries: new Map(), uses: [], made: [], copies: false }]]),
      })
    },
  ],
  [
    'an audit file that is a device',
    /^Cannot write "\/dev\/null": it is not a regular file$/,
    async () => AuditFile.open('/dev/null'),
  ],
  [
    'counts of another program',
    /it does not have the counts of skillsyncd$/,
    async (folder) => openUsageToRead(databaseIn(folder, 'CREATE TABLE other (id)')),
  ],
  [
    'counts of a later version',
    /its version is 99 and this program knows \d+; run the version that wrote it/,
    async (folder) =>
      openUsageToRead(databaseIn(folder, 'PRAGMA application_id = 0x736b6c75; PRAGMA user_version = 99')),
  ],
  [
    'a state folder behind links that lead in a circle',
    /^Cannot find the state folder ".*": a link in it leads to itself \(ELOOP\)$/,
    async (folder) => {
      await symlink(join(folder, 'b'), join(folder, 'a'))
      await symlink(join(folder, 'a'), join(folder, 'b'))
      return socketPathOf(join(folder, 'a'), folder)
    },
  ],
])('%s is a failure of the store that says what is the case', async (_, message, attempt) => {
  await using folder = await temporaryFolder()

  const failure: unknown = await attempt(folder.path).catch((error: unknown) => error)

  expect(failure).toBeInstanceOf(SyncError)
  expect(failure).toMatchObject({ code: 'store-failed', message: expect.stringMatching(message) })
})

function databaseIn(folder: string, sql: string): string {
  const path = join(folder, 'usage.db')
  using database = new DatabaseSync(path)
  database.exec(sql)
  return path
}
