import { describe, expect, test } from 'vitest'
import { lintCodes } from '../../../../src/features/author/lint/rule-texts.ts'
import { diagnosticsOf, shortOf, skillMd, sound } from './linted.ts'
import { EXAMPLES, filesOf, NEVER_HERE } from './rule-examples.ts'

test('each rule has an example that breaks it and one that keeps it', () => {
  const shown = new Set(EXAMPLES.map(({ rule }) => rule))

  expect(lintCodes().filter((rule) => !shown.has(rule) && !NEVER_HERE.has(rule))).toEqual([])
})

describe.each(EXAMPLES)('$rule at $at', ({ rule, bad, at, good, looked }) => {
  test('is told where it is broken', async () => {
    const diagnostics = await diagnosticsOf(filesOf(bad), looked)

    expect(diagnostics.filter((diagnostic) => diagnostic.code === rule).map(shortOf)).toEqual(
      at.map((place) => `${rule} ${place}`),
    )
  })

  test('is not told where it is kept', async () => {
    const diagnostics = await diagnosticsOf(filesOf(good), looked)

    expect(diagnostics.filter((diagnostic) => diagnostic.code === rule)).toEqual([])
  })
})

test('what the reference validator alone refuses is not told at the level of the specification', async () => {
  const diagnostics = await diagnosticsOf({ 'a/SKILL.md': `\u{FEFF}${sound('a', ['version: {a: "---"}'])}` })

  expect(diagnostics).toEqual([])
})

test('a skill at the top has to be called as its folder, where the folder has a name of somebody’s choice', async () => {
  const files = { 'SKILL.md': sound('a') }

  const [named, checkout] = [await diagnosticsOf(files, { folder: 'b' }), await diagnosticsOf(files)]

  expect(named.map(shortOf)).toEqual(['name-unlike-folder SKILL.md:2:7'])
  expect(checkout).toEqual([])
})

test('a link in a skill inside of a skill is told once, of the inner one', async () => {
  const inner = sound('b', [], '[x](gone.md)\n')

  const diagnostics = await diagnosticsOf({ 'a/SKILL.md': sound('a'), 'a/b/SKILL.md': inner })

  expect(diagnostics.map(shortOf)).toEqual(['nested-skill a/b/SKILL.md:1:1', 'link-target-missing a/b/SKILL.md:5:5'])
})

test('text that no page shows is told, however much of it stands in code before', async () => {
  const comment = `<!-- ${'do as I say '.repeat(5)}-->`
  const shown = `\`\`\`\n${`${comment}\n`.repeat(20)}<!--\n\`\`\`\n`

  const diagnostics = await diagnosticsOf({ 'a/SKILL.md': sound('a', [], `${shown}\nSee ${comment}\n`) })

  expect(diagnostics.map(shortOf)).toEqual(['unrendered-text a/SKILL.md:29:5'])
})

test('a body that is not UTF-8 is told, and does not keep the rest from being told', async () => {
  const text = sound('a', ['license: yes', 'compatibility: ""'], 'A \uFFFD, a caf\u00E9, and [b](gone.md).\n')
  const bytes = Buffer.from(text)
  const at = bytes.indexOf('\u00E9')

  const diagnostics = await diagnosticsOf({
    'a/SKILL.md': Buffer.concat([bytes.subarray(0, at), Buffer.from([0xe9]), bytes.subarray(at + 2)]),
  })

  expect(diagnostics.map(shortOf)).toEqual([
    'yaml-ambiguous a/SKILL.md:4:10',
    'compatibility-invalid a/SKILL.md:5:16',
    'encoding-invalid a/SKILL.md:7:11',
    'link-target-missing a/SKILL.md:7:22',
  ])
})

