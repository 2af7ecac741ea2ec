import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runNow } from '../../../src/base/async/cooperative.ts'
import type { CatalogSkill, FolderSkill } from '../../../src/sync/catalog/catalog-file.ts'
import { installNames } from '../../../src/sync/catalog/install-names.ts'
import type { InstallableSkill } from '../../../src/sync/catalog/install-names.ts'
import { uriOf } from '../../../src/sync/model/uris/skill-uri.ts'
import { isSkillName } from '../../../src/sync/skill/skill-name.ts'

/** As much of a skill as its name depends on. Its content is its own where nothing else is said. */
function skillAt(source: string, path: string, digest?: string): CatalogSkill {
  const root = uriOf(source, path)
  const name = path.split('/').at(-1)
  const skill = { name, digest: digest ?? root }
  return { source, name, root, uri: `${root}/SKILL.md`, digest: skill.digest, skill } as CatalogSkill
}

function rootOf(skill: InstallableSkill): string {
  return skill.uri === undefined ? `${skill.source}/${skill.skill.path}` : skill.root
}

function named(...places: readonly (readonly [string, string])[]): Record<string, string> {
  const { listed } = runNow(installNames(places.map(([source, path]) => skillAt(source, path))))
  return Object.fromEntries([...listed].map(([name, skill]) => [name, rootOf(skill)]))
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
      const before = runNow(installNames(skills.slice(1)))

      const after = runNow(installNames(skills))

      for (const [name, skill] of before.listed) {
        const now = after.listed.get(name)
        expect([undefined, rootOf(skill)]).toContain(now && rootOf(now))
      }
    }),
    { numRuns: 500 },
  )
})

test('every skill has one name, which installers take, and the order of the skills does not matter', () => {
  fc.assert(
    fc.property(PLACES, (drawn) => {
      const skills = drawn.map(([source, folders, last]) => skillAt(source, [...folders, last].join('/')))

      const names = runNow(installNames(skills))

      expect(new Set(names.listed.values())).toEqual(new Set(skills))
      expect(names.listed.size).toBe(skills.length)
      expect(names.besides.size).toBe(0)
      expect([...names.listed.keys()].filter((key) => !isSkillName(key))).toEqual([])
      const again = runNow(installNames(skills.toReversed()))
      expect(Object.fromEntries(again.listed)).toEqual(Object.fromEntries(names.listed))
    }),
  )
})

test('a name whose bearers have one content is that content, and the names that they would have alone lead to it too', () => {
  const places = [
    skillAt('b', 'pdf', '1'),
    skillAt('a', 'pdf', '1'),
    skillAt('a', 'old/pdf', '1'),
    skillAt('c', 'docx', '2'),
  ]

  const { listed, besides, places: shared } = runNow(installNames(places))

  const roots = Object.fromEntries([...listed].map(([name, skill]) => [name, rootOf(skill)]))
  expect(roots).toEqual({ docx: 'skill://c/docx', pdf: 'skill://a/old/pdf' })
  expect([...besides.keys()].toSorted()).toEqual(['a-old-pdf', 'a-pdf', 'b-pdf'])
  const uris = ['a/old/pdf', 'a/pdf', 'b/pdf'].map((path) => `skill://${path}/SKILL.md`)
  expect(Object.fromEntries(shared)).toEqual({ pdf: uris })
})

test('what an MCP server says to have stands for nobody else’s skill, though its digest is the same', () => {
  const own = skillAt('b', 'pdf', '1')
  const declared = { ...skillAt('a', 'pdf', '1'), skill: { ...own.skill, upstream: { source: 'a', uri: 'x' } } }

  const { listed, places } = runNow(installNames([own, declared as CatalogSkill]))

  expect([...listed.keys()]).toEqual(['b-pdf', 'a-pdf'])
  expect(places.size).toBe(0)
})

