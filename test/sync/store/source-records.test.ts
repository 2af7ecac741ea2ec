import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { recordAt } from '../../../src/sync/store/source-records.ts'
import type { SourceRecord } from '../../../src/sync/store/source-records.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { snapshotOf, sourceId } from './samples.ts'

const TEAM = sourceId('team')
const LOCKED = 'b'.repeat(40)
const NEVER = { lastAttempt: undefined, lastSuccess: undefined, problem: undefined, revision: undefined }

const RECORD: SourceRecord = {
  url: 'https://git.example.com/skills.git',
  lastAttempt: '2026-01-02T03:04:05.006Z',
  lastSuccess: undefined,
  problem: { code: 'rate-limited', message: 'Cannot reach "team": asked to wait', fix: 'Wait', place: 'url' },
  revision: snapshotOf().revision,
}

test('a record reads back equal, and a source without one has none', async () => {
  await using folder = await temporaryFolder()
  const { records } = await Store.open(folder.path)

  await records.write(TEAM, RECORD)

  expect(await records.read(TEAM)).toEqual(RECORD)
  expect(await records.read(sourceId('other'))).toBeUndefined()
})

test('a record is of the place that it names, and one that names none is of the place', () => {
  const { url: _, ...older } = RECORD
  const followed = { commit: 'a'.repeat(40), ref: 'refs/heads/main' } as unknown as SourceRecord['followed']

  expect(recordAt(RECORD, { url: RECORD.url! })).toBe(RECORD)
  expect(recordAt(older, { url: RECORD.url! })).toBe(older)
  expect(recordAt({ ...RECORD, followed }, { url: 'https://git.example.com/moved.git' })).toMatchObject({
    followed,
    lastAttempt: undefined,
    problem: undefined,
  })
})

test('the last of many records stays', async () => {
  await using folder = await temporaryFolder()
  const { records } = await Store.open(folder.path)
  await records.write(TEAM, RECORD)

  await records.write(TEAM, { ...RECORD, problem: undefined, lastSuccess: RECORD.lastAttempt })

  expect(await records.read(TEAM)).toMatchObject({ problem: undefined, lastSuccess: RECORD.lastAttempt })
})

test.each([
  ['is cut off', '{"lastAttempt":"2026'],
  ['is a list', '[]'],
  ['has an address that is none', JSON.stringify({ ...RECORD, url: 1 })],
  ['has a time that is none', JSON.stringify({ ...RECORD, lastSuccess: '2026-99-99T03:04:05.006Z' })],
  ['has a code that no version of us knows', JSON.stringify({ ...RECORD, problem: { code: 'bored', message: '' } })],
  ['has a commit that is none', JSON.stringify({ ...RECORD, revision: { ref: 'main', commit: 'HEAD' } })],
])('a record that %s is no record, but keeps the commit of the lock', async (_, text) => {
  await using folder = await temporaryFolder()
  const { records } = await Store.open(folder.path)

  const file = join(folder.path, 'sources', 'team.json')
  await writeFile(file, text)

  expect(await records.read(TEAM)).toBeUndefined()
  if (!text.endsWith('}')) return
  await writeFile(file, text.replace(/}$/, `,"locked":"${LOCKED}"}`))

  expect(await records.read(TEAM)).toEqual({ ...NEVER, locked: LOCKED })
})
