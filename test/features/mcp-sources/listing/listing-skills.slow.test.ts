import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { declaredSkills } from '../../../../src/features/mcp-sources/listing/listing-skills.ts'
import type { JudgedListing } from '../../../../src/features/mcp-sources/listing/listing-skills.ts'
import { SlowValues } from '../../../support/content/slow-values.ts'
import { never, sourceId } from '../../../sync/store/samples.ts'
import { rulesWith } from '../../../sync/survey/surveyed.ts'

const DIGEST = `sha256:${'0'.repeat(64)}`

describe('a listing', () => {
  test('is judged without a fault, whatever its entries are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(fc.jsonValue(), bad), { maxLength: 6 }), async (entries) => {
        const { skills, findings } = await declared(entries)

        expect(skills.length + findings.length).toBeLessThanOrEqual(entries.length)
      }),
    )
  })

  test('has all of its good skills, whatever stands between them', async () => {
    const good = ['a', 'b', 'c', 'd'].map((name) => entry(`skill://good/${name}`, ['SKILL.md', 'x.md']))
    const among = fc.array(fc.oneof(fc.jsonValue(), bad), { minLength: 5, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(among, async (others) => {
        const { skills } = await declared(others.flatMap((other, index) => [other, ...good.slice(index, index + 1)]))

        const served = skills.filter(({ standing, path }) => standing === 'served' && path.startsWith('good/'))
        expect(served.map(({ path }) => path)).toEqual(['good/a', 'good/b', 'good/c', 'good/d'])
      }),
    )
  })

  test('whose names, paths or frontmatter smuggle or reorder text has these skills withheld by default', async () => {
    const { skills } = await declared(
      [
        entry('skill://a', ['SKILL.md', 'x.md']),
        entry('skill://b', ['SKILL.md', 'x%E2%80%AEdm.exe']),
        entry('skill://c%E2%80%AE/d', ['SKILL.md']),
        entry('skill://e', ['SKILL.md'], { name: 'e', description: 'Fill in\u{E0041}' }),
        entry('skill://f', ['SKILL.md'], { name: 'f', description: 'Fill\u200B in' }),
      ],
      { hiddenUnicode: 'deceptive' },
    )

    expect(skills.map(({ path, standing, findings }) => [path, standing, findings.map(({ rule }) => rule)])).toEqual([
      ['a', 'served', []],
      ['b', 'withheld', ['hidden-unicode']],
      ['c\u202E/d', 'withheld', ['hidden-unicode']],
      ['e', 'withheld', ['hidden-unicode']],
      ['f', 'served', ['hidden-unicode']],
    ])
  })

  test('has skills served whose frontmatter clients refuse a list for, each with the finding that says so', async () => {
    const named = (name: string, rest: object): object =>
      entry(`skill://${name}`, ['SKILL.md'], { name, description: 'Fill in', ...rest })
    const { skills } = await declared([
      named('a', { metadata: { version: 1 } }),
      named('b', { compatibility: '' }),
      named('c', { description: `${'d'.repeat(1024)}\n` }),
      named('d', { metadata: { version: '1' }, compatibility: 'all' }),
    ])

    expect(skills.map(({ path, standing, findings }) => [path, standing, findings.map(({ rule }) => rule)])).toEqual([
      ['a', 'served', ['metadata-not-text']],
      ['b', 'served', ['compatibility-invalid']],
      ['c', 'served', ['description-padded']],
      ['d', 'served', []],
    ])
  })

  test('is told of in 32 findings, and in one more of how many are left out', async () => {
    const { findings } = await declared(Array(1000).fill(5))

    expect(findings).toHaveLength(33)
    expect(findings.at(-1)).toMatchObject({ rule: 'entry-refused', message: expect.stringContaining('968 more') })
  })

  test('with an entry twice has the first of them, in whichever spelling, and says so', async () => {
    const first = entry('skill://a/x', ['SKILL.md'])
    const second = entry('skill://a/%78', ['SKILL.md'], { name: 'x', description: 'other' })

    const { skills, findings } = await declared([first, second])

    expect(skills.map(({ path, description }) => [path, description])).toEqual([['a/x', 'd']])
    expect(findings).toMatchObject([{ rule: 'entry-refused', path: 'a/x', message: expect.stringContaining('twice') }])
  })

  test('gives no two skills paths that some disk takes for one', async () => {
    const { skills } = await declared([entry('skill://A/x', ['SKILL.md']), entry('skill://a/x', ['SKILL.md'])])

    expect(skills.map(({ path, standing }) => [path, standing])).toEqual([
      ['A/x', 'served'],
      ['a/x', 'withheld'],
    ])
    expect(skills[1]?.findings.map(({ rule }) => rule)).toEqual(['name-clash'])
  })

  test.each<[unknown, readonly string[] | undefined]>([
    [{ 'dev.skillsyncd/executables': ['run.sh', 'SKILL.md', 5, '../../x', 'none', 'run.sh'] }, ['SKILL.md', 'run.sh']],
    [{ 'dev.skillsyncd/executables': [] }, undefined],
    [{ 'dev.skillsyncd/executables': 'run.sh' }, undefined],
    [['run.sh'], undefined],
  ])('keeps of %j the files of the skill, and makes none of them executable', async (meta, kept) => {
    const said = { ...entry('skill://a/x', ['SKILL.md', 'run.sh', 'y.md']), _meta: meta }

    const { skills } = await declared([said])

    expect(skills[0]?.upstream?.executables).toEqual(kept)
    expect(skills[0]?.files.map(({ executable }) => executable)).toEqual([false, false, false])
  })
})

