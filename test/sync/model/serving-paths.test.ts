import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runNow } from '../../../src/base/async/cooperative.ts'
import { placing, renamedFolders, servedPathOf, type PlacementRules } from '../../../src/sync/model/serving-paths.ts'
import type { Skill, Standing } from '../../../src/sync/model/skill.ts'
import { sample } from '../store/samples.ts'

const REMAP: PlacementRules = { names: 'remap', nested: 'as-skills', isUnlisted: () => false }
const EXACT: PlacementRules = { names: 'exact', nested: 'as-skills', isUnlisted: () => false }

function place(skills: readonly Skill[], rules: PlacementRules): readonly Skill[] {
  return runNow(placing(skills, rules))
}

/** A skill before it has a place: its folder, its name, and what lies in it besides SKILL.md. */
function found(path: string, name: string | undefined, ...files: readonly string[]): Skill {
  const { skill } = sample('any', Object.fromEntries(['SKILL.md', ...files].map((file) => [file, `${path}/${file}`])))
  return { ...skill, path, name, servedPath: undefined }
}

/** One that is withheld or offered by the tools alone, for a reason of its own. */
function judged(standing: Standing, path: string, name: string | undefined): Skill {
  const findings = [{ rule: 'description-missing', path, message: 'It has none' } as const]
  return { ...found(path, name), standing, findings, ...(standing === 'withheld' && { files: [], digest: undefined }) }
}

/** Where each is served, or what keeps it from being served; sorted by true path. */
function placed(skills: readonly Skill[], rules = REMAP): Record<string, string> {
  return Object.fromEntries(
    place(skills, rules).map(({ path, standing, servedPath, findings }) => {
      const why = findings.map(({ rule }) => rule).join()
      if (standing === 'served') return [path, `${servedPath}${why === '' ? '' : ` (${why})`}`]
      return [path, `${standing}${servedPath === undefined ? '' : ` at ${servedPath}`} (${why})`]
    }),
  )
}

describe('a skill', () => {
  test('whose folder is called like it stays where it is', () => {
    expect(placed([found('pdf', 'pdf'), found('a/b/pdf', 'pdf')])).toEqual({ pdf: 'pdf', 'a/b/pdf': 'a/b/pdf' })
  })

  test('whose folder is called otherwise is served by its name, and that is noted', () => {
    const skills = [found('a/folder', 'pdf')]

    expect(placed(skills)).toEqual({ 'a/folder': 'a/pdf (name-unlike-folder)' })
    expect(place(skills, REMAP)[0]?.findings[0]?.message).toBe(
      'The name "pdf" is not the name of its folder "folder"; the skill is served as "a/pdf"',
    )
  })

  test('whose folder is called otherwise is withheld where names are exact', () => {
    expect(placed([found('a/folder', 'pdf'), found('xls', 'xls')], EXACT)).toEqual({
      'a/folder': 'withheld at a/pdf (name-unlike-folder)',
      xls: 'xls',
    })
  })

  test('that is to be unlisted is, at its true path', () => {
    const rules: PlacementRules = { ...REMAP, isUnlisted: (path) => path === 'a/folder' }

    expect(placed([found('a/folder', 'pdf'), found('a/pdf2', 'pdf2')], rules)).toEqual({
      'a/folder': 'unlisted at a/pdf (name-unlike-folder)',
      'a/pdf2': 'a/pdf2',
    })
  })

  test('in the root is served by its name, and its folder is nobody’s to name', () => {
    expect(placed([found('', 'pdf', 'a/x')])).toEqual({ '': 'pdf' })
    expect(placed([found('', 'pdf')], EXACT)).toEqual({ '': 'pdf' })
  })

  test('in the root has its place beside those below it', () => {
    const skills = [found('', 'all', 'pdf/SKILL.md', 'x/SKILL.md'), found('pdf', 'pdf'), found('x', 'xls')]

    expect(placed(skills)).toEqual({ '': 'all', pdf: 'pdf', x: 'xls (name-unlike-folder)' })
  })

  test('in the root gives way to a folder of its name', () => {
    const skills = [found('', 'pdf', 'pdf/SKILL.md'), found('pdf', 'pdf')]

    expect(placed(skills)).toEqual({ '': 'tools (name-clash)', pdf: 'pdf' })
    expect(placed(skills, EXACT)).toMatchObject({ pdf: 'pdf' })
  })
})

