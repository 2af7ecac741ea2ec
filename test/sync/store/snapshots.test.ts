import { createHash } from 'node:crypto'
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Snapshot } from '../../../src/sync/model/snapshot.ts'
import { canonicalJson, canonicalPieces, jsonOf } from '../../../src/sync/store/json.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { SlowValues } from '../../support/slow-values.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { numbered, snapshotOf } from './samples.ts'

test('a snapshot reads back equal, from a file that is named by its own bytes', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const snapshot = snapshotOf(numbered(1), numbered(2))

  const digest = await store.snapshots.keep(snapshot)

  const bytes = await readFile(join(folder.path, 'snapshots', `${digest}.json`))
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(digest)
  expect(await store.snapshots.read(digest)).toEqual(snapshot)
  expect(await store.snapshots.has(digest)).toBe(true)
})

test('a snapshot is written in pieces, and others have the thread between skills that take long', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const snapshot = snapshotOf(...[1, 2, 3].map(numbered))
  const slow = new SlowValues()
  const skills = snapshot.skills.map((skill) => slow.of(skill))

  const kept = store.snapshots.keep({ ...snapshot, skills })
  const turns = await slow.turnsUntil(kept)

  expect(turns).toBeGreaterThan(1)
  expect(await kept).toBe(digestOf(snapshot))
})

test.each<readonly [string, (file: string) => Promise<unknown>]>([
  ['is as it was', async () => {}],
  ['was written to', (file) => writeFile(file, 'x'.repeat(10_000))],
  ['has one other byte', async (file) => writeFile(file, (await readFile(file, 'utf8')).replace('skill-1', 'skill-9'))],
  ['cannot be read', (file) => rm(file).then(() => mkdir(file))],
  ['is gone', (file) => rm(file)],
])('a snapshot that shares skills with one whose file %s is written as if it shared none', async (_, happens) => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const earlier = snapshotOf(numbered(1), numbered(2), numbered(3))
  const [first, , third] = earlier.skills
  const next = { ...earlier, skills: [numbered(0).skill, first!, third!, numbered(4).skill] }
  const kept = await store.snapshots.keep(earlier)
  await happens(join(folder.path, 'snapshots', `${kept}.json`))

  const digest = await store.snapshots.keep(next)
  const last = await store.snapshots.keep({ ...next, skills: [first!, next.skills[0]!] })

  expect(digest).toBe(digestOf(next))
  expect(last).toBe(digestOf({ ...next, skills: [first!, next.skills[0]!] }))
  expect(await store.snapshots.read(digest)).toEqual(next)
})

test('the pieces of a value are its one form', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const pieces = [...canonicalPieces(value)].map((piece) =>
        typeof piece === 'string' ? piece : jsonOf(piece.item),
      )
      expect(pieces.join('')).toBe(canonicalJson(value))
    }),
  )
})

test('equal snapshots are one file, in whatever order their keys were put in', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const snapshot = snapshotOf(numbered(1))
  const { source, url, ...rest } = snapshot
  const reordered = { ...rest, url, source }

  const digests = await Promise.all([store.snapshots.keep(snapshot), store.snapshots.keep(reordered)])

  expect(new Set(digests).size).toBe(1)
  expect(await readdir(join(folder.path, 'snapshots'))).toEqual([`${digests[0]}.json`])
})

test('a damaged snapshot is never given out, and keeping it again mends it', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const snapshot = snapshotOf(numbered(1))
  const digest = await store.snapshots.keep(snapshot)
  const file = join(folder.path, 'snapshots', `${digest}.json`)
  await writeFile(file, (await readFile(file, 'utf8')).replace('team', 'teem'))

  await expect(store.snapshots.read(digest)).rejects.toMatchObject({
    code: 'store-failed',
    message: `Cannot read the snapshot "${digest}": it is damaged`,
  })
  await store.snapshots.keep(snapshot)
  expect(await store.snapshots.read(digest)).toEqual(snapshot)
})

test('a snapshot that is not there is store-failed, and so is a name that is a path', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(folder.path)
  const digest = await store.snapshots.keep(snapshotOf())
  await rm(join(folder.path, 'snapshots', `${digest}.json`))

  for (const name of [digest, '../generations/1']) {
    await expect(store.snapshots.read(name)).rejects.toMatchObject({ code: 'store-failed' })
    expect(await store.snapshots.has(name)).toBe(false)
  }
})

test('canonical JSON and back is the identity, and the same bytes again', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = canonicalJson(value)

      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
      expect(canonicalJson(JSON.parse(text))).toBe(text)
    }),
  )
})

test('canonical JSON sorts every key, keeps a prototype name, and leaves out what has no value', () => {
  const value = { b: [{ z: 1, a: undefined }], a: null, 10: 1, '-': 2, ...JSON.parse('{"__proto__":3}') }
  Object.defineProperty(value, '__proto__', { value: 3, enumerable: true })

  expect(canonicalJson(value)).toBe('{"-":2,"10":1,"__proto__":3,"a":null,"b":[{"z":1}]}\n')
})

function digestOf(snapshot: Snapshot): string {
  return createHash('sha256').update(canonicalJson(snapshot)).digest('hex')
}