describe('a set of files', () => {
  test.each([
    ['case', ['README.md', 'readme.md']],
    ['Unicode form', ['\u00e9.md', 'e\u0301.md']],
    ['case of a folder', ['docs/a.md', 'Docs/b.md']],
    ['a file and a folder', ['a', 'a/b']],
    ['a folder and a file', ['a/b', 'a']],
    ['a file and a folder of another case', ['a/b', 'A']],
    ['SKILL.md', ['Skill.md']],
    ['a path in two spellings', ['a b.md'], 'skill://t/x/a b.md'],
  ])('is refused where two paths differ in %s alone, and both are named', async (_, paths, raw?: string) => {
    const uris = ['SKILL.md', ...paths].map(
      (path) => `skill://t/x/${path.split('/').map(encodeURIComponent).join('/')}`,
    )

    const [skill] = (await declared([withFiles([...uris, ...(raw === undefined ? [] : [raw])])])).skills

    const pair = [...paths, ...(paths.length === 1 ? ['SKILL.md'] : [])].slice(0, raw === undefined ? 2 : 1)
    expect(skill).toMatchObject({ standing: 'withheld', files: [], digest: undefined })
    expect(skill?.findings.map(({ rule }) => rule)).toEqual(['path-collision'])
    for (const path of pair) expect(skill?.findings[0]?.message).toContain(path.split('/')[0])
  })

  test.each([
    ['a neighbour', 'skill://t/y/a.md'],
    ['a neighbour whose name begins alike', 'skill://t/xy/a.md'],
    ['the folder above', 'skill://t/a.md'],
    ['the folder itself', 'skill://t/x'],
    ['another scheme', 'github://t/x/a.md'],
    ['this disk', 'file:///t/x/a.md'],
    ['dot segments', 'skill://t/x/../y/a.md'],
    ['encoded dot segments', 'skill://t/x/%2e%2e/y/a.md'],
  ])('is refused where a file lies in %s', async (_, uri) => {
    const [skill] = (await declared([withFiles(['skill://t/x/SKILL.md', uri])])).skills

    expect(skill?.standing).toBe('withheld')
    expect(skill?.findings.map(({ rule }) => rule)).toEqual(['entry-refused'])
  })

  test.each([
    ['listed twice', [file('SKILL.md'), file('SKILL.md')]],
    ['without SKILL.md', [file('a.md')]],
    ['empty', []],
    ['of something else', [5]],
    ['with a negative size', [{ ...file('SKILL.md'), size: -1 }]],
    ['with half a byte', [{ ...file('SKILL.md'), size: 0.5 }]],
    ['with a size beyond 2^53', [{ ...file('SKILL.md'), size: 2 ** 53 }]],
    ['with a size as text', [{ ...file('SKILL.md'), size: '1' }]],
    ['with a digest nested deep', [{ ...file('SKILL.md'), digest: nested(400) }]],
    ['with a digest that goes on', [{ ...file('SKILL.md'), digest: `${DIGEST}\n` }]],
  ])('is refused where it is %s', async (_, resources) => {
    const [skill] = (await declared([{ ...entry('skill://t/x', []), resources }])).skills

    expect(skill?.standing).toBe('withheld')
    expect(skill?.findings.map(({ rule }) => rule)).toEqual(['entry-refused'])
  })

  test('may have 512 files, and no more', async () => {
    const of = (count: number): readonly string[] => [
      'SKILL.md',
      ...Array.from({ length: count - 1 }, (_, at) => `${at}`),
    ]

    const { skills } = await declared([entry('skill://t/a', of(512)), entry('skill://t/b', of(513))])

    expect(skills.map(({ standing }) => standing)).toEqual(['served', 'withheld'])
    expect(skills[1]?.findings.map(({ rule }) => rule)).toEqual(['limit-files'])
  })

  test('may come to 16 MiB, and to no more', async () => {
    const of = (size: number): object[] => [
      { ...file('SKILL.md'), size: 1 },
      { ...file('a'), size },
    ]
    const sized = [2 ** 24 - 1, 2 ** 24, 2 ** 53 - 1].map(of)

    const all = await Promise.all(sized.map((resources) => declared([{ ...entry('skill://t/x', []), resources }])))

    const [least, ...more] = all.map(({ skills }) => skills[0])
    expect(least).toMatchObject({ standing: 'served', size: 2 ** 24 })
    expect(more.map((skill) => skill?.findings.map(({ rule }) => rule))).toEqual([['limit-bytes'], ['limit-bytes']])
  })

  test('keeps the spelling of what is not written as we would', async () => {
    const uris = ['skill://t/x/SKILL.md', 'skill://t/x/a b.md', 'skill://t/x/constructor', 'skill://t/x/%5F_proto__']

    const [skill] = (await declared([withFiles(uris)])).skills

    expect(skill?.files.map(({ path }) => path)).toEqual(['SKILL.md', '__proto__', 'a b.md', 'constructor'])
    expect(Object.entries(skill?.upstream?.files ?? {})).toEqual([
      ['a b.md', 'skill://t/x/a b.md'],
      ['__proto__', 'skill://t/x/%5F_proto__'],
    ])
  })
})