describe('two skills that would be served at one path', () => {
  test('the one whose folder matches stays, whatever the order of their paths', () => {
    expect(placed([found('a', 'pdf'), found('pdf', 'pdf')])).toEqual({ a: 'tools (name-clash)', pdf: 'pdf' })
    expect(placed([found('pdf', 'pdf'), found('z', 'pdf')])).toEqual({ pdf: 'pdf', z: 'tools (name-clash)' })
  })

  test('the first by path stays where none matches, and the other names it', () => {
    const skills = [found('b', 'pdf'), found('a', 'pdf')]

    expect(placed(skills)).toEqual({ a: 'pdf (name-unlike-folder)', b: 'tools (name-clash)' })
    expect(place(skills, REMAP)[1]?.findings[0]?.message).toContain('the skill in "a"')
  })

  test('the root counts as the first by path', () => {
    expect(placed([found('a', 'pdf'), found('', 'pdf', 'a/SKILL.md')])).toEqual({
      '': 'pdf',
      a: 'tools (name-clash)',
    })
  })

  test.each([
    ['case', 'Tools/pdf', 'tools/pdf'],
    ['Unicode form', 'caf\u0065\u0301/pdf', 'caf\u00e9/pdf'],
  ])('the first by path stays where they differ in %s alone', (_, first, second) => {
    expect(placed([found(second, 'pdf'), found(first, 'pdf')])).toEqual({
      [first]: first,
      [second]: 'tools (name-clash)',
    })
  })

  test('a copy of the one that stays is withheld, and says which that is', () => {
    const owner = found('pdf', 'pdf')
    const copy = { ...owner, path: 'a' }

    expect(placed([owner, copy])).toEqual({ a: 'withheld at pdf (name-clash)', pdf: 'pdf' })
    expect(place([owner, copy], REMAP)[0]?.findings[0]?.message).toBe(
      'The name "pdf" leads to "pdf", whose URI belongs to the skill in "pdf" (case and Unicode form do not count), which has the same files; remove one of the two',
    )
  })

  test('one with other content says which has the URI, by what it is offered, and what to do', () => {
    const [first, second] = [found('pdf', 'pdf'), found('pdf-2', 'pdf')]
    const why = 'The name "pdf" leads to "pdf", whose URI belongs to the skill in "pdf"'

    expect(place([first, second], REMAP)[1]?.findings[0]?.message).toBe(
      `${why} (case and Unicode form do not count), so this one is offered by tools, and to links and installers as "pdf-2"; give it the name "pdf-2", or rename one of the two`,
    )
    expect(place([first, { ...second, path: 'PDF 2' }], REMAP)[0]?.findings[0]?.message).toBe(
      `${why} (case and Unicode form do not count), so this one is offered only by tools; rename one of the two`,
    )
  })

  test('one that has the name of its folder is not told to take it', () => {
    const skills = place([found('Tools/pdf', 'pdf'), found('tools/pdf', 'pdf')], REMAP)

    expect(skills[1]?.findings[0]?.message).toMatch(/as "pdf"; rename one of the two$/)
  })

  test('one with other content is in no list of the tools where its path is in none', () => {
    const rules: PlacementRules = { ...REMAP, isUnlisted: (path) => path === 'a' }
    const skills = place([found('a', 'pdf'), found('pdf', 'pdf'), judged('tools', 'x', 'Not A Name')], rules)

    expect(skills.map(({ isUnlisted }) => isUnlisted)).toEqual([true, undefined, undefined])
    expect(place(skills, REMAP)[0]).not.toHaveProperty('isUnlisted')
  })

  test('both are served where they lie in different folders', () => {
    expect(placed([found('a/x', 'pdf'), found('b/x', 'pdf')])).toEqual({
      'a/x': 'a/pdf (name-unlike-folder)',
      'b/x': 'b/pdf (name-unlike-folder)',
    })
  })

  test('neither moves onto the other where each is named like the other’s folder', () => {
    expect(placed([found('x', 'y'), found('y', 'x')])).toEqual({
      x: 'tools (name-clash)',
      y: 'tools (name-clash)',
    })
  })
})

