import { mkdir, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { expectSkills } from '../../../src/features/hub-of-several/copy-generation.ts'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { FileLock } from '../../../src/sync/store/files/file-lock.ts'
import { readJournal } from '../../../src/sync/store/files/journal.ts'
import { openState } from '../../../src/sync/store/files/state-folder.ts'
import { readFollowedLock } from '../../../src/sync/store/followed-lock.ts'
import { FollowedLogs } from '../../../src/sync/store/followed-logs.ts'
import { readHubSources } from '../../../src/sync/store/hub-sources.ts'
import { checkDigest, storedSkill } from '../../../src/sync/store/skills/stored-path.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { keepSamples, never, numbered, snapshotOf, sourceId } from './samples.ts'

const SAMPLE = numbered(1)
const ABSENT = 'ab'.repeat(32)

/** What is done to a state folder, and the failure of what is tried then. */
test.each<readonly [string, RegExp, (state: string) => Promise<unknown>]>([
  [
    'the lock that is followed',
    /^Cannot read ".*lock-origin\.json": it is damaged; remove it/,
    async (state) => {
      await write(state, 'logs/lock-origin.json', '7')
      return readFollowedLock(state)
    },
  ],
  [
    'a log that is followed',
    /^Cannot read ".*": it is damaged; remove it/,
    async (state) => {
      const folder = await openState(state)
      await write(state, 'logs/team.followed.json', '{}')
      return new FollowedLogs(folder).read(sourceId('team'))
    },
  ],
  [
    'the sources of a hub',
    /^Cannot read ".*hub-sources\.json": it is damaged; remove it/,
    async (state) => {
      await write(state, 'logs/hub-sources.json', '{"sources":7}')
      return readHubSources(state)
    },
  ],
  [
    'a folder of the state folder that is a link',
    /^Cannot use ".*logs": it is not a folder/,
    async (state) => {
      await openState(state)
      await rm(join(state, 'logs'), { recursive: true })
      await symlink(state, join(state, 'logs'))
      return openState(state)
    },
  ],
  [
    'a lock that is a folder',
    /^Cannot write ".*turn": it is not a regular file$/,
    async (state) => {
      await mkdir(join(state, 'turn'))
      return FileLock.take(join(state, 'turn'), Date.now, never())
    },
  ],
  [
    'a journal of a size that none gets',
    /^Cannot read ".*": it is damaged, with over \d+ bytes$/,
    async (state) => {
      const path = join(state, 'sessions.journal')
      await writeFile(path, '')
      // A file with a hole has the size, and takes no space.
      await truncate(path, 2 ** 32)
      return readJournal(path)
    },
  ],
  [
    'a snapshot of what is not stored',
    /^Cannot publish "team": its snapshot "(?:ab)+" is not in the store$/,
    async (state) => {
      using store = await Store.open(state)
      return await store.generations.publish([{ source: sourceId('team'), snapshot: ABSENT }], new Date(0))
    },
  ],
  [
    'objects that were lost',
    /^Cannot read the object "(?:ab)+": it is not in the store$/,
    async (state) => {
      using store = await Store.open(state)
      return await store.objects.each([ABSENT]).next()
    },
  ],
  [
    'a file of a skill that was lost',
    /^Cannot read "SKILL\.md" of the skill ".*": it is gone$/,
    async (state) => {
      using store = await Store.open(state)
      return await store.skills.read(SAMPLE.stored, SAMPLE.stored.files[0]!)
    },
  ],
  [
    'a skill that was lost',
    /^Cannot keep "SKILL\.md" of the skill ".*": it is gone$/,
    async (state) => {
      using store = await Store.open(state)
      return await store.skills.expectWhole([SAMPLE.stored])
    },
  ],
  [
    'a snapshot that is none',
    /^Cannot read the snapshot ".*": it is none$/,
    async (state) => {
      using store = await Store.open(state)
      const [digest = ''] = await store.objects.put([Buffer.from('7')])
      return await store.snapshots.read(digest)
    },
  ],
  [
    'a skill with another digest',
    /^Cannot keep the skill/,
    async () => checkDigest({ ...SAMPLE.stored, digest: ABSENT }),
  ],
  [
    'a skill that was withheld',
    /^Cannot find the skill in ".*": it was withheld and not stored$/,
    async () => storedSkill({ ...snapshotOf(SAMPLE).skills[0]!, digest: undefined }),
  ],
  [
    'a copied skill with another digest',
    /^Cannot take over the object/,
    async () => expectSkills([{ ...snapshotOf(SAMPLE).skills[0]!, digest: ABSENT }], ABSENT),
  ],
])('%s is a failure of the store that says what is the case', async (_, message, attempt) => {
  await using folder = await temporaryFolder()
  const state = join(folder.path, 'state')
  await mkdir(join(state))

  const failure: unknown = await attempt(state).catch((error: unknown) => error)

  expect(failure).toBeInstanceOf(SyncError)
  expect(failure).toMatchObject({ code: 'store-failed', message: expect.stringMatching(message) })
})

test('a file of a skill that is on another server, and was not fetched, is damaged', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(join(folder.path, 'state'))
  await keepSamples(store, SAMPLE)

  const reading = store.skills.read({ ...SAMPLE.stored, upstream: sourceId('hub') }, SAMPLE.stored.files[0]!)

  await expect(reading).rejects.toThrow(/from "hub": it is not fetched$/)
})

async function write(state: string, path: string, text: string): Promise<void> {
  await mkdir(join(state, 'logs'), { recursive: true })
  await writeFile(join(state, path), text)
}
