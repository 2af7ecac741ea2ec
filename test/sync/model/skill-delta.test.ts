import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { comparePaths } from '../../../src/sync/model/digest.ts'
import { movedBetween, othersThan } from '../../../src/sync/model/skill-delta.ts'
import type { Skill } from '../../../src/sync/model/skill.ts'
import { numbered, snapshotOf } from '../store/samples.ts'

const ALL = [1, 2, 3, 4, 5, 6].map((number) => numbered(number).skill)

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

test('what moved is counted by path and digest, whichever objects the skills are', () => {
  fc.assert(
    fc.property(some, some, (before, after) => {
      const [was, is] = [before, after].map((skills) => new Map(skills.map(({ path, digest }) => [path, digest])))

      const moved = movedBetween({ ...snapshotOf(), skills: before }, { ...snapshotOf(), skills: after })

      const paths = [...is!.keys()]
      expect(moved).toEqual({
        added: paths.filter((path) => !was!.has(path)).length,
        removed: [...was!.keys()].filter((path) => !is!.has(path)).length,
        changed: paths.filter((path) => was!.has(path) && was!.get(path) !== is!.get(path)).length,
      })
    }),
  )
})

function changed(skill: Skill): Skill {
  return { ...skill, digest: 'f'.repeat(64) }
}
