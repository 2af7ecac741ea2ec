import { existsSync } from 'node:fs'
import { appendFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { tokensIn } from '../../../../src/serve/mcp/tools/search/hits.ts'
import { World, skill } from '../../../e2e/world.ts'
import { Home } from '../../../support/process/program.ts'

test('list WORDS gives the skills that fit, the best first, each with its source', async () => {
  await using home = await homeWith({
    team: { pdf: 'Fill in PDF forms', charts: 'Draw figures' },
    more: { pdf: 'Read PDF' },
  })

  const json = await home.command('list', 'filling', 'a', 'pdf', 'from', '--json')
  const lines = await home.command('list', 'pdf form')

  expect(json).toMatchObject({ status: 0, stderr: '' })
  expect(JSON.parse(json.stdout)).toEqual({
    skills: [
      { id: 'team/pdf', name: 'pdf', source: 'team', description: 'Fill in PDF forms' },
      { id: 'more/pdf', name: 'pdf', source: 'more', description: 'Read PDF' },
    ],
  })
  expect(lines.stdout).toMatch(/^team\/pdf +team +Fill in PDF forms\nmore\/pdf +more +Read PDF\n$/)
})

test('list WORDS finds a skill once however many places it has, also one for people alone, and list marks each place', async () => {
  const frontmatter = 'disable-model-invocation: true'
  await using home = await homeWith(
    { team: { pdf: 'Fill in forms' }, more: { pdf: 'Fill in forms' }, other: { pdf: 'Read forms' } },
    frontmatter,
  )

  const json = await home.command('list', 'pdf', '--json')
  const lines = await home.command('list', 'fill in')
  const listed = await home.command('list')
  const prompt = await home.command('list', '--prompt')

  const { skills } = JSON.parse(json.stdout)
  expect(skills.map(({ id, places }: any) => [id, places])).toEqual([
    ['other/pdf', undefined],
    ['team/pdf', ['team/pdf', 'more/pdf']],
  ])
  expect(lines.stdout).toMatch(/^team\/pdf +team, 1 more place +Fill in forms\n$/)
  expect(listed.stdout.match(/skill:\/\/\w+\/pdf +served(, copy)?/g)?.toSorted()).toEqual([
    'skill://more/pdf   served, copy',
    'skill://other/pdf  served',
    'skill://team/pdf   served, copy',
  ])
  expect(prompt.stdout).toBe('')
})

test('list --only shows the skills of this source, with words and without', async () => {
  await using home = await homeWith({ team: { pdf: 'Fill in forms' }, more: { forms: 'Read forms' } })

  const all = await home.command('list', '--only', 'more', '--json')
  const some = await home.command('list', 'forms', '--only', 'more', '--json')
  const both = await home.command('list', 'forms', '--only', 'more', '--only', 'team', '--json')
  const none = await home.command('list', 'forms', '--only', 'absent')

  const sourcesIn = ({ stdout }: { readonly stdout: string }): string[] =>
    JSON.parse(stdout).skills.map(({ source }: any) => source)
  expect(sourcesIn(all)).toEqual(['more'])
  expect(sourcesIn(some)).toEqual(['more'])
  expect(sourcesIn(both).toSorted()).toEqual(['more', 'team'])
  expect(none).toMatchObject({ status: 2, stderr: expect.stringContaining('No source is called "absent"') })
})

test('list WORDS finds by headings, and what only people call too', async () => {
  await using home = await homeWith({ team: { deploy: 'Go live' } }, 'disable-model-invocation: true\ntags: [shipping]')

  const ends = [await home.command('list', 'heading deploy'), await home.command('list', 'shiping')]

  for (const { stdout } of ends) expect(stdout).toContain('Go live')
})

test('list WORDS takes what it is told of how much to print', async () => {
  const many = Object.fromEntries(
    Array.from({ length: 9 }, (_, index) => [`s${index}`, `alike ${'and so on '.repeat(30)}`]),
  )
  await using home = await homeWith({ team: many })

  const some = JSON.parse((await home.command('list', 'alike', '--json')).stdout)
  const all = JSON.parse((await home.command('list', 'alike', '--limit', '9', '--json')).stdout)
  const short = JSON.parse((await home.command('list', 'alike', '--limit=9', '--max-tokens=150', '--json')).stdout)

  expect([some.skills.length, all.skills.length]).toEqual([5, 9])
  expect(tokensIn(JSON.stringify(all))).toBeGreaterThan(600)
  expect(tokensIn(JSON.stringify(short))).toBeLessThanOrEqual(150)
  expect(short.skills.length + short.omitted).toBe(9)
})

test('list WORDS counts the skills that left among those that did not fit, within --max-tokens', async () => {
  await using world = await World.create()
  const { home, repository } = world
  const paths = ['one', 'two', 'three', 'four'].map((name) => `alike-${name}/SKILL.md`)
  await repository.commit(Object.fromEntries(paths.map((path) => [path, skill(path.split('/')[0] ?? '', 'text')])))
  await world.synced()
  await repository.commit(Object.fromEntries(paths.slice(1).map((path) => [path, null])))
  await world.synced()

  const all = JSON.parse((await home.command('list', 'alike', '--json')).stdout)
  const least = tokensIn(JSON.stringify(all))
  const told = []
  for (let tokens = 50; tokens <= least; tokens += 1)
    told.push(JSON.parse((await home.command('list', 'alike', `--max-tokens=${tokens}`, '--json')).stdout))
  const none = await home.command('list', 'alike-two', '--max-tokens=50')

  expect([all.skills.length, all.left.length, all.omitted]).toEqual([1, 3, undefined])
  for (const [at, { skills, omitted = 0, left = [] }] of told.entries()) {
    expect(tokensIn(JSON.stringify(told[at]))).toBeLessThanOrEqual(50 + at)
    expect(skills.length + omitted + left.length).toBe(4)
  }
  expect(told.at(-1)).toEqual(all)
  expect(none.stdout).toContain(' more left out\n')
  expect(none.stdout).not.toContain('Nothing was found')
})

test('list WORDS --pack finds what clients of these packs find, by the ids that they see, and so does list --prompt', async () => {
  await using home = await homeWith({
    team: { pdf: 'Fill in PDF forms', charts: 'Draw PDF' },
    more: { pdf: 'Read PDF' },
  })
  await appendFile(
    home.configFile,
    'packs:\n  - { id: crew, include: [{ source: team }] }\n  - { id: none, include: [{ name: x }] }\n',
  )

  const inOne = await home.command('list', 'pdf', '--pack', 'crew', '--json')
  const inTwo = await home.command('list', 'pdf', '--pack', 'none', '--pack=crew', '--json')
  const inNone = await home.command('list', 'pdf', '--pack', 'none')
  const prompt = await home.command('list', '--prompt', '--pack', 'crew')
  const unknown = await home.command('list', 'pdf', '--pack', 'nobody')

  expect(JSON.parse(inOne.stdout).skills.map(({ id }: { readonly id: string }) => id)).toEqual(['pdf', 'charts'])
  expect(inTwo.stdout).toBe(inOne.stdout)
  expect(inNone.stdout).toContain('Nothing was found')
  expect([prompt.stdout.includes('Fill in'), prompt.stdout.includes('Read PDF')]).toEqual([true, false])
  expect(unknown).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('"nobody" is none; there are crew, none'),
  })
})

