import { describe, expect, test } from 'vitest'
import { OF_SOURCES } from './of-sources.ts'
import { offeredFix } from './offered.ts'
import { reproduce } from './reproduction.ts'

describe.each(Object.entries(OF_SOURCES))('%s', (code, reproduction) => {
  test.each(Object.entries(reproduction.ways))('is gone after what its fix says: %s', async (...way) => {
    const after = await reproduce(offeredFix(`problem of a source: ${code}`), reproduction, way)

    expect(after.status, after.text).toBe(0)
    expect(after.text).not.toContain(`(${code})`)
  })
})