test('columns are those of an editor, in files of any kind and where a byte order mark stands before them', async () => {
  const diagnostics = await diagnosticsOf({
    'a/SKILL.md': sound('a'),
    'a/b.py': '# \u{1F600}\u{1F600} a\u{202E}b\n',
    'a/references/c.md': '\u{FEFF}[d](gone.md)\u{202E}\n',
  })

  expect(diagnostics.map(shortOf)).toEqual([
    'hidden-unicode a/b.py:1:9',
    'link-target-missing a/references/c.md:1:5',
    'hidden-unicode a/references/c.md:1:13',
  ])
})

test('hidden characters are told run by run, and of those that are not how many they are', async () => {
  const lines = `a\u{202E}b\u{200B}\n${Array.from({ length: 5 }, () => 'a\u{AD}b\u{200B}').join('\n')}`

  const diagnostics = await diagnosticsOf({ 'a/SKILL.md': sound('a'), 'a/b.md': lines })

  const says = 'There are characters here that people do not see and a model reads: '
  expect(diagnostics.map(({ message }) => message)).toEqual([
    `${says}U+202E`,
    `${says}U+200B`,
    `${says}U+00AD`,
    `${says}U+200B; 8 more are further down in this file`,
  ])
})

test('hidden characters of a skill in a skill are told once, and those of a name beside those of a text', async () => {
  const inner = await diagnosticsOf({ 'a/SKILL.md': sound('a'), 'a/b/SKILL.md': sound('b', [], 'x\u{202E}\n') })
  const named = await diagnosticsOf({ 'a/SKILL.md': sound('a'), 'a/b\u{202E}.txt': 'x\u{202E}\n' })

  expect(inner.filter(({ code }) => code === 'hidden-unicode').map(shortOf)).toEqual([
    'hidden-unicode a/b/SKILL.md:5:2',
  ])
  expect(named.map(shortOf)).toEqual([
    'withheld-by-default a/SKILL.md:1:1',
    'hidden-unicode a/b\u{202E}.txt:1:1',
    'hidden-unicode a/b\u{202E}.txt:1:2',
  ])
})

test('dependencies by name in metadata are checked among the skills, where they are written', async () => {
  const needing = (name: string, names: string): string => sound(name, ['metadata:', `  depends_on: ${names}`])

  const missing = await diagnosticsOf({ 'a/SKILL.md': needing('a', 'b gone'), 'b/SKILL.md': sound('b') })
  const cycle = await diagnosticsOf({ 'a/SKILL.md': needing('a', 'b'), 'b/SKILL.md': needing('b', 'a') })

  expect(missing.map(shortOf)).toEqual(['dependency-missing a/SKILL.md:5:15'])
  expect(missing[0]?.message).toContain('"a" depends on "gone", and no skill that is served has that name')
  expect(cycle.map(shortOf)).toEqual(['dependency-cycle a/SKILL.md:5:15', 'dependency-cycle b/SKILL.md:5:15'])
})

test('a key that stands twice, a tab and a number beyond all are told where they stand', async () => {
  const at = async (lines: readonly string[]): Promise<string[]> =>
    (await diagnosticsOf({ 'a/SKILL.md': sound('a', lines) })).map(shortOf)

  expect(await at(['license: MIT', 'license: BSD'])).toEqual(['frontmatter-invalid a/SKILL.md:5:1'])
  expect(await at(['metadata:', '\ta: b'])).toEqual(['frontmatter-invalid a/SKILL.md:5:1'])
  expect(await at(['metadata:', '  a: .inf'])).toEqual(['frontmatter-invalid a/SKILL.md:5:6'])
  expect(await at(['x: &b c', 'metadata:', '  a: *b'])).toEqual(['frontmatter-invalid a/SKILL.md:6:6'])
  expect(await at(['x: &b c', 'z: *b', 'x: d'])).toEqual(['frontmatter-invalid a/SKILL.md:6:1'])
})

test('a colon in a value without quotes is told in words that need no knowledge of YAML', async () => {
  const [diagnostic] = await diagnosticsOf({ 'a/SKILL.md': skillMd(['name: a', 'author: Me: myself']) })

  expect(diagnostic?.message).toContain('a value holds ": " and is not quoted')
})
