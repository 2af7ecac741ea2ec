import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isObjectId } from '../../../src/sync/model/revision.ts'
import { isSourceId } from '../../../src/sync/model/source-id.ts'
import { isSyncErrorCode, mendOf } from '../../../src/sync/model/sync-error.ts'
import { isSkillName } from '../../../src/sync/skill/skill-name.ts'

describe.each([
  ['a skill', isSkillName],
  ['a source', isSourceId],
])('the name of %s', (_, isName: (text: string) => boolean) => {
  test.each(['a', '1', '1up', 'pdf', 'pdf-processing', 'a-b-c-1', 'x'.repeat(64), '0'])('may be %j', (name) => {
    expect(isName(name)).toBe(true)
  })

  const wrong = [
    '',
    '-',
    '-a',
    'a-',
    'a--b',
    'A',
    'a b',
    ' a',
    'a ',
    'a\n',
    '\na',
    'a_b',
    'a.b',
    'a/b',
    'a\\b',
    '.',
    '..',
  ]
  const odd = ['ä', '\u{0430}', 'a\u{200B}', 'a\u{2011}b', '\u{FF41}', 'x'.repeat(65), 'a\0', '__proto__', 'SKILL.md']
  test.each([...wrong, ...odd])('is not %j', (name) => {
    expect(isName(name)).toBe(false)
  })

  test('is letters and digits in groups, one hyphen between two, 64 characters at most', () => {
    const near = fc.string({ unit: fc.constantFrom('a', 'z', '0', '9', '-', '-', 'A', ' '), maxLength: 70 })

    fc.assert(
      fc.property(near, (text) => {
        const isGroups = text.split('-').every((group) => /^[az09]+$/.test(group))

        expect(isName(text)).toBe(isGroups && text.length <= 64)
      }),
      { numRuns: 1000 },
    )
  })
})

test.each(['a'.repeat(39), 'a'.repeat(41), 'A'.repeat(40), 'g'.repeat(40), `${'a'.repeat(40)}\n`, '', 'a'.repeat(63)])(
  '%j is no object id',
  (text) => {
    expect(isObjectId(text)).toBe(false)
    expect(isObjectId('0123456789abcdef'.repeat(3).slice(0, 40))).toBe(true)
    expect(isObjectId('0123456789abcdef'.repeat(4))).toBe(true)
  },
)

test('no word that every object knows is an error code', () => {
  expect(['constructor', 'toString', '__proto__', ''].filter(isSyncErrorCode)).toEqual([])
  expect(mendOf({ code: 'store-failed' })).not.toBe('')
})
