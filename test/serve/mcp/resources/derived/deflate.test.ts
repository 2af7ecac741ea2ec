import { inflateRawSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { deflateBytes } from '../../../../../src/serve/mcp/resources/derived/deflate.ts'

test.for([0, 1, 32_767, 32_768, 32_769, 65_536])('%i bytes are whole after they are inflated', async (length) => {
  const bytes = Buffer.from(Array.from({ length }, (_, index) => (index * index) % 251))

  expect(inflateRawSync(await deflateBytes(bytes)).equals(bytes)).toBe(true)
})
