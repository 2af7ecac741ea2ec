import type { LintCode } from '../../src/features/author/lint/diagnostic.ts'
import { sound } from '../features/author/lint/linted.ts'
import { EXAMPLES, filesOf, LFS } from '../features/author/lint/rule-examples.ts'
import type { Files } from '../support/git/scripted-upstream.ts'

/** A finding of `skill validate`: files that have it, and the same after a person has done what its fix says. */
export interface Finding {
  readonly code: LintCode
  readonly options: readonly string[]
  readonly bad: Files
  readonly good: Files
}

const manyFiles = (count: number): Files =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`a/${index}`, '']))

/** The findings whose examples have other limits and rules than the command. */
const AT_LIMITS: Readonly<Partial<Record<LintCode, { readonly bad: Files; readonly good: Files }>>> = {
  'limit-files': {
    bad: { 'a/SKILL.md': sound('a'), ...manyFiles(512) },
    good: { 'a/SKILL.md': sound('a'), ...manyFiles(511) },
  },
  'lfs-pointer': { bad: { 'a/SKILL.md': LFS }, good: { 'a/SKILL.md': sound('a') } },
  'limit-bytes': {
    bad: { 'a/SKILL.md': sound('a'), 'a/1': 'x'.repeat(2 ** 24) },
    good: { 'a/SKILL.md': sound('a') },
  },
}

const LEFT_OUT: Finding = {
  code: 'lfs-left-out',
  options: [],
  bad: { 'a/SKILL.md': sound('a'), 'a/b.png': LFS },
  good: { 'a/SKILL.md': sound('a'), 'a/b.png': 'the picture' },
}

/** The findings that a folder can have, the first example of each. */
export const OF_SKILLS: readonly Finding[] = [LEFT_OUT, ...fromExamples()]

function fromExamples(): readonly Finding[] {
  return Map.groupBy(
    EXAMPLES.filter(({ looked }) => looked?.nested === undefined),
    ({ rule }) => rule,
  )
    .values()
    .map(([example]) => example!)
    .map(({ rule, bad, good, looked }) => {
      const contract = looked?.contract === true ? ['--contract'] : []
      const level = looked?.level === undefined ? [] : ['--level', looked.level]
      const files = AT_LIMITS[rule] ?? { bad: filesOf(bad), good: filesOf(good) }
      return Object.assign({ code: rule, options: [...contract, ...level] }, files)
    })
    .toArray()
}