describe('nothing is renamed onto', () => {
  test.each([
    ['a folder that holds another skill', [found('pdf/inner', 'inner')]],
    ['a folder of a skill around both', [found('', 'root', 'pdf/notes.md', 'x/SKILL.md')]],
    ['a skill that is withheld', [judged('withheld', 'pdf', undefined)]],
    ['a skill that only the tools offer', [judged('tools', 'pdf', 'Not A Name')]],
  ])('%s', (_, neighbours) => {
    // What lies in the root skill is served below the root’s own name, where it is in nobody’s way.
    const expected = neighbours[0]?.path === '' ? 'pdf (name-unlike-folder)' : 'tools (name-clash)'

    expect(placed([found('x', 'pdf'), ...neighbours])['x']).toBe(expected)
  })

  test('a file or a folder of the skill around it', () => {
    expect(placed([found('o', 'o', 'pdf', 'x/SKILL.md'), found('o/x', 'pdf')])).toMatchObject({
      'o/x': 'tools (name-clash)',
    })
    expect(placed([found('o', 'o', 'pdf/notes.md', 'x/SKILL.md'), found('o/x', 'pdf')])).toMatchObject({
      'o/x': 'tools (name-clash)',
    })
  })

  test('and a folder whose skill has moved away stays taken, so that no URI changes hands', () => {
    expect(placed([found('a', 'b'), found('c', 'a')])).toEqual({
      a: 'b (name-unlike-folder)',
      c: 'tools (name-clash)',
    })
  })
})

describe('a nested skill', () => {
  test('moves with the folder around it', () => {
    expect(placed([found('a', 'b', 'in/SKILL.md'), found('a/in', 'in'), found('a/x/y', 'z')])).toEqual({
      a: 'b (name-unlike-folder)',
      'a/in': 'b/in',
      'a/x/y': 'b/x/z (name-unlike-folder)',
    })
  })

  test('stays where the skill around it is not renamed after all', () => {
    const outer = [found('a', 'c', 'in/SKILL.md'), found('c', 'c')]

    expect(placed([...outer, found('a/in', 'in')])).toMatchObject({ a: 'tools (name-clash)', 'a/in': 'a/in' })
    expect(placed([found('a', 'b'), found('a/in', 'in')], EXACT)).toMatchObject({ 'a/in': 'a/in' })
    expect(placed([judged('withheld', 'a', 'b'), found('a/in', 'in')])).toMatchObject({ 'a/in': 'a/in' })
  })

  test('is files of the outermost one alone where that is wanted and that one is served', () => {
    const rules: PlacementRules = { ...REMAP, nested: 'as-files' }
    const nest = [found('a', 'a', 'b/SKILL.md', 'b/c/SKILL.md'), found('a/b', 'b', 'c/SKILL.md'), found('a/b/c', 'c')]

    expect(placed(nest, rules)).toEqual({
      a: 'a',
      'a/b': 'withheld at a/b (nested-skill)',
      'a/b/c': 'withheld at a/b/c (nested-skill)',
    })
    expect(place(nest, rules).at(-1)?.findings[0]?.message).toContain('inside the skill in "a",')
    expect(placed([judged('withheld', 'a', 'a'), ...nest.slice(1)], rules)).toMatchObject({
      'a/b': 'a/b',
      'a/b/c': 'withheld at a/b/c (nested-skill)',
    })
    expect(placed([found('', 'all', 'a/SKILL.md'), found('a', 'a')], rules)).toEqual({
      '': 'all',
      a: 'withheld at a (nested-skill)',
    })
  })

  test('is renamed inside of a folder that is renamed', () => {
    const skills = place([found('a', 'b', 'c/SKILL.md', 'c/ref.md'), found('a/c', 'd', 'ref.md')], REMAP)

    const renamed = renamedFolders(skills)

    expect(skills.map(({ servedPath }) => servedPath)).toEqual(['b', 'b/d'])
    expect(servedPathOf('a/ref.md', renamed)).toBe('b/ref.md')
    expect(servedPathOf('a/c/ref.md', renamed)).toBe('b/d/ref.md')
    expect(servedPathOf('a-c/ref.md', renamed)).toBe('a-c/ref.md')
  })
})

