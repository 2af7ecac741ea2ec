import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { blocksIn } from '../../../../src/sync/skill/markdown/markdown-blocks.ts'
import { inlinesIn } from '../../../../src/sync/skill/markdown/markdown-inline.ts'
import { definitionsIn } from '../../../../src/sync/skill/markdown/markdown-links.ts'
import { tableIn } from '../../../../src/sync/skill/markdown/markdown-table.ts'

const PIECES = [
  'a',
  'Z',
  'word',
  ' ',
  '  ',
  '   ',
  '    ',
  '\t',
  '\n',
  '\n',
  '\n\n',
  '\r',
  '\r\n',
  '- ',
  '* ',
  '12. ',
  '1) ',
  '> ',
  '# ',
  '```',
  '~~~',
  '---',
  '===',
  '***',
  '| - |',
  'a | b',
  ':-:|-',
  '<div>',
  '</pre>',
  '<pre>',
  '<!--',
  '-->',
  '?>',
  '<b>',
  '[a]: b',
]
const markdown = fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((pieces) => pieces.join(''))

test('which letter a line begins with changes no block', () => {
  const law = fc.property(markdown, (text) => {
    const other = text.replaceAll(/(?<=^|[\r\n])( *)[A-Za-z]/g, '$1é')

    expect([...blocksIn(other, 0)]).toEqual([...blocksIn(text, 0)])
  })

  fc.assert(law, { numRuns: 5_000 })
})

test('each end of a line counts alike', () => {
  const textsOf = (text: string) =>
    Array.from(blocksIn(text, 0), ({ kind, lines }) => [kind, lines.map(({ start, end }) => text.slice(start, end))])
  const law = fc.property(markdown, (text) => {
    expect(textsOf(text)).toEqual(textsOf(text.replaceAll(/\r\n?/g, '\n')))
  })

  fc.assert(law, { numRuns: 2_000 })
})

test('text without brackets, angle brackets and bars has nothing in it but code', () => {
  const mark = fc.constantFrom('a', ' ', '\n', ']', '>', '(', ')', '!', '`', '\\', '"', ':', '-', '^', '](', ']: ')
  const law = fc.property(fc.array(mark, { maxLength: 40 }), (marks) => {
    const text = marks.join('')

    expect(definitionsIn(text)).toEqual({ defined: [], end: 0 })
    expect(tableIn(text)).toBeUndefined()
    expect([...inlinesIn(text, 0)].filter(({ kind }) => kind !== 'code')).toEqual([])
  })

  fc.assert(law, { numRuns: 2_000 })
})