describe('a skill inside another one', () => {
  const inner = entry('skill://out/in', ['SKILL.md'])
  const outerWith = (one: object): object => ({
    ...entry('skill://out', []),
    uri: 'skill://out/SKILL.md',
    frontmatter: { name: 'out', description: 'd' },
    resources: [
      { uri: 'skill://out/SKILL.md', digest: DIGEST, size: 1 },
      { uri: 'skill://out/in/SKILL.md', digest: DIGEST, size: 1, ...one },
    ],
  })

  test('has files that the outer one may list too, as they are', async () => {
    const { skills } = await declared([outerWith({}), inner])

    expect(skills.map(({ path, standing }) => [path, standing])).toEqual([
      ['out', 'served'],
      ['out/in', 'served'],
    ])
  })

  test.each([{ digest: `sha256:${'1'.repeat(64)}` }, { size: 2 }])(
    'says what its files are: an outer one that says %j is withheld',
    async (one) => {
      const { skills } = await declared([outerWith(one), inner])

      expect(skills.map(({ path, standing }) => [path, standing])).toEqual([
        ['out', 'withheld'],
        ['out/in', 'served'],
      ])
      expect(skills[0]?.findings).toMatchObject([
        { rule: 'entry-refused', message: expect.stringContaining('"in/SKILL.md"') },
      ])
    },
  )

  test('says so also where there is another skill between the two', async () => {
    const { skills } = await declared([
      outerWith({ uri: 'skill://out/in/x/SKILL.md', size: 2 }),
      inner,
      entry('skill://out/in/x', ['SKILL.md']),
    ])

    expect(skills.map(({ path, standing }) => [path, standing])).toEqual([
      ['out', 'withheld'],
      ['out/in', 'served'],
      ['out/in/x', 'served'],
    ])
  })
})

