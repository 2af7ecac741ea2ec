import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FolderPlace } from '../../../src/features/channel/follow/folder-place.ts'
import { FetchBudget } from '../../../src/features/mcp-sources/fetch-budget.ts'
import { repositoryAt } from '../../../src/sync/git/disk-transport.ts'
import { inScratch } from '../../../src/sync/git/objects/pack-reader.ts'
import { folderInScratch } from '../../../src/sync/git/objects/scratch-folder.ts'
import { scratchFailure } from '../../../src/sync/git/program/git-program.ts'
import { runToEnd } from '../../../src/sync/git/program/process-group.ts'
import { askRelation } from '../../../src/sync/git/smart-http/remote-history.ts'
import type { McpSource } from '../../../src/sync/model/source.ts'
import { mendOf, SyncError } from '../../../src/sync/model/sync-error.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { readFault } from '../../../src/sync/upstream/folder/folder-error.ts'
import { readFolder } from '../../../src/sync/upstream/folder/folder-tree.ts'
import type { FolderReading } from '../../../src/sync/upstream/folder/folder-tree.ts'
import { objectIdOf } from '../../../src/sync/upstream/objects/git-object.ts'
import { FETCH_LIMITS } from '../../../src/sync/upstream/upstream.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { never } from '../store/samples.ts'

test.each<readonly [string, string, RegExp, RegExp, (folder: string) => unknown]>([
  [
    'a folder in the place of a part of a channel',
    'source-unreachable',
    /^Cannot read ".*checkpoint": not a file$/,
    /Something else is at that place/,
    async (folder) => {
      await mkdir(join(folder, 'checkpoint'))
      return new FolderPlace(folder).checkpoint({ etag: undefined }, never())
    },
  ],
  [
    'a part of a channel that is over its limit',
    'limit-exceeded',
    /^Cannot read ".*checkpoint": it has 65537 bytes, over 65536$/,
    /operator of the hub/,
    async (folder) => {
      await writeFile(join(folder, 'checkpoint'), 'x'.repeat(2 ** 16 + 1))
      return new FolderPlace(folder).checkpoint({ etag: undefined }, never())
    },
  ],
  [
    'a channel behind links that lead in a circle',
    'source-unreachable',
    /^Cannot read ".*checkpoint": ELOOP$/,
    /^Links at that place lead in a circle/,
    async (folder) => new FolderPlace(await circleIn(folder)).checkpoint({ etag: undefined }, never()),
  ],
  [
    'a place of a folder that became a folder',
    'source-unreachable',
    /^Cannot read "a" of the folder: EISDIR$/,
    /Something else is at that place/,
    (folder) => caught(() => readFileSync(folder), readFault('a')),
  ],
  [
    'a folder with a name that no disk takes',
    'source-unreachable',
    /^Cannot read "\/x+": ENAMETOOLONG$/,
    /name a shorter one/,
    async () => readFolder(`/${'x'.repeat(300)}`, { limits: FETCH_LIMITS } as FolderReading, never()),
  ],
  [
    'an answer of a program that is over its limit',
    'limit-exceeded',
    /^Cannot ask: the answer is over 4 bytes$/,
    /less of it/,
    async (folder) => {
      const start = {
        command: 'echo',
        args: ['answer'],
        cwd: folder,
        env: { PATH: process.env['PATH'] ?? '' },
        fileBytes: undefined,
      }
      const bounds = { firstMs: 60_000, idleMs: 60_000, outputBytes: 4 }
      return runToEnd(start, { what: 'Cannot ask', input: '', bounds }, never())
    },
  ],
  [
    'a history with more parents than are held',
    'limit-exceeded',
    /^Cannot read the history: over 65536 parents$/,
    /less of it/,
    async () => {
      const [from, to] = [
        objectIdOf({ type: 'blob', bytes: Buffer.from('a') }, 'sha1'),
        objectIdOf({ type: 'blob', bytes: Buffer.from('b') }, 'sha1'),
      ]
      const bytes = Buffer.from(`tree ${from}\n${`parent ${from}\n`.repeat(65_537)}\n`)
      return askRelation(from, to, async (_, found) => {
        found(to, { type: 'commit', bytes })
        throw new Error('The history is read on')
      })
    },
  ],
  [
    'a repository behind links that lead in a circle',
    'source-unreachable',
    /^Cannot read ".*": ELOOP$/,
    /^Links at that place lead in a circle/,
    async (folder) => repositoryAt(await circleIn(folder)),
  ],
  [
    'a folder for a fetch below a file',
    'store-failed',
    /^Cannot make a folder in "\/dev\/null": a part of the path is not a folder \(ENOTDIR\)$/,
    /Something else is at that place/,
    async () => folderInScratch('/dev/null', 'fetch-'),
  ],
  [
    'a pack on a full disk',
    'store-failed',
    /^Cannot write to the scratch folder: ENOSPC$/,
    /df -h/,
    () => inScratch(() => writeFileSync('/dev/full', 'x')),
  ],
  [
    'a file of git on a full disk',
    'store-failed',
    /^Cannot write to the scratch folder: ENOSPC$/,
    /df -h/,
    () =>
      caught(
        () => writeFileSync('/dev/full', 'x'),
        (cause) => {
          throw scratchFailure(cause)
        },
      ),
  ],
  [
    'more of a server than its budget',
    'limit-exceeded',
    /^Cannot fetch 9 bytes from "hub": 0 of budgets\.hourly_bytes \(8\) are used up; there is room again/,
    /Raise `budgets\.hourly_bytes`/,
    async () => {
      const source = { id: 'hub', budgets: { hourlyBytes: 8, storedBytes: 8 } } as McpSource
      const files = { bytes: async () => 0 } as never
      return new FetchBudget(new FakeClock(), files, { add: () => {} } as never).spend(source, 9)
    },
  ],
  [
    'a part of a snapshot that is none',
    'store-failed',
    /^Cannot read the part of a snapshot ".*": it is none$/,
    /skillsyncd verify/,
    async (folder) => {
      using store = await Store.open(folder)
      const [part = ''] = await store.objects.put([Buffer.from('7')])
      return await store.snapshots.part(part)
    },
  ],
])('%s is %s, says what is the case, and has a next step', async (_, code, message, mend, attempt) => {
  await using folder = await temporaryFolder()
  const place = join(folder.path, 'place')
  await mkdir(place)

  const failure: unknown = await Promise.try(attempt, place).catch((error: unknown) => error)

  if (!(failure instanceof SyncError)) throw new Error(`It is no failure of ours: ${String(failure)}`)
  expect(failure).toMatchObject({ code, message: expect.stringMatching(message) })
  expect(mendOf(failure)).toMatch(mend)
})

async function circleIn(folder: string): Promise<string> {
  await symlink(join(folder, 'b'), join(folder, 'a'))
  await symlink(join(folder, 'a'), join(folder, 'b'))
  return join(folder, 'a')
}

function caught(work: () => unknown, handle: (cause: unknown) => never): unknown {
  try {
    return work()
  } catch (cause) {
    return handle(cause)
  }
}