test('whatever copy or other skill comes to the others, each name leads to the content of before or to none', () => {
  const digest = fc.constantFrom('1', '2')
  fc.assert(
    fc.property(PLACES, fc.array(digest, { minLength: 12, maxLength: 12 }), (drawn, digests) => {
      const skills = drawn.map(([source, folders, last], at) =>
        skillAt(source, [...folders, last].join('/'), `${last} ${digests[at]}`),
      )
      const before = runNow(installNames(skills.slice(1)))

      const after = runNow(installNames(skills))

      const [was, is] = [before, after].map(({ listed, besides }) => new Map([...besides, ...listed]))
      for (const [name, { digest: content }] of was!) expect([undefined, content]).toContain(is!.get(name)?.digest)
      expect([...after.besides.keys()].filter((name) => after.listed.has(name))).toEqual([])
      expect(new Set([...after.listed.values()].map((one) => one.digest))).toEqual(
        new Set(skills.map((one) => one.digest)),
      )
      const again = runNow(installNames(skills.toReversed()))
      expect(Object.fromEntries(again.listed)).toEqual(Object.fromEntries(after.listed))
    }),
    { numRuns: 500 },
  )
})

/** One for tools alone, whose folder is the last segment of its path. */
function folderSkillAt(source: string, path: string, digest?: string): FolderSkill {
  const skill = { path, name: 'No Name', digest: digest ?? `${source}/${path}` }
  return { uri: undefined, source, name: path.split('/').at(-1), digest: skill.digest, skill } as FolderSkill
}

describe('a skill for tools alone', () => {
  test('is called after its folder, and takes no name from the lists of its source', () => {
    const folderSkills = [folderSkillAt('a', 'x/pdf'), folderSkillAt('a', 'x/docx')]

    const { listed } = runNow(installNames([skillAt('a', 'pdf')], folderSkills))

    expect(Object.fromEntries([...listed].map(([name, skill]) => [name, rootOf(skill)]))).toEqual({
      pdf: 'skill://a/pdf',
      'a-x-pdf': 'a/x/pdf',
      docx: 'a/x/docx',
    })
  })

  test('of another source shares its name with none of the lists', () => {
    const { listed } = runNow(installNames([skillAt('a', 'pdf')], [folderSkillAt('b', 'x/pdf')]))

    expect([...listed.keys()].toSorted()).toEqual(['a-pdf', 'b-x-pdf'])
  })

  test('is left out where its content is had by another name', () => {
    const own = { ...skillAt('a', 'pdf', '1'), skill: { name: 'No Name', digest: '1' } } as CatalogSkill
    const copies = [
      folderSkillAt('b', 'x/one', '1'),
      folderSkillAt('c', 'x/two', '2'),
      folderSkillAt('b', 'x/two', '2'),
    ]

    const { listed } = runNow(installNames([own], copies))

    expect([...listed].map(([name, { source }]) => [name, source])).toEqual([
      ['pdf', 'a'],
      ['two', 'b'],
    ])
  })

  test('has one name, which installers take, whatever others there are, and takes no content from any name of another source', () => {
    fc.assert(
      fc.property(PLACES, PLACES, (drawn, others) => {
        const [inLists, folders] = [drawn, others].map((places) =>
          places.map(([source, path, last]) => [source, [...path, last].join('/')] as const),
        )
        const skills = inLists!.map(([source, path]) => skillAt(source, path))
        const folderSkills = folders!.map(([source, path]) => folderSkillAt(source, path))
        const before = runNow(installNames(skills.slice(1), folderSkills))

        const after = runNow(installNames(skills, folderSkills))

        expect(after.listed.size).toBe(skills.length + folderSkills.length)
        expect([...after.listed.keys()].filter((key) => !isSkillName(key))).toEqual([])
        for (const [name, skill] of before.listed) {
          const now = after.listed.get(name)
          const isSame = now === undefined || rootOf(now) === rootOf(skill)
          expect(isSame || now.source === skill.source).toBe(true)
        }
        const again = runNow(installNames(skills.toReversed(), folderSkills.toReversed()))
        expect(Object.fromEntries(again.listed)).toEqual(Object.fromEntries(after.listed))
      }),
      { numRuns: 500 },
    )
  })
})
