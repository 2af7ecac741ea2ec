import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Method } from '../../../../src/serve/mcp/core/methods.ts'
import { valuesIn } from '../../../../src/serve/mcp/resources/files/skill-template.ts'
import { templateCompletion } from '../../../../src/serve/mcp/tools/completion.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import { buildCatalog } from '../../../../src/sync/catalog/catalog.ts'
import type { Catalog } from '../../../../src/sync/catalog/catalog.ts'
import { filesOf } from '../../../../src/sync/catalog/skill-files.ts'
import type { Skill } from '../../../../src/sync/model/skill.ts'
import { formsOf } from '../../../support/clients/forms.ts'
import { sample, snapshotOf, sourceId } from '../../../sync/store/samples.ts'

const PATHS = 'skill://team/{+path}'
const SPACE = 'skill://team/{first}/x{second}/{third}/SKILL.md'
const FORMS = formsOf({ spaces: [SPACE] })

test('whatever lies in and beside each other, a path is completed by all that begin so, in order, each once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(skillAnywhere, { maxLength: 12 }), begins, async (skills, begin) => {
      const catalog = catalogOf(skills)
      const paths = catalog.listed.flatMap((skill) =>
        filesOf(skill).map(({ uri }) => uri.slice('skill://team/'.length)),
      )

      const answer = await completing(catalog)(PATHS, 'path', begin)

      expect(answer).toEqual(expected(paths, begin))
    }),
  )
})

test('whatever is given of the others, a variable is completed by the values that go with it, in order, each once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(skillInSpace, { maxLength: 20 }),
      fc.array(
        fc.record({ name: variable, given: fc.dictionary(variable, value), begin: fc.constantFrom('', 'a', 'é') }),
      ),
      async (skills, questions) => {
        const catalog = catalogOf(skills)
        const ask = completing(catalog)
        const rows = catalog.listed.flatMap(({ uri }) => FORMS.spaces.flatMap((space) => valuesIn(space, uri) ?? []))

        for (const { name, given, begin } of questions) {
          const others = Object.entries(given).filter(([other]) => other !== name)
          const fitting = rows.filter((row) => others.every(([other, asked]) => row.get(other) === asked))
          const values = fitting.map((row) => row.get(name) ?? '')
          expect(await ask(SPACE, name, begin, given)).toEqual(expected(values, begin))
        }
      },
    ),
  )
})

test('how many skills a completion looks at does not go by how many there are', async () => {
  let looks = 0
  const skills = Array.from({ length: 5_000 }, (_, index) => {
    const { skill } = sample(`skill-${index}`, { 'SKILL.md': '', 'a.md': '', 'b/c.md': '' })
    const { files } = skill
    return Object.defineProperty(skill, 'files', { enumerable: true, get: () => ((looks += 1), files) })
  })
  const ask = completing(catalogOf(skills))
  await ask(PATHS, 'path', '')
  looks = 0

  const answer = await ask(PATHS, 'path', 'skill-4')

  expect(answer.completion.total).toBe(3 * 1_111)
  expect(looks).toBeLessThan(500)
})

test('the loop turns while paths are made ready for the first that asks, and all that ask meanwhile wait for the same', async () => {
  const nested = Array.from({ length: 400 }, (_, index) => `skill/n${index}`)
  const files = nested.flatMap((path) => Array.from({ length: 100 }, (_, at) => `${path.slice(6)}/${at} x.md`))
  const outer = sample('skill', Object.fromEntries(['SKILL.md', ...files].map((path) => [path, ''])))
  const inner = nested.map((path) => sample(path, { 'SKILL.md': '' }).skill)
  const ask = completing(catalogOf([outer.skill, ...inner]))
  let turns = 0
  let isDone = false
  const counting = (): void => {
    turns += 1
    if (!isDone) setImmediate(counting)
  }
  setImmediate(counting)

  const answers = await Promise.all([ask(PATHS, 'path', 'skill/n7/'), ask(PATHS, 'path', 'skill/n7/')])
  isDone = true

  expect(answers[0]?.completion.total).toBe(101)
  expect(answers[1]).toEqual(answers[0])
  expect(turns).toBeGreaterThan(1)
})

test('a failure to make values ready is of those that waited for it, and the next that asks has them', async () => {
  const { listed, ...catalog } = catalogOf([sample('a/xb/é', { 'SKILL.md': '' }).skill])
  let fails = true
  const failing = Object.defineProperty(catalog, 'listed', {
    get: () => {
      if (fails) throw new Error('it fails')
      return listed
    },
  }) as Catalog
  const ask = completing(failing)
  const asked = [ask(PATHS, 'path', ''), ask(PATHS, 'path', ''), ask(SPACE, 'first', ''), ask(SPACE, 'first', '')]

  const failed = await Promise.allSettled(asked)
  fails = false
  const answers = [await ask(PATHS, 'path', ''), await ask(SPACE, 'first', '')]

  expect(failed.map(({ status }) => status)).toEqual(asked.map(() => 'rejected'))
  expect(answers).toEqual([expected(['a/xb/%C3%A9/SKILL.md'], ''), expected(['a'], '')])
})

const names = fc.constantFrom('a', 'b', 'a-b', 'B', 'é', 'x y')
const skillAnywhere = fc
  .record({
    path: fc.array(names, { minLength: 1, maxLength: 3 }),
    files: fc.array(fc.array(names, { minLength: 1, maxLength: 2 }), { maxLength: 4 }),
    standing: fc.constantFrom('served', 'served', 'served', 'unlisted'),
  })
  .map(({ path, files, standing }): Skill => {
    const contents = ['SKILL.md', ...files.map((parts) => `${parts.join('/')}.md`)].map((file) => [file, ''])
    return Object.assign(sample(path.join('/'), Object.fromEntries(contents)).skill, { standing })
  })
const begins = fc
  .array(fc.constantFrom('a', 'b', '/', '-', 'a/', 'B', '%', '%C3', '\uffff'), { maxLength: 3 })
  .map((parts) => parts.join(''))

const variable = fc.constantFrom('first', 'second', 'third')
const value = fc.constantFrom('a', 'ab', 'b', 'é')
const skillInSpace = fc
  .tuple(value, value, value)
  .map(([first, second, third]) => sample(`${first}/x${second}/${third}`, { 'SKILL.md': '' }).skill)

/** One skill at each path. */
function catalogOf(skills: readonly Skill[]): Catalog {
  const source = sourceId('team')
  const byPath = [...new Map(skills.map((skill) => [skill.path, skill])).values()]
  const generation = { number: 1, createdAt: '', sources: [{ source, snapshot: '1' }] }
  return buildCatalog(generation, [{ ...snapshotOf(), source, skills: byPath }])
}

type Completion = { readonly completion: { readonly values: readonly string[]; readonly total: number } }

function completing(catalog: Catalog) {
  const registry = new Registry()
  registry.publish(catalog)
  const complete: Method | undefined = templateCompletion(registry, FORMS).methods({})['completion/complete']
  return async (uri: string, name: string, begin: string, given: object = {}): Promise<Completion> => {
    const params = {
      ref: { type: 'ref/resource', uri },
      argument: { name, value: begin },
      context: { arguments: given },
    }
    const answer = await complete?.(params, { era: 'modern' }, new AbortController().signal)
    return answer as Completion
  }
}

function expected(values: readonly string[], begin: string) {
  const all = [...new Set(values)].filter((one) => one.startsWith(begin)).toSorted()
  return { completion: { values: all.slice(0, 100), total: all.length, hasMore: all.length > 100 } }
}
