import { expect, test } from 'vitest'
import { objectIdOf } from '../../../../../src/sync/upstream/git/objects/git-object.ts'
import { hashOf } from '../../sample.ts'

test.each(['sha1', 'sha256'] as const)('the id of an object is the hash of git, whatever its size (%s)', (format) => {
  const sizes = [0, 2 ** 15 + 1, 1, 2 ** 15, 9, 2 ** 15 - 1, 100_000, 10]

  for (const size of sizes) {
    const bytes = Buffer.alloc(size, `${size} bytes, `)
    for (const type of ['commit', 'blob'] as const)
      expect(objectIdOf({ type, bytes }, format)).toBe(hashOf(type, bytes, format))
  }
})
