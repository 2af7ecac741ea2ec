import * as fc from 'fast-check'
import MarkdownIt from 'markdown-it'
import { expect, test } from 'vitest'
import { MOST_BODY_CHARACTERS, pullRequestText } from '../../../../src/daemon/commands/change/pull-request-text.ts'
import type { PackMove, ReviewedMove } from '../../../../src/daemon/commands/change/pull-request-text.ts'
import type { BudgetDelta } from '../../../../src/sync/catalog/budget/budget-delta.ts'
import type { DocsReview, SkillReview } from '../../../../src/sync/model/changes/skill-review.ts'
import { hiddenIn } from '../../../../src/sync/skill/hidden-unicode.ts'
import { lawRuns } from '../../../support/law-runs.ts'
import { objectId } from '../../../sync/upstream/reached.ts'
import { hostile } from './hostile.ts'

const READER = new MarkdownIt({ html: true, linkify: true })

test('whatever others wrote is code, and the text keeps its limit and its bytes', () => {
  fc.assert(
    fc.property(sources(), packs(), fc.integer({ min: 2_000, max: MOST_BODY_CHARACTERS }), (moves, ofPacks, most) => {
      const review = { sources: moves, packs: ofPacks }

      const text = pullRequestText(review, most)

      expect(text.length).toBeLessThanOrEqual(most)
      expect(pullRequestText(structuredClone(review), most)).toBe(text)
      expect(hiddenIn(text.replaceAll('\t', ''))).toBeUndefined()
      expect(foreignWords(text)).toEqual([])
    }),
    { numRuns: lawRuns(4_000, 0.02) },
  )
})

/** The parts that a reader finds in the text besides code and fixed sentences, which have no such characters. */
function foreignWords(text: string): string[] {
  const tokens = READER.parse(text, {})
  const inline = tokens.flatMap(({ children }) => children ?? [])
  const plain = inline.filter(({ type }) => type === 'text').map(({ content }) => content)
  return [
    ...tokens.filter(({ type }) => !BLOCKS.test(type)).map(({ type }) => type),
    ...inline.filter(({ type }) => !INLINE.test(type)).map(({ type }) => type),
    ...plain.filter((words) => !/^[\w ,.:;()*+-]*$/.test(words)),
  ]
}

const BLOCKS = /^(?:heading|paragraph|bullet_list|list_item)_(?:open|close)$|^(?:inline|fence)$/
const INLINE = /^(?:text|code_inline|strong_open|strong_close)$/

function sources(): fc.Arbitrary<ReviewedMove[]> {
  const failed = fc.record({ source: hostile(), failure: fc.record({ code: hostile(), message: hostile() }) })
  return fc.array(fc.oneof(failed, moved()), { maxLength: 4 })
}

function moved(): fc.Arbitrary<ReviewedMove> {
  return fc.record({
    source: hostile(),
    url: hostile(),
    from: fc.option(revision('1'), { nil: undefined }),
    to: revision('2'),
    before: fc.nat(9),
    after: fc.nat(9),
    signers: fc.record({ before: fc.array(hostile(), { maxLength: 2 }), after: fc.array(hostile(), { maxLength: 2 }) }),
    docs: fc.option(docs(), { nil: undefined }),
    budget: fc.array(budgetDelta(), { maxLength: 2 }),
    skills: fc.array(skill(), { maxLength: 8 }),
  })
}

function budgetDelta(): fc.Arbitrary<BudgetDelta> {
  const cost = fc.nat(20_000)
  return fc.record({
    client: fc.constantFrom('claude-code', 'codex'),
    unit: fc.constantFrom('characters', 'tokens'),
    before: cost,
    after: cost,
    limit: cost,
  })
}

function revision(digit: string) {
  return hostile().map((ref) => ({ asked: undefined, ref, commit: objectId(digit.repeat(40)) }))
}

function skill(): fc.Arbitrary<SkillReview> {
  return fc.record({
    path: hostile(),
    name: hostile(),
    change: fc.constantFrom('added', 'changed', 'renamed', 'removed', 'no-longer-withheld', 'withheld'),
    notes: fc.array(note(), { maxLength: 5 }),
    files: fc.array(file(), { maxLength: 3 }),
  })
}

function docs(): fc.Arbitrary<DocsReview> {
  return fc.record({
    change: fc.constantFrom('added', 'changed', 'removed'),
    notes: fc.array(note(), { maxLength: 3 }),
    files: fc.array(file(), { maxLength: 3 }),
  })
}

function note(): fc.Arbitrary<SkillReview['notes'][number]> {
  return fc.record({
    isCritical: fc.boolean(),
    text: fc.constant('finding'),
    values: fc.array(hostile(), { maxLength: 3 }),
  })
}

function file(): fc.Arbitrary<SkillReview['files'][number]> {
  const lines = fc.array(hostile(), { maxLength: 150 })
  return fc.record({
    path: hostile(),
    change: fc.constantFrom('added', 'changed', 'mode', 'removed'),
    isProgram: fc.boolean(),
    size: fc.nat(),
    sha256: fc.constant('0'.repeat(64)),
    diff: fc.oneof(
      lines.map((changed) => ({ hunks: [{ from: 1, to: 1, lines: changed }] })),
      hostile().map((why) => ({ why })),
    ),
  })
}

function packs(): fc.Arbitrary<PackMove[]> {
  const texts = fc.array(hostile(), { maxLength: 3 })
  return fc.array(fc.record({ pack: hostile(), added: texts, removed: texts, lacks: texts }), { maxLength: 2 })
}