test('list with words and without is cut where a terminal shows them, and nowhere else', async () => {
  const long = `alike ${'and so on '.repeat(30)}to the last word`
  const name = 'a-skill-with-a-name-of-over-forty-characters-in-all'
  await using home = await homeWith({ team: { [name]: long, short: long } })

  for (const command of [['list'], ['list', 'alike']]) {
    const piped = (await home.command(...command)).stdout.trimEnd().split('\n')
    const [heads = '', ...shown] = (await home.typing([], ...command)).stdout.trimEnd().split('\n')

    expect(piped.map((line) => line.endsWith(long))).toEqual([true, true])
    expect(stripVTControlCharacters(heads)).toMatch(/^(?:SKILL|ID) +(?:STATE|SOURCE) +DESCRIPTION$/)
    expect(new Set(piped.map((line) => line.indexOf('alike'))).size, 'columns are aligned').toBe(1)
    expect(shown.map((line) => [line.length, line.endsWith('…')])).toEqual([
      [80, true],
      [80, true],
    ])
  }
})

test('the id that a search prints means that skill to every command, also where others have it for a name', async () => {
  await using home = await homeWith({ team: { pdf: 'Fill in forms' } })
  const other = join(home.path, 'skills', 'team', 'more', 'papers')
  await mkdir(other, { recursive: true })
  await writeFile(join(other, 'SKILL.md'), '---\nname: pdf\ndescription: Fill in other forms\n---\n')
  await home.command('sync')

  const { skills } = JSON.parse((await home.command('list', 'forms', '--json')).stdout)
  const listed = JSON.parse((await home.command('list', '--json')).stdout)
  const ends = [
    await home.command('show', 'pdf', '--json'),
    await home.command('why', 'pdf', '--json'),
    await home.command('preview', 'pdf', '--json'),
    await home.command('link', '--once', '--verbose', 'claude-code', '--skill', 'papers'),
    await home.command('disable', 'pdf'),
    await home.command('show', 'pdf'),
    await home.command('enable', 'pdf'),
  ]

  expect(skills.map(({ id }: { readonly id: string }) => id).toSorted()).toEqual(['papers', 'pdf'])
  expect(listed.skills.map(({ id }: { readonly id: string }) => id)).toEqual(['papers', 'pdf'])
  expect(ends.map(({ status, stderr }) => [status, stderr])).toEqual(ends.map(() => [0, '']))
  for (const { stdout } of ends.slice(0, 3)) expect(JSON.parse(stdout).path).toBe('pdf')
  expect(ends[3]?.stdout).toContain('(team/more/papers) linked')
  expect(ends[4]?.stdout).toMatch(/^team\/pdf: disabled/)
  expect(ends[6]?.stdout).toContain('team/pdf: enabled')
})

