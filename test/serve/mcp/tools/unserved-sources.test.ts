import { expect, test } from 'vitest'
import { emptyReason } from '../../../../src/serve/mcp/tools/tools.ts'
import { saidLacking, saidOffers } from '../../../../src/serve/mcp/tools/unserved-sources.ts'
import type { UnservedSources } from '../../../../src/serve/mcp/tools/unserved-sources.ts'
import { catalogOf } from '../../../sync/catalog/catalogs.ts'

const FORTY: UnservedSources = {
  count: 40,
  named: Array.from({ length: 16 }, (_, index) => ({ source: `s${index}`, why: 'dns-failed' })),
}
const NONE: UnservedSources = { count: 0, named: [] }

test('of many sources that are missing three are named, and the others counted', () => {
  const { content } = saidLacking({ content: [] }, FORTY)

  const told = ['s0', 's1', 's2'].map((source) => `"${source}" cannot be reached at the moment`)
  expect(content).toEqual([
    {
      type: 'text',
      text: `This answer lacks the skills of sources that have served nothing yet: ${told.join('; ')}; and 37 more.`,
    },
  ])
})

test('where none is missing, or the host does not say, the answer stays as it is', () => {
  const answer = { content: [], structuredContent: {} }

  expect(saidLacking(answer, NONE)).toBe(answer)
  expect(saidLacking(answer, undefined)).toBe(answer)
})

test('an empty list counts the sources that it does not name', () => {
  expect(emptyReason(catalogOf(), FORTY)).toContain('; 30 more sources have none.')
})

test('where no server offers more, nothing is said of it', () => {
  const answer = { content: [], structuredContent: {} }

  expect(saidOffers(answer, { snapshots: [] })).toBe(answer)
})
