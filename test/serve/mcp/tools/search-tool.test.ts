import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ReadContent } from '../../../../src/serve/content.ts'
import type { Finder, SearchResult } from '../../../../src/serve/mcp/core/finder.ts'
import { announcedBytes } from '../../../../src/serve/mcp/tools/response-size.ts'
import { tokensIn } from '../../../../src/serve/mcp/tools/search/hits.ts'
import { skillTools } from '../../../../src/serve/mcp/tools/tools.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import { offeredIn } from '../../../../src/sync/catalog/tool-catalog.ts'
import { formsOf } from '../../../support/clients/forms.ts'
import { catalogWith, plainFinder, saying } from '../../../support/content/searchable-skills.ts'
import type { Sample } from '../../../sync/store/samples.ts'

const PDF = saying('pdf', { description: 'Fill in forms' }, '# Annotations\n')
const DEPLOY = saying('deploy', { description: 'Go live', 'disable-model-invocation': true })

describe('search_skills', () => {
  test('gives an object and the same object as text, each hit with its source', async () => {
    const other = saying('pdf', { description: 'Fill in forms' }, '# Others\n')
    const answer = await answerOf({ query: 'filing a from' }, { team: [PDF], more: [other] })

    const skills = [
      { id: 'more/pdf', name: 'pdf', source: 'more', description: 'Fill in forms' },
      { id: 'team/pdf', name: 'pdf', source: 'team', description: 'Fill in forms' },
    ]
    expect(answer).toEqual({
      content: [{ type: 'text', text: JSON.stringify({ skills }) }],
      structuredContent: { skills },
    })
  })

  test('gives one content once, with the ids of its places, and finds as many others as it may', async () => {
    const copies = Object.fromEntries(['one', 'two', 'three'].map((id) => [id, [PDF]]))
    const more = ['xlsx', 'docx'].map((name) => saying(name, { description: 'Fill in forms' }))
    const answer = await answerOf({ query: 'fill in forms', limit: 3 }, { ...copies, other: more })

    const { skills } = answer.structuredContent
    expect(skills.map(({ name, places }: any) => [name, places])).toEqual(
      expect.arrayContaining([
        ['pdf', ['one/pdf', 'two/pdf', 'three/pdf']],
        ['xlsx', undefined],
        ['docx', undefined],
      ]),
    )
    expect(skills.find(({ name }: any) => name === 'pdf').id).toBe('one/pdf')
  })

  test('finds by a heading, and not what people alone may call', async () => {
    const found = await answerOf({ query: 'annotation' }, { team: [PDF, DEPLOY] })
    const hidden = await answerOf({ query: 'deploy live' }, { team: [PDF, DEPLOY] })

    expect(found.structuredContent.skills).toMatchObject([{ id: 'pdf' }])
    expect(hidden.structuredContent).toEqual({ skills: [] })
    expect(hidden.content[1].text).toContain('list_skills')
  })

  test('keeps to the limit and to the budget', async () => {
    const many = Array.from({ length: 60 }, (_, index) =>
      saying(`s${index}`, { description: `alike ${'and so on '.repeat(50)}` }),
    )
    const sizes = async (given: object): Promise<number[]> => {
      const { content, structuredContent } = await answerOf({ query: 'alike', ...given }, { team: many })
      expect(content).toHaveLength(1)
      return [structuredContent.skills.length, structuredContent.omitted ?? 0, tokensIn(content[0].text)]
    }

    expect((await sizes({})).slice(0, 2)).toEqual([5, 0])
    expect((await sizes({ limit: 50 })).slice(0, 2)).toEqual([50, 0])
    const [shown = 0, omitted = 0, tokens] = await sizes({ limit: 20, max_tokens: 300 })
    expect([shown + omitted, tokens! <= 300]).toEqual([20, true])
  })

  test.each([{}, { query: 7 }, { query: ['pdf'] }, { query: 'pdf', limit: '5' }, { query: 'pdf', limit: 1.5 }])(
    'arguments of another type are a fault of the protocol: %j',
    async (given) => {
      await expect(answerOf(given, { team: [PDF] })).rejects.toMatchObject({ code: -32602 })
    },
  )

  test.each([
    [{ query: ' ' }, 'few words'],
    [{ query: 'x'.repeat(1_001) }, '1000'],
    [{ query: 'pdf', limit: 0 }, '1 to 50'],
    [{ query: 'pdf', limit: 51 }, '1 to 50'],
    [{ query: 'pdf', max_tokens: 49 }, '50'],
  ])('what a model can mend is told to it: %j', async (given, why) => {
    const answer = await answerOf(given, { team: [PDF] })

    expect(answer).toMatchObject({ isError: true, content: [{ text: expect.stringContaining(why) }] })
    expect(JSON.stringify(answer).length).toBeLessThan(400)
  })

  test.each(['late', 'failed'] as const)('while there is no index the answer says what to do (%s)', async (kind) => {
    const answer = await call({ query: 'pdf' }, registryWith({ team: [PDF] }), { find: async () => ({ kind }) })

    expect(answer).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('list_skills') }] })
  })

  test('a caller that has left waits for nothing', async () => {
    const leaving = new AbortController()
    const asked = Promise.withResolvers<void>()
    const finder: Finder = {
      find: async () => {
        asked.resolve()
        return new Promise<SearchResult>(() => {})
      },
    }
    const answer = call({ query: 'pdf' }, registryWith({ team: [PDF] }), finder, leaving.signal)
    await asked.promise

    leaving.abort(new Error('it left'))

    await expect(answer).rejects.toThrow('it left')
  })

  test('without a finder there is no such tool', async () => {
    const registry = registryWith({ team: [PDF] })
    const methods = skillTools(servingOf(registry), { look: async () => 0 }).methods({})
    const caller = [{ era: 'modern' } as const, new AbortController().signal] as const

    const { tools }: any = await methods['tools/list']!({}, ...caller)
    const params = { name: 'search_skills', arguments: { query: 'pdf' } }

    expect(tools.map(({ name }: { readonly name: string }) => name)).toEqual([
      'list_skills',
      'get_skill',
      'read_skill_file',
    ])
    await expect(methods['tools/call']!(params, ...caller)).rejects.toMatchObject({ code: -32602 })
  })

  test('how large the answer will be is known before it is made', () => {
    const { catalog } = registryWith({ team: [PDF] })
    const bytes = (given: unknown): number =>
      announcedBytes(catalog, formsOf(), { method: 'tools/call', params: { name: 'search_skills', arguments: given } })

    expect(bytes({ query: 'pdf' })).toBeGreaterThan(10_000)
    expect(bytes({ query: 'pdf', max_tokens: 100 })).toBeLessThan(2_000)
    for (const given of [7, { limit: -1 }, { limit: 1e9 }, { max_tokens: 1e300 }])
      expect(bytes(given)).toBeLessThan(200_000)
  })

  test('each hit is a skill of the catalog that is searched, and what another catalog holds changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(samples(), { maxLength: 12 }), words(), async (all, query) => {
        const distinct = [...new Map(all.map((one) => [one.skill.path, one])).values()]
        const pack = registryWith({ team: distinct.filter((_, index) => index % 2 === 0) })
        const finder = plainFinder(...distinct)

        const alone = await call({ query, limit: 50 }, pack, plainFinder(...distinct))
        await call({ query }, registryWith({ team: distinct }), finder)
        const again = await call({ query, limit: 50 }, pack, finder)

        expect(again).toEqual(alone)
        const ids = new Set(offeredIn(pack.catalog).forModels.map(({ id }) => id))
        const hits: readonly { readonly id: string }[] = alone.structuredContent.skills
        expect(hits.filter(({ id }) => !ids.has(id))).toEqual([])
      }),
      { numRuns: 40 },
    )
  })
})

