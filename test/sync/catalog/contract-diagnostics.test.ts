import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runNow } from '../../../src/base/async/cooperative.ts'
import {
  contractDiagnostics,
  diagnosticsAmong,
  findingCycles,
  type ContractNeighbor,
  type Dependencies,
} from '../../../src/sync/catalog/contract-diagnostics.ts'
import { contractSkills } from '../../../src/sync/catalog/contract-skills.ts'
import { contractFrontmatter, documentOf } from '../../support/content/contract-fixture.ts'
import { catalogOfWorld } from '../../support/content/contract-world.ts'
import { sourceId } from '../store/samples.ts'
import { surveyed } from '../survey/surveyed.ts'
import { catalogOf } from './catalogs.ts'

const skill = (id: string, dependsOn: readonly string[] = [], source = 'team', path = id): ContractNeighbor => ({
  id,
  dependsOn,
  source,
  path,
  isListed: true,
})

describe('the problems between skills', () => {
  test('are none where all ids differ and all dependencies lead somewhere', () => {
    expect(diagnosticsAmong([skill('a', ['b', 'c']), skill('b', ['c']), skill('c', [], 'house')])).toEqual([])
  })

  test('name all skills that have one id, with source and path', () => {
    const clashing = [skill('a', [], 'team', 'x/a'), skill('b'), skill('a', [], 'house'), skill('a', [], 'team', 'a')]

    expect(diagnosticsAmong(clashing)).toEqual([
      {
        code: 'id-clash',
        message:
          '3 skills have the id "a", so none of them is served at resource://: house/a, team/a, team/x/a; rename all but one',
        skills: [
          { id: 'a', source: 'house', path: 'a' },
          { id: 'a', source: 'team', path: 'a' },
          { id: 'a', source: 'team', path: 'x/a' },
        ],
      },
    ])
  })

  test('say which skill has the id where it alone is listed', () => {
    const secret = { ...skill('a', [], 'house'), isListed: false }

    expect(diagnosticsAmong([secret, skill('a')]).map(({ message }) => message)).toEqual([
      '2 skills have the id "a", so it leads to team/a, and skills in no list have it too: house/a; rename those',
    ])
  })

  test('name a target that is missing, and who wants it', () => {
    expect(diagnosticsAmong([skill('a', ['gone', 'b']), skill('b', ['gone'], 'house', 'deep/b')])).toMatchObject([
      {
        code: 'dependency-missing',
        message: expect.stringContaining('"a" depends on "gone"'),
        skills: [{ source: 'team', path: 'a' }],
      },
      {
        code: 'dependency-missing',
        message: expect.stringContaining('house/deep/b'),
        skills: [{ source: 'house', path: 'deep/b' }],
      },
    ])
  })

  test('name the first targets that are missing, and count the rest', () => {
    const many = Array.from({ length: 9000 }, (_, index) => `d${index}`)
    const long = 'd'.repeat(60_000)

    const problems = diagnosticsAmong([skill('a', ['x', 'y', 'b']), skill('b', many), skill('c', [long])])

    expect(problems.map(({ message }) => message)).toEqual([
      '"a" depends on "x", "y", and no skill that is served has those ids: team/a',
      expect.stringMatching(/^"b" depends on "d0", "d1", .*, "d11" and 8988 more, and no skill/),
      expect.stringMatching(/^"c" depends on "d{79}…, and no skill/),
    ])
  })

  test('are a hundred of a kind at most where they are those of a catalog, with how many more there are', () => {
    const skills = Array.from({ length: 2 * 150 }, (_, index) => ({
      path: `p${index % 2}/s${index >> 1}`,
      id: `s${index >> 1}`,
      dependsOn: Array.from({ length: 30 }, (_gone, at) => `d${at}`),
    }))

    const problems = contractDiagnostics(catalogOfWorld({ team: { skills } }))

    expect(problems.map(({ code }) => code)).toEqual([
      ...Array.from({ length: 101 }, () => 'id-clash'),
      ...Array.from({ length: 101 }, () => 'dependency-missing'),
    ])
    for (const at of [100, 201]) {
      expect(problems[at]).toMatchObject({
        message: expect.stringContaining('50 more of these are left out'),
        skills: [],
      })
    }
    expect(JSON.stringify(problems).length).toBeLessThan(100_000)
  })

  test('are none about skills whose source only offers the contract, which take no id and meet dependencies', () => {
    const offered = (id: string, dependsOn: string[] = []) => ({ path: id, id, dependsOn, isOffered: true }) as const
    const catalog = catalogOfWorld({
      house: { skills: [offered('pdf', ['gone']), offered('a', ['b']), offered('b', ['a']), offered('xls')] },
      other: { skills: [offered('xls')] },
      team: { skills: [{ path: 'pdf', id: 'pdf', dependsOn: ['a', 'b', 'xls'] }] },
    })
    const { byId, clashes } = contractSkills(catalog)

    expect(contractDiagnostics(catalog)).toEqual([])
    expect(byId.get('pdf')?.skill.source).toBe('team')
    expect([...clashes.keys()]).toEqual(['xls'])
  })

  test('name a circle once, from its least id, across sources', () => {
    const circle = [skill('c', ['a'], 'house'), skill('b', ['c']), skill('a', ['b']), skill('d', ['a'])]

    expect(diagnosticsAmong(circle)).toMatchObject([
      {
        code: 'dependency-cycle',
        message: 'A cycle of dependencies: "a" → "b" → "c" → "a": team/a, team/b, house/c',
        skills: [{ id: 'a' }, { id: 'b' }, { id: 'c' }],
      },
    ])
  })

  test('name the first circles of many, and that there are more', () => {
    const pairs = Array.from({ length: 21 }, (_, at) => [skill(`a${at}`, [`b${at}`]), skill(`b${at}`, [`a${at}`])])

    const all = diagnosticsAmong(pairs.slice(1).flat())
    const some = diagnosticsAmong(pairs.flat())

    expect([all, some].map((problems) => problems.length)).toEqual([20, 21])
    expect(all.every(({ skills }) => skills.length === 2)).toBe(true)
    expect(some.at(-1)).toMatchObject({
      code: 'dependency-cycle',
      message: expect.stringContaining('More of these'),
      skills: [],
    })
  })

  test('are said in messages that stay short, whatever there is of them', () => {
    const same = Array.from({ length: 1000 }, (_, index) => skill('a', [], 'team', `p${index}/a`))
    const ring = Array.from({ length: 1000 }, (_, index) => skill(`r${index}`, [`r${(index + 1) % 1000}`]))

    const problems = diagnosticsAmong([...same, ...ring])

    expect(problems.map(({ code, skills }) => [code, skills.length])).toEqual([
      ['id-clash', 1000],
      ['dependency-cycle', 1000],
    ])
    for (const { message } of problems) expect(message.length).toBeLessThan(600)
  })

  test('are those of the skills that are served and keep the contract', async () => {
    const team = await surveyed(
      {
        'a/SKILL.md': documentOf(contractFrontmatter('a', { depends_on: ['b', 'c'] })),
        'b/SKILL.md': documentOf(contractFrontmatter('b')),
        'c/SKILL.md': documentOf(contractFrontmatter('c', { version: 1 })),
      },
      { contract: true },
    )
    const house = await surveyed({ 'x/b/SKILL.md': documentOf(contractFrontmatter('b')) }, { contract: true })
    const loose = await surveyed({ 'a/SKILL.md': documentOf(contractFrontmatter('a')) })
    const catalog = catalogOf(team, { ...house, source: sourceId('house') }, { ...loose, source: sourceId('loose') })

    expect(contractDiagnostics(catalog)).toMatchObject([
      {
        code: 'id-clash',
        skills: [
          { source: 'house', path: 'x/b' },
          { source: 'team', path: 'b' },
        ],
      },
      { code: 'dependency-missing', skills: [{ source: 'team', path: 'a' }] },
    ])
  })
})

const cyclesIn = (graph: Dependencies, most: number): readonly string[][] => runNow(findingCycles(graph, most))

const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

describe('the circles of a graph', () => {
  const graphs = fc
    .array(fc.tuple(fc.constantFrom(...IDS), fc.constantFrom(...IDS, 'gone')), { maxLength: 20 })
    .map((edges) => {
      const graph = new Map(IDS.map((id): [string, string[]] => [id, []]))
      for (const [from, to] of edges) graph.get(from)?.push(to)
      return graph
    })

  test('are circles, each named once from its least id, and leave out nobody who lies on one', () => {
    let withCircles = 0
    fc.assert(
      fc.property(graphs, (graph) => {
        const cycles = cyclesIn(graph, Number.POSITIVE_INFINITY)

        for (const cycle of cycles) {
          for (const [index, id] of cycle.entries()) expect(graph.get(id)).toContain(cycle[(index + 1) % cycle.length])
          expect(new Set(cycle).size).toBe(cycle.length)
          expect(cycle[0]).toBe(cycle.toSorted()[0])
        }
        expect(new Set(cycles.map((cycle) => cycle.join())).size).toBe(cycles.length)
        expect([...new Set(cycles.flat())].toSorted()).toEqual(onCircles(graph))
        if (cycles.length > 1) withCircles += 1
      }),
      { numRuns: 2000 },
    )
    expect(withCircles).toBeGreaterThan(50)
  })

  test('do not depend on the order in which skills and dependencies come', () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const turned = new Map([...graph].toReversed().map(([id, others]) => [id, others.toReversed()]))

        expect(cyclesIn(turned, Number.POSITIVE_INFINITY)).toEqual(cyclesIn(graph, Number.POSITIVE_INFINITY))
      }),
    )
  })

  test('are found in chains and circles of ten thousand, and no more than asked for', () => {
    const many = Array.from({ length: 10_000 }, (_, index) => `s${index}`)
    const chain = new Map(many.map((id, index) => [id, many.slice(index + 1, index + 2)]))
    const ring = new Map([...chain, ['s9999', ['s0']]])
    const pairs = new Map(many.map((id, index) => [id, [`s${index ^ 1}`]]))

    expect(cyclesIn(chain, 20)).toEqual([])
    expect(cyclesIn(ring, 20).map(({ length }) => length)).toEqual([10_000])
    expect(cyclesIn(pairs, 20)).toHaveLength(20)
  })
})

/** The ids from which there is a way back to themselves: followed step by step until nothing is new. */
function onCircles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  return [...graph.keys()].filter((start) => {
    let reached = new Set(graph.get(start))
    for (let size = -1; size !== reached.size;) {
      size = reached.size
      reached = new Set([...reached, ...[...reached].flatMap((id) => graph.get(id) ?? [])])
    }
    return reached.has(start)
  })
}
