import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { CacheHints } from '../../../../src/features/mcp-sources/upstream/cache-hints.ts'

const said = fc.record({
  method: fc.constantFrom('skills/list', 'resources/list', 'resources/read'),
  ttlMs: fc.oneof(fc.integer(), fc.double(), fc.string(), fc.constant(undefined)),
  cacheScope: fc.constantFrom('public', 'private', undefined, 5),
})

test('whatever its answers say, a listing is fresh for no longer than any page of it says, and for a day at most', () => {
  fc.assert(
    fc.property(fc.array(said), (answers) => {
      const hints = heard(answers)

      const pages = answers.filter(({ method }) => method === 'skills/list')
      const figures = pages.map(({ ttlMs }) => (typeof ttlMs === 'number' && ttlMs > 0 ? ttlMs : 0))
      expect(hints.ttlMs).toBe(pages.length === 0 ? 0 : Math.min(86_400_000, ...figures))
    }),
  )
})

test('one answer that is private makes the whole private', () => {
  fc.assert(
    fc.property(fc.array(said), (answers) => {
      expect(heard(answers).isPrivate).toBe(answers.some(({ cacheScope }) => cacheScope === 'private'))
    }),
  )
})

function heard(answers: readonly { readonly method: string; readonly ttlMs: unknown; readonly cacheScope: unknown }[]) {
  const hints = new CacheHints()
  for (const { method, ttlMs, cacheScope } of answers) hints.hear(method, { ttlMs, cacheScope })
  return hints
}