function words(): fc.Arbitrary<string> {
  const word = fc.constantFrom('form', 'from', 'report', 'table', 'chart', 'invoice')
  return fc.array(word, { minLength: 1, maxLength: 5 }).map((all) => all.join(' '))
}

function samples(): fc.Arbitrary<Sample> {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
  return fc
    .tuple(name, words(), fc.boolean())
    .map(([called, description, off]) => saying(called, { description, 'disable-model-invocation': off }))
}

function registryWith(sources: Readonly<Record<string, readonly Sample[]>>): Registry {
  const registry = new Registry()
  registry.publish(catalogWith(sources))
  return registry
}

function servingOf(registry: Registry) {
  const read: ReadContent = async () => expect.unreachable('Nothing is read for a search')
  return { registry, read, pages: { entries: 1_000, bytes: 2 ** 20 } }
}

async function answerOf(given: object, sources: Readonly<Record<string, readonly Sample[]>>): Promise<any> {
  return call(given, registryWith(sources), plainFinder(...Object.values(sources).flat()))
}

async function call(
  given: object,
  registry: Registry,
  finder: Finder,
  signal = new AbortController().signal,
): Promise<any> {
  const methods = skillTools(servingOf(registry), { look: async () => 0 }, finder).methods({})
  return methods['tools/call']!({ name: 'search_skills', arguments: given }, { era: 'modern' }, signal)
}
