import { appendFile, mkdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ChannelLog } from '../../../../src/features/channel/content/channel-log.ts'
import { publishedSourcesIn } from '../../../../src/features/channel/content/channel-tree.ts'
import { FolderChannel } from '../../../../src/features/channel/content/folder-channel.ts'
import { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { never } from '../../../sync/store/samples.ts'

const ENTRY = { at: '2026-06-15T12:00:00.000Z', head: '1'.repeat(64) }

test.each<readonly [string, RegExp, (folder: string) => Promise<unknown>]>([
  [
    'with a line that is none',
    /: its line 1 is damaged; restore the file from a backup/,
    async (folder) => {
      const path = join(folder, 'channel.jsonl')
      await writeFile(path, 'none\n')
      return ChannelLog.open(path)
    },
  ],
  [
    'that lost lines while it was open',
    /: it has 0 bytes, and had \d+ before; restore it from a backup$/,
    async (folder) => {
      const { path, log } = await logIn(folder)
      await truncate(path)
      return log.append(ENTRY)
    },
  ],
  [
    'that another process has written to',
    /: another process has written to it$/,
    async (folder) => {
      const { path, log } = await logIn(folder)
      await appendFile(path, 'other\n')
      return log.append(ENTRY)
    },
  ],
  [
    'with another line than the database',
    /: its line 1 is another one than that of the database/,
    async (folder) => (await logIn(folder)).log.takeOver(['{}'], 0),
  ],
  [
    'whose folder has the files of another program',
    /: it has no channel, and has "index\.html"; name a folder of its own$/,
    async (folder) => {
      const { log } = await logIn(folder)
      const to = join(folder, 'served')
      await mkdir(to)
      await writeFile(join(to, 'index.html'), '')
      using store = await Store.open(join(folder, 'state'))
      const kept = { head: ENTRY.head, named: new Set<string>(), lists: new Set<string>() }
      const channel = { log, origin: 'example.org/skills', checkpoint: '', kept, changes: undefined }
      return await new FolderChannel(to, store.objects).publish(channel, never())
    },
  ],
  [
    'whose head has the wrong form',
    /an object of the kind "head" has the wrong form$/,
    async (folder) => {
      using store = await Store.open(join(folder, 'state'))
      const [head = ''] = await store.objects.put([Buffer.from('[]')])
      return await publishedSourcesIn(head, store.objects)
    },
  ],
])('a channel %s is a failure of the store that says so', async (_, message, attempt) => {
  await using folder = await temporaryFolder()

  const failure: unknown = await attempt(folder.path).catch((error: unknown) => error)

  expect(failure).toBeInstanceOf(SyncError)
  expect(failure).toMatchObject({ code: 'store-failed', message: expect.stringMatching(message) })
})

async function logIn(folder: string): Promise<{ readonly path: string; readonly log: ChannelLog }> {
  const path = join(folder, 'channel.jsonl')
  const log = await ChannelLog.open(path)
  await log.append(ENTRY)
  return { path, log }
}