describe('a skill that is not offered for a reason of its own', () => {
  test('keeps the path of its name, so that whoever asks is told', () => {
    expect(placed([judged('withheld', 'a/b', 'c'), judged('tools', 'd', 'Not A Name')])).toEqual({
      'a/b': 'withheld at a/c (description-missing)',
      d: 'tools (description-missing)',
    })
  })

  test.each(['', '..', 'a/b', '../../x', 'A', 'a b', '\u{D800}', '.', 'x'.repeat(65)])(
    'has no path where its name is %j, which no URI can hold',
    (name) => {
      expect(placed([judged('withheld', 'a', name)])).toEqual({ a: 'withheld (description-missing)' })
    },
  )

  test('takes nothing from a neighbour of its name', () => {
    expect(placed([judged('withheld', 'a', 'pdf'), found('pdf', 'pdf'), found('z', 'xls')])).toEqual({
      a: 'withheld at pdf (description-missing)',
      pdf: 'pdf',
      z: 'xls (name-unlike-folder)',
    })
  })
})

describe('for any skills', () => {
  const name = fc.constantFrom('a', 'b', 'c')
  const path = fc.array(name, { maxLength: 3 }).map((names) => names.join('/'))
  const skill = fc.tuple(
    path,
    name,
    fc.constantFrom<Standing>('served', 'served', 'served', 'served', 'withheld', 'tools'),
  )
  const skills = fc
    .uniqueArray(skill, { maxLength: 10, selector: ([path]) => path })
    .map((list) =>
      list.map(([path, name, standing]) => (standing === 'served' ? found(path, name) : judged(standing, path, name))),
    )
  const rules = fc.record({
    names: fc.constantFrom<PlacementRules['names']>('remap', 'exact'),
    nested: fc.constantFrom('as-skills' as const, 'as-files' as const),
    isUnlisted: fc.constantFrom(
      () => false,
      (path: string) => path.endsWith('b'),
    ),
  })

  test('placing them again changes nothing', () => {
    fc.assert(
      fc.property(skills, rules, (list, rules) => {
        const once = place(list, rules)

        expect(place(once, rules)).toEqual(once)
      }),
      { numRuns: 1000 },
    )
  })

  test('what they were under other rules leaves no trace', () => {
    fc.assert(
      fc.property(skills, rules, rules, (list, before, rules) => {
        expect(place(place(list, before), rules)).toEqual(place(list, rules))
      }),
      { numRuns: 1000 },
    )
  })

  test('the order in which they come decides nothing', () => {
    const shuffled = skills.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    )

    fc.assert(
      fc.property(shuffled, rules, ([list, other], rules) => {
        expect(place(other, rules)).toEqual(place(list, rules))
      }),
      { numRuns: 1000 },
    )
  })

  test('none is lost, no two are served at one path, and each is served by its name', () => {
    fc.assert(
      fc.property(skills, rules, (list, rules) => {
        const all = place(list, rules)
        const served = all.filter(({ standing }) => standing === 'served' || standing === 'unlisted')

        expect(all.map(({ path }) => path).toSorted()).toEqual(list.map(({ path }) => path).toSorted())
        expect(new Set(served.map(({ servedPath }) => servedPath)).size).toBe(served.length)
        for (const { servedPath, name } of served) expect(servedPath?.split('/').at(-1)).toBe(name)
        const unsaid = all.filter(({ standing, findings }) => standing === 'withheld' && findings.length === 0)
        expect(unsaid).toEqual([])
        const standingOf = new Map(all.map(({ path, standing }) => [path, standing]))
        const judged = list.filter(({ standing }) => standing !== 'served')
        expect(judged.map(({ path }) => standingOf.get(path))).toEqual(judged.map(({ standing }) => standing))
      }),
      { numRuns: 1000 },
    )
  })
})
