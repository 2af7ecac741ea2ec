import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { installNames } from '../../src/serve/install-names.ts'
import { atOnce } from '../../src/sync/model/slices.ts'
import { isSkillName } from '../../src/sync/model/skill-name.ts'
import { uriOf } from '../../src/sync/model/skill-uri.ts'
import type { CatalogSkill } from '../../src/sync/model/catalog-entry.ts'

/** As much of a skill as its name depends on. */
function skillAt(source: string, path: string): CatalogSkill {
  const root = uriOf(source, path)
  return { name: path.split('/').at(-1), root, uri: `${root}/SKILL.md` } as CatalogSkill
}

function named(...places: readonly (readonly [string, string])[]): Record<string, string> {
  const names = atOnce(installNames(places.map(([source, path]) => skillAt(source, path))))
  return Object.fromEntries([...names].map(([name, { root }]) => [name, root]))
}

const MARK = /^(.+)-[0-9a-f]{16}$/

const SEGMENT = fc.oneof(
  fc.constantFrom('pdf', 'a', 'b', 'a-pdf', 'x'.repeat(64)),
  fc.string({ minLength: 1, maxLength: 80 }),
)
const FOLDER = SEGMENT.filter((text) => text.isWellFormed() && !/[/\\\0]/.test(text) && text !== '.' && text !== '..')
const NAME = fc.constantFrom('pdf', 'a-pdf', 'b-pdf', 'a-b-pdf', 'n'.repeat(64))
const PLACE = fc.tuple(fc.constantFrom('a', 'b', 'a-b', 's'.repeat(64)), fc.array(FOLDER, { maxLength: 3 }), NAME)
const PLACES = fc.uniqueArray(PLACE, { selector: (one) => JSON.stringify(one), maxLength: 12 })

test('a name that one skill has is its own, wherever the skill lies', () => {
  expect(named(['a', 'pdf'], ['b', 'office/docx'])).toEqual({ pdf: 'skill://a/pdf', docx: 'skill://b/office/docx' })
})

test('a name that several skills have is nobody’s: each is called after its source and path', () => {
  expect(named(['a', 'pdf'], ['b', 'pdf'], ['b', 'Old Ones/pdf'])).toEqual({
    'a-pdf': 'skill://a/pdf',
    'b-pdf': 'skill://b/pdf',
    'b-old-ones-pdf': 'skill://b/Old%20Ones/pdf',
  })
})

test('two skills whose qualified names are one are told apart by a mark', () => {
  const names = named(['b', 'x.y/pdf'], ['b', 'x-y/pdf'])

  expect(Object.keys(names).map((name) => MARK.exec(name)?.[1])).toEqual(['b-x-y-pdf', 'b-x-y-pdf'])
})

test('a skill that is called as another one could be takes nothing from it', () => {
  const clash = [
    ['a', 'pdf'],
    ['b', 'pdf'],
  ] as const
  const [qualified] = Object.keys(named(...clash))

  const names = named(...clash, ['c', 'a-pdf'])

  expect(qualified).toBe('a-pdf')
  expect(names).not.toHaveProperty('a-pdf')
  expect(names['c-a-pdf']).toBe('skill://c/a-pdf')
  expect(Object.keys(names).map((name) => MARK.exec(name)?.[1])).toContain('a-pdf')
})

test('whatever skill comes to the others, no name leads to another skill than before', () => {
  fc.assert(
    fc.property(PLACES, (drawn) => {
      const skills = drawn.map(([source, folders, last]) => skillAt(source, [...folders, last].join('/')))
      const before = atOnce(installNames(skills.slice(1)))

      const after = atOnce(installNames(skills))

      for (const [name, { root }] of before) expect([undefined, root]).toContain(after.get(name)?.root)
    }),
    { numRuns: 500 },
  )
})

test('every skill has one name, which installers take, and the order of the skills does not matter', () => {
  fc.assert(
    fc.property(PLACES, (drawn) => {
      const skills = drawn.map(([source, folders, last]) => skillAt(source, [...folders, last].join('/')))

      const names = atOnce(installNames(skills))

      expect(new Set(names.values())).toEqual(new Set(skills))
      expect(names.size).toBe(skills.length)
      expect([...names.keys()].filter((key) => !isSkillName(key))).toEqual([])
      const again = atOnce(installNames(skills.toReversed()))
      expect(Object.fromEntries(again)).toEqual(Object.fromEntries(names))
    }),
  )
})
