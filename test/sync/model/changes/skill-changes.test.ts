import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  changeGroups,
  changesBetween,
  changesText,
  othersThan,
} from '../../../../src/sync/model/changes/skill-changes.ts'
import { comparePaths } from '../../../../src/sync/model/digest.ts'
import { withheldSkill } from '../../../../src/sync/model/skill.ts'
import type { Skill } from '../../../../src/sync/model/skill.ts'
import { numbered } from '../../store/samples.ts'

const ALL = [1, 2, 3, 4, 5, 6].map((number) => distinct(number))

/** Some of the skills, in the order of their paths; the same objects or, for those that are changed, others of the same path. */
const some = fc
  .array(fc.constantFrom<readonly boolean[]>([], [true], [false]), { minLength: 6, maxLength: 6 })
  .map((chosen) => {
    const skills = chosen.flatMap((is, index) =>
      is.map((isChanged) => (isChanged ? changed(ALL[index]!) : ALL[index]!)),
    )
    return skills.toSorted((a, b) => comparePaths(a.path, b.path))
  })

test('what is in both lists is passed over, and nothing else', () => {
  fc.assert(
    fc.property(some, some, (before, skills) => {
      expect(othersThan(before, skills)).toEqual(skills.filter((skill) => !before.includes(skill)))
    }),
  )
})

test('each skill that differs is named once by path and digest, whichever objects the skills are', () => {
  fc.assert(
    fc.property(some, some, (before, after) => {
      const [was, is] = [before, after].map((skills) => new Map(skills.map(({ path, digest }) => [path, digest])))

      const changes = changesBetween({ skills: before }, { skills: after })

      const expected = [...new Set([...was!.keys(), ...is!.keys()])].flatMap((path) => {
        if (!was!.has(path)) return [{ path, change: 'added' }]
        if (!is!.has(path)) return [{ path, change: 'removed' }]
        return was!.get(path) === is!.get(path) ? [] : [{ path, change: 'changed' }]
      })
      expect(changes.map(({ path, change }) => ({ path, change }))).toEqual(
        expected.toSorted((a, b) => comparePaths(a.path, b.path)),
      )
    }),
  )
})

describe('a skill that left one folder and came in another', () => {
  const [one, other, third] = [1, 2, 3].map((number) => distinct(number))

  test('is renamed if its bytes are the same', () => {
    expect(between([one!], [{ ...one!, path: 'moved' }])).toEqual([
      { change: 'renamed', count: 1, first: [{ path: 'moved', was: one!.path }] },
    ])
  })

  test('is renamed if only its description is the same, since a new name changes the bytes', () => {
    const renamed = { ...changed(one!), path: 'moved', name: 'moved' }

    expect(between([one!, other!], [other!, renamed])).toEqual([
      { change: 'renamed', count: 1, first: [{ path: 'moved', was: one!.path }] },
    ])
  })

  test('is added and removed if several could be meant', () => {
    const twin = changed(one!)

    expect(
      between(
        [one!],
        [
          { ...twin, path: 'twin-a' },
          { ...twin, path: 'twin-b' },
        ],
      ).map(({ change, count }) => [change, count]),
    ).toEqual([
      ['added', 2],
      ['removed', 1],
    ])
  })

  test('is another if neither is the same', () => {
    expect(between([one!], [third!]).map(({ change }) => change)).toEqual(['added', 'removed'])
  })
})

describe('a skill that is withheld', () => {
  const skill = distinct(1)
  const finding = {
    rule: 'description-missing',
    path: skill.path,
    message: 'The frontmatter has no description',
  } as const
  const broken = withheldSkill(skill, finding)
  const reason = { code: finding.rule, message: finding.message }

  test('is not removed: the reason is told, and later that it is over', () => {
    expect(between([skill], [broken])).toEqual([
      { change: 'withheld', count: 1, first: [{ path: skill.path, reason }] },
    ])
    expect(between([], [broken])).toEqual([{ change: 'withheld', count: 1, first: [{ path: skill.path, reason }] }])
    expect(between([broken], [skill])).toEqual([
      { change: 'no-longer-withheld', count: 1, first: [{ path: skill.path }] },
    ])
  })

  test('is no news as long as it stays withheld, and none when it goes', () => {
    expect(between([broken], [{ ...broken }])).toEqual([])
    expect(between([broken], [])).toEqual([])
  })
})

test('the first ten of each kind are named, and all are counted', () => {
  const skills = Array.from({ length: 23 }, (_, number) => distinct(number + 1))

  const [group] = between([], skills)

  expect(group).toMatchObject({ change: 'added', count: 23 })
  expect(group?.first).toHaveLength(10)
})

test('one line of text names what changed by its kind, up to ten of each, and then the number of the others', () => {
  const skills = Array.from({ length: 23 }, (_, number) => distinct(number + 1))
  const [left, ...rest] = skills

  const first = rest.map(({ path }) => path).toSorted(comparePaths)

  const text = changesText(between([left!], [...rest, { ...left!, path: 'moved' }]))

  expect(text).toBe(`added ${first.slice(0, 10).join(', ')} and 12 more; renamed ${left!.path} to moved`)
  expect(changesText([{ change: 'removed', count: 2, first: [] }])).toBe('removed 2 skills')
  expect(changesText([{ change: 'no-longer-withheld', count: 1, first: [{ path: '' }] }])).toBe(
    'no longer withheld the root',
  )
})

test('a commit that renames each of many thousands of skills is compared in one pass', () => {
  const before = Array.from({ length: 20_000 }, (_, number) => ({ ...distinct(1), ...own(number, 'a') }))
  const after = before.map((skill, number) => ({ ...skill, path: own(number, 'b').path }))
  const startedMs = performance.now()

  const [group, ...others] = between(before, after)

  expect([group?.change, group?.count, others]).toEqual(['renamed', 20_000, []])
  expect(performance.now() - startedMs).toBeLessThan(5_000)
})

function own(number: number, folder: string): Pick<Skill, 'path' | 'digest' | 'description'> {
  const name = String(number).padStart(5, '0')
  return { path: `${folder}/${name}`, digest: `digest ${name}`, description: `About ${name}` }
}

function between(before: readonly Skill[], after: readonly Skill[]): ReturnType<typeof changeGroups> {
  const [was, is] = [before, after].map((skills) => skills.toSorted((a, b) => comparePaths(a.path, b.path)))
  return changeGroups(changesBetween({ skills: was! }, { skills: is! }))
}

/** A skill with a description of its own. */
function distinct(number: number): Skill {
  return { ...numbered(number).skill, description: `Sample ${number}` }
}

function changed(skill: Skill): Skill {
  return { ...skill, digest: createHash('sha256').update(skill.path).digest('hex') }
}
