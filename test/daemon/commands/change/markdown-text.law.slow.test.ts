import * as fc from 'fast-check'
import MarkdownIt from 'markdown-it'
import { expect, test } from 'vitest'
import { codeSpan, diffBlock } from '../../../../src/daemon/commands/change/pull-request-text.ts'
import { hiddenIn } from '../../../../src/sync/skill/hidden-unicode.ts'
import { lawRuns } from '../../../support/law-runs.ts'
import { hostile } from './hostile.ts'

const READER = new MarkdownIt({ html: true, linkify: true })
const RUNS = { numRuns: lawRuns(10_000, 0.05) }

test('no text leaves its code span', () => {
  fc.assert(
    fc.property(hostile(), (text) => {
      const inline = READER.parse(`- before ${codeSpan(text)} after`, {}).filter(({ type }) => type === 'inline')

      const types = inline.map(({ children }) => children?.map(({ type }) => type))
      expect(types).toEqual([codeSpan(text) === '(empty)' ? ['text'] : ['text', 'code_inline', 'text']])
      expect(hiddenIn(codeSpan(text))).toBeUndefined()
    }),
    RUNS,
  )
})

test('no line leaves its block, and no invisible character stays one', () => {
  fc.assert(
    fc.property(fc.array(hostile(), { maxLength: 20 }), (lines) => {
      const block = diffBlock(lines, 10)
      const tokens = READER.parse(`${block}\n\nafter`, {})
      const after = lines.length > 10 ? 2 : 1

      expect(tokens.map(({ type }) => type)).toEqual([
        'fence',
        ...Array.from({ length: after }, () => ['paragraph_open', 'inline', 'paragraph_close']).flat(),
      ])
      expect(hiddenIn(block.replaceAll('\t', ''))).toBeUndefined()
    }),
    RUNS,
  )
})
