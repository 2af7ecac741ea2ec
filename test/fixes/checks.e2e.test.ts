import { describe, expect, test } from 'vitest'
import { OF_CHECKS } from './of-checks.ts'
import { offeredFix } from './offered.ts'
import { reproduce } from './reproduction.ts'

describe.each(Object.entries(OF_CHECKS))('%s', (name, reproduction) => {
  test.each(Object.entries(reproduction.ways))('is gone after what its fix says: %s', async (...way) => {
    const offered = offeredFix(name)

    const after = await reproduce(offered, reproduction, way)

    expect(after.status, after.text).toBe(0)
    expect(after.text).not.toContain(offered.code)
  })
})