describe('the work', () => {
  test('is one look at each of 204,800 files', async () => {
    let looks = 0
    const entries = Array.from({ length: 400 }, (_, at) => {
      const root = `skill://t/s${at}`
      const paths = ['SKILL.md', ...Array.from({ length: 511 }, (__, one) => `${'d/'.repeat(one % 20)}${one}`)]
      const resources = paths.map((path) => counted(`${root}/${path}`, () => (looks += 1)))
      return { ...entry(root, []), resources }
    })

    const { skills } = await declared(entries)

    expect(skills.filter(({ standing }) => standing === 'served')).toHaveLength(400)
    expect(looks).toBe(204_800)
  })

  test('is none for the files of a skill that lists too many', async () => {
    let looks = 0
    const one = counted('skill://t/x/SKILL.md', () => (looks += 1))

    const { skills } = await declared([{ ...entry('skill://t/x', []), resources: Array(300_000).fill(one) }])

    expect(skills[0]?.findings.map(({ rule }) => rule)).toEqual(['limit-files'])
    expect(looks).toBe(0)
  })

  test('lets others at the thread between entries that take long', async () => {
    const slow = new SlowValues()
    const entries = ['skill://t/x', 'skill://t/y', 'skill://t/z'].map((uri) => slow.of(entry(uri, ['SKILL.md'])))

    const turns = await slow.turnsUntil(declared(entries))

    expect(turns).toBeGreaterThan(1)
  })

  test('ends where nobody wants it any more', async () => {
    const entries = [entry('skill://t/x', ['SKILL.md'])]

    const judged = declaredSkills(sourceId('au'), entries, rulesWith(), AbortSignal.abort())

    await expect(judged).rejects.toThrow('aborted')
  })
})

/** Values that look like entries for a while. */
const bad = fc
  .record(
    {
      uri: fc.oneof(
        fc.jsonValue(),
        fc.constantFrom('skill://bad/x/SKILL.md', 'file:///x/SKILL.md', 'skill://bad/x', 'skill://SKILL.md', 'x'),
      ),
      frontmatter: fc.oneof(
        fc.jsonValue(),
        fc.record({ name: fc.constantFrom('x', 'y', 5), description: fc.jsonValue() }),
      ),
      resources: fc.oneof(
        fc.jsonValue(),
        fc.array(fc.oneof(fc.jsonValue(), fc.constant(fileAt('skill://bad/x/SKILL.md')))),
      ),
    },
    { requiredKeys: [] },
  )
  .map((value) => JSON.parse(JSON.stringify(value)))

async function declared(
  entries: readonly unknown[],
  edit: Parameters<typeof rulesWith>[0] = {},
): Promise<JudgedListing> {
  return declaredSkills(sourceId('au'), entries, rulesWith(edit), never())
}

/** The entry of a skill whose files hold nothing that anybody looks at. */
function entry(root: string, paths: readonly string[], frontmatter: object = {}): object {
  const name = root.slice(root.lastIndexOf('/') + 1)
  return {
    uri: `${root}/SKILL.md`,
    frontmatter: { name, description: 'd', ...frontmatter },
    resources: paths.map((path) => fileAt(`${root}/${path}`)),
  }
}

function withFiles(uris: readonly string[]): object {
  return { ...entry('skill://t/x', []), resources: uris.map(fileAt) }
}

function file(path: string): object {
  return fileAt(`skill://t/x/${path}`)
}

function fileAt(uri: string): object {
  return { uri, digest: DIGEST, size: 1 }
}

function counted(uri: string, onLook: () => void): object {
  return {
    get uri() {
      onLook()
      return uri
    },
    digest: DIGEST,
    size: 1,
  }
}

function nested(levels: number): unknown {
  return JSON.parse('['.repeat(levels) + ']'.repeat(levels))
}