test.each([
  [['--limit', '9'], 'what to search for'],
  [['--max-tokens', '99'], 'what to search for'],
  [['  '], 'what to search for'],
  [['x'.repeat(1_001)], '1000'],
  [['pdf', '--prompt'], '--prompt'],
  [['pdf', '--limit', '0'], '--limit'],
  [['pdf', '--limit', '51'], '--limit'],
  [['pdf', '--limit', '5.5'], '--limit'],
  [['pdf', '--max-tokens', '49'], '--max-tokens'],
  [['pdf', '--max-tokens', 'few'], '--max-tokens'],
])('list %j is wrong usage', async (args, why) => {
  await using home = await Home.create()

  expect(await home.command('list', ...args)).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining(why),
  })
})

test('list WORDS of a state folder that is not there finds nothing, and makes none', async () => {
  await using home = await Home.create()
  const state = join(home.path, 'typo')
  const source = ['--source', 'https://git.example.com/skills.git', '--state', state]

  const lines = await home.command('list', 'pdf', ...source)
  const json = await home.command('list', 'pdf', '--json', ...source)

  expect(lines).toMatchObject({ status: 0, stdout: expect.stringContaining('Nothing was found') })
  expect(JSON.parse(json.stdout)).toEqual({ skills: [] })
  expect(existsSync(state)).toBe(false)
})

/** A home that has pulled folders with these skills, by source and name. */
async function homeWith(sources: Readonly<Record<string, Readonly<Record<string, string>>>>, more = ''): Promise<Home> {
  const home = await Home.create()
  for (const [source, skills] of Object.entries(sources)) {
    for (const [name, description] of Object.entries(skills)) {
      const folder = join(home.path, 'skills', source, name)
      await mkdir(folder, { recursive: true })
      const document = `---\nname: ${name}\ndescription: ${description}\n${more}\n---\n# Heading of ${name}\n`
      await writeFile(join(folder, 'SKILL.md'), document)
    }
  }
  const paths = Object.keys(sources).map((source) => [source, [`path: ${join(home.path, 'skills', source)}`]])
  await home.configure(Object.fromEntries(paths))
  await home.run('sync')
  return home
}
