import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { listResources } from '../../../../src/serve/mcp/resources/resources.ts'
import { pageOf, type PageLimits } from '../../../../src/serve/mcp/rpc/pagination.ts'
import { RpcError } from '../../../../src/serve/mcp/rpc/rpc-error.ts'
import { EMPTY_CATALOG } from '../../../../src/sync/catalog/catalog.ts'
import { formsOf } from '../../../support/clients/forms.ts'
import { skillText } from '../../../support/git/scripted-upstream.ts'
import { catalogOf } from '../../../sync/catalog/catalogs.ts'
import { surveyed } from '../../../sync/survey/surveyed.ts'

/** Numbers that are as large as they say. */
const sizeOf = (item: number): number => item
const listing = { catalog: EMPTY_CATALOG, of: 'skills/list' }
const moved = { ...listing, catalog: { ...EMPTY_CATALOG, digest: 'of another generation' } }
const limits: PageLimits = { entries: 2, bytes: 1000 }

/** Every page, following the cursors. */
function pagesOf(items: readonly number[], limits: PageLimits): number[][] {
  const pages: number[][] = []
  let cursor: string | undefined
  do {
    const page = pageOf(items, listing, { cursor, limits, sizeOf })
    pages.push(page.items)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return pages
}

describe('the pages of any listing', () => {
  const items = fc.array(fc.nat(30), { maxLength: 60 })
  const anyLimits = fc.record({ entries: fc.integer({ min: 1, max: 20 }), bytes: fc.nat(100) })

  test('hold each item once, in its order', () => {
    fc.assert(
      fc.property(items, anyLimits, (items, limits) => {
        expect(pagesOf(items, limits).flat()).toEqual(items)
      }),
      { numRuns: 1000 },
    )
  })

  test('keep to both limits but for an item that alone is larger, and none but the first is empty', () => {
    fc.assert(
      fc.property(items, anyLimits, (items, limits) => {
        const pages = pagesOf(items, limits)

        for (const page of pages) {
          expect(page.length).toBeLessThanOrEqual(limits.entries)
          const bytes = page.reduce((sum, item) => sum + item, 0)
          expect(bytes <= limits.bytes || page.length === 1).toBe(true)
        }
        expect(pages.slice(1).every((page) => page.length > 0)).toBe(true)
      }),
      { numRuns: 1000 },
    )
  })

  test('are no more than the limits ask for', () => {
    fc.assert(
      fc.property(items, anyLimits, (items, limits) => {
        const pages = pagesOf(items, limits)

        for (const [index, page] of pages.slice(0, -1).entries()) {
          const fits = page.reduce((sum, item) => sum + item, 0) + (pages[index + 1]?.[0] ?? 0) <= limits.bytes
          expect(page.length === limits.entries || !fits).toBe(true)
        }
      }),
      { numRuns: 1000 },
    )
  })
})

test('a listing of nothing is one empty page without a cursor', () => {
  expect(pageOf([], listing, { cursor: undefined, limits, sizeOf })).toEqual({ items: [] })
})

test('a cursor leads to the same page again while the catalog is the same', () => {
  const { nextCursor } = pageOf([1, 2, 3], listing, { cursor: undefined, limits, sizeOf })

  const pages = [1, 2].map(() => pageOf([1, 2, 3], { ...listing }, { cursor: nextCursor, limits, sizeOf }))

  expect(pages).toEqual([{ items: [3] }, { items: [3] }])
})

describe('a cursor is refused', () => {
  const items = [1, 2, 3, 4, 5]
  const { nextCursor = '' } = pageOf(items, listing, { cursor: undefined, limits, sizeOf })
  const seal = nextCursor.slice(0, nextCursor.indexOf('.'))

  test('after the catalog has moved, and in another listing', () => {
    expect(() => pageOf(items, moved, { cursor: nextCursor, limits, sizeOf })).toThrow(RpcError)
    expect(() => pageOf(items, { ...listing, of: 'resources/list' }, { cursor: nextCursor, limits, sizeOf })).toThrow(
      RpcError,
    )
    expect(pageOf(items, listing, { cursor: nextCursor, limits, sizeOf }).items).toEqual([3, 4])
  })

  test.each(
    [
      ['', 'zzz', '.', '..', seal, `${seal}.`, `${seal}.0`, `${seal}.-1`, `${seal}.1.5x`.slice(0, -3) + 'A'],
      [
        `${seal}.5`,
        `${seal}.6`,
        `${seal}.zzzzzzzz`,
        `${seal}. 2`,
        `${seal}.2 `,
        ` ${seal}.2`,
        `${seal.toUpperCase()}.2`,
        '.2',
      ],
      [null, 5, true, {}, [], [nextCursor], { toString: () => nextCursor }],
    ].flat(),
  )('where it is %j, which skillsyncd did not make', (cursor) => {
    const asked = () => pageOf(items, listing, { cursor, limits, sizeOf })

    expect(asked).toThrow(expect.objectContaining({ name: 'RpcError', code: -32602 }))
  })

  test('whatever text it is, or leads on in the listing', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.string().map((text) => `${seal}.${text}`),
    )

    fc.assert(
      fc.property(texts, (cursor) => {
        expect(['a page', 'RpcError']).toContain(answerTo(cursor))
      }),
      { numRuns: 1000 },
    )
  })
})

function answerTo(cursor: string): string {
  try {
    return pageOf([1, 2, 3, 4, 5], listing, { cursor, limits, sizeOf }).items.length > 0 ? 'a page' : 'an empty page'
  } catch (error) {
    return error instanceof RpcError ? error.name : 'a fault'
  }
}

test('a cursor of resources/list is of no use once the list holds other things', async () => {
  const catalog = catalogOf(await surveyed({ 'a/SKILL.md': skillText('a'), 'b/SKILL.md': skillText('b') }))
  const limits = { entries: 1, bytes: 1_000 }
  const forms = formsOf({ resources: { list: 'files' } })

  const { nextCursor } = Object(await listResources(catalog, forms, undefined, limits))

  await expect(listResources(catalog, forms, nextCursor, limits)).resolves.toBeDefined()
  await expect(listResources(catalog, formsOf(), nextCursor, limits)).rejects.toThrow(
    /^The cursor is not one of this listing/,
  )
})
