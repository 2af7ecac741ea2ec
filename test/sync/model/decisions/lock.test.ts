import { readFile } from 'node:fs/promises'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isLocked, lockDifferences, lockEntryOf, setDigestOf } from '../../../../src/sync/model/decisions/lock.ts'
import { sourceWith } from '../../pull/pulled.ts'
import { surveyed } from '../../survey/surveyed.ts'

interface Vector {
  readonly name: string
  readonly skills: readonly { readonly path: string; readonly name: string; readonly digest: string }[]
  readonly digest: string
}

const DOCUMENT = await readFile(new URL('../../../../docs/protocol.md', import.meta.url), 'utf8')
const [, , ofSources = '[]', ofPacks = '[]'] = DOCUMENT.split(/^```json\n/m)
const VECTORS: readonly Vector[] = [ofSources, ofPacks].flatMap((text) => JSON.parse(text.split(/^```$/m)[0] ?? '[]'))

const skill = fc.record({
  path: fc.string({ unit: 'binary', maxLength: 12 }),
  name: fc.string({ unit: 'binary', maxLength: 12 }),
  digest: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex')),
})
const skills = fc.uniqueArray(skill, { maxLength: 8, selector: ({ path }) => path })
type Listed = Vector['skills'][number]

const setOf = (list: readonly Listed[]) => new Map(list.map(({ path, name, digest }) => [path, { name, digest }]))

describe('the digest of a set', () => {
  test('has vectors in the specification, a name each', () => {
    expect(new Set(VECTORS.map(({ name }) => name)).size).toBe(VECTORS.length)
    expect(VECTORS.length).toBeGreaterThanOrEqual(3)
  })

  test.each(VECTORS)('meets the specification for $name', ({ skills: listed, digest }) => {
    expect(setDigestOf(setOf(listed))).toBe(digest)
  })

  test('does not depend on the order of the skills', () => {
    const shuffled = skills.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    )

    fc.assert(
      fc.property(shuffled, ([list, other]) => {
        expect(setDigestOf(setOf(other))).toBe(setDigestOf(setOf(list)))
      }),
    )
  })

  test('changes with the path, the name and the digest of any skill, and with each skill that is added', () => {
    const changed = fc.tuple(skills, skill, fc.nat(), fc.constantFrom('path', 'name', 'digest', 'added'))

    fc.assert(
      fc.property(changed, ([list, other, at, field]) => {
        const index = list.length === 0 ? 0 : at % list.length
        const old = list[index]
        fc.pre(field === 'added' || (old !== undefined && other[field] !== old[field]))
        fc.pre((field !== 'added' && field !== 'path') || !list.some(({ path }) => path === other.path))
        const next =
          field === 'added' || old === undefined
            ? [...list, other]
            : list.with(index, { ...old, [field]: other[field] })

        expect(setDigestOf(setOf(next))).not.toBe(setDigestOf(setOf(list)))
      }),
    )
  })

  test('is the same of two sets exactly where no skill changed between them', () => {
    fc.assert(
      fc.property(skills, skills, (a, b) => {
        const [before, after] = [setOf(a), setOf(b)]

        expect(setDigestOf(before) === setDigestOf(after)).toBe(lockDifferences(before, after).length === 0)
        expect(lockDifferences(before, before)).toEqual([])
      }),
    )
  })
})

test('a lock holds with the digest of all of its skills, and not with that of some', async () => {
  const snapshot = await surveyed({ 'pdf/SKILL.md': documentOf('pdf'), 'xls/SKILL.md': documentOf('xls') })
  const entry = lockEntryOf(sourceWith({ url: snapshot.url }), snapshot)
  const some = ['pdf', 'xls'].map((path) => setDigestOf(new Map([...entry.skills].filter(([at]) => at === path))))

  const holds = (digest: string): boolean => isLocked({ ...entry, digest }, snapshot)

  expect([...entry.skills.keys()]).toEqual(['pdf', 'xls'])
  expect([entry.digest, ...some, '0'.repeat(64)].map(holds)).toEqual([true, false, false, false])
})

function documentOf(name: string): string {
  return `---\nname: ${name}\ndescription: Reads\n---\n`
}
