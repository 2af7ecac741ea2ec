import { expect, test } from 'vitest'
import { committedSeconds, objectIdOf } from '../../../../src/sync/upstream/objects/git-object.ts'
import { hashOf } from '../sample.ts'

test.each(['sha1', 'sha256'] as const)('the id of an object is the hash of git, whatever its size (%s)', (format) => {
  const sizes = [0, 2 ** 15 + 1, 1, 2 ** 15, 9, 2 ** 15 - 1, 100_000, 10]

  for (const size of sizes) {
    const bytes = Buffer.alloc(size, `${size} bytes, `)
    for (const type of ['commit', 'blob'] as const)
      expect(objectIdOf({ type, bytes }, format)).toBe(hashOf(type, bytes, format))
  }
})

test.each([
  ['A <a@b.c> 1700000000 +0100', 1_700_000_000],
  ['A <a@b.c> 1700000000 -700', 1_700_000_000],
  ['A <a@b.c>1700000000 +0000', 1_700_000_000],
  ['A <a>b@c> 1700000000 +051800', 1_700_000_000],
  ['A <a@b.c>', undefined],
  ['A <a@b.c> 1700000000', undefined],
  ['A 1700000000 +0000', undefined],
])('the date of a commit by %j is what git reads', (person, expected) => {
  const commit = `tree ${'0'.repeat(40)}\nauthor A <a@b.c> 1 +0000\ncommitter ${person}\n\ncommitter A <a@b.c> 2 +0000\n`

  expect(committedSeconds(Buffer.from(commit))).toBe(expected)
})
