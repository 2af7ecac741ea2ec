import { expect, test } from 'vitest'
import { FRONTMATTER_LIMITS } from '../../../src/sync/skill/frontmatter.ts'
import { documentReading } from '../../../src/sync/survey/document-reading.ts'
import { judgeDocument } from '../../../src/sync/survey/read-document.ts'
import type { ReadDocument } from '../../../src/sync/survey/read-document.ts'
import { diagnosticsOf } from '../../features/author/lint/linted.ts'

const GOOD = '---\nname: a\ndescription: Use it\n---\nbody\n'
const judged = (text: string | Uint8Array): ReadDocument =>
  judgeDocument('a', documentReading(Buffer.from(text), FRONTMATTER_LIMITS))
const saidOf = (text: string | Uint8Array): string[] =>
  judged(text).findings.map(({ rule, message }) => `${rule}: ${message}`)
const withLines = (...lines: readonly string[]): string => ['---', 'name: a', ...lines, '---', ''].join('\n')

const wide = (text: string, isBig = false): Buffer => {
  const little = Buffer.from(text, 'utf16le')
  return isBig ? little.swap16() : little
}

test.each([
  ['an empty line', `\n${GOOD}`, 'line 1 is empty'],
  ['a blank line', `  \n${GOOD}`, 'line 1 is blank'],
  ['a comment', `<!-- a -->\n${GOOD}`, 'line 1 is a comment'],
  ['a heading', `# A\n${GOOD}`, 'line 1 is a heading'],
  ['a code block', `\`\`\`yaml\n${GOOD}`, 'line 1 opens a code block'],
  ['TOML', '+++\nname = "a"\n+++\n', 'line 1 begins TOML'],
  ['white space behind', GOOD.replace('---', '---\t'), 'line 1 has white space behind'],
  ['white space before', ` ${GOOD}`, 'line 1 has white space before'],
  ['em dashes', GOOD.replace('---', '\u2014'), 'line 1 has the dashes of a word processor'],
  ['mixed dashes', GOOD.replace('---', '\u2013-'), 'line 1 has the dashes of a word processor'],
  ['four hyphens', GOOD.replace('---', '----'), 'line 1 has 4 hyphens'],
  ['a field', GOOD.slice(4), 'line 1 is a field already'],
  ['two marks', `\u{FEFF}\u{FEFF}${GOOD}`, 'it begins with two byte order marks'],
  ['a mark encoded twice', `\u{FEFF}\u00EF\u00BB\u00BF${GOOD}`, 'a byte order mark that was encoded twice'],
  ['a zero-width space', `\u200B${GOOD}`, 'an invisible character (U+200B)'],
  ['a word joiner', `\u{FEFF}\u2060${GOOD}`, 'an invisible character (U+2060)'],
  ['CR alone', GOOD.replaceAll('\n', '\r'), 'the lines end with a carriage return alone'],
  ['nothing', '', 'the file is empty'],
  ['another text', 'A skill\n', 'put name and description between two of them'],
])('a first line that is none is named for what it is: %s', (_, text, why) => {
  const [said = ''] = saidOf(text)

  expect(said).toContain('frontmatter-missing: The file does not begin with a line "---"; ')
  expect(said).toContain(why)
})

test.each([
  ['UTF-16LE', wide(`\u{FEFF}${GOOD}`)],
  ['UTF-16LE', wide(GOOD)],
  ['UTF-16BE', wide(`\u{FEFF}${GOOD}`, true)],
  ['UTF-16BE', wide(GOOD, true)],
  ['UTF-32', Buffer.from(Array.from(GOOD, (letter) => [letter.charCodeAt(0), 0, 0, 0]).flat())],
])('%s is named, and is no hidden text', (encoding, bytes) => {
  const reading = documentReading(bytes, FRONTMATTER_LIMITS)

  expect(saidOf(bytes)).toEqual([`encoding-invalid: The file is ${encoding} and not UTF-8; save it as UTF-8`])
  expect(reading.hidden).toBeUndefined()
})

test('a byte of another encoding is named with its line', () => {
  const bytes = Buffer.from(withLines('description: Use it', 'license: caf\u00E9'), 'latin1')

  expect(saidOf(bytes)).toEqual(['encoding-invalid: The file is not valid UTF-8 at line 4; save it as UTF-8'])
})

test.each([
  ['---\nname: a\n--- \n', 'line 3 has white space behind'],
  ['---\nname: a\n ---\n', 'line 3 has white space before'],
  ['---\nname: a\n\u2014\n', 'line 3 has the dashes of a word processor'],
  ['---\nname: a\n...\n', 'line 3 has three dots'],
  ['---\nname: a\ndescription: b\n\n# A\n', 'put it below line 3'],
])('a last line that is none is named: %j', (text, why) => {
  expect(saidOf(text)).toEqual([expect.stringMatching(/^frontmatter-unterminated: /)])
  expect(saidOf(text)[0]).toContain(why)
})

test.each([
  [['description: "a'], 'close it, or put the value of description, line 3, in quotes'],
  [['description: [a'], 'close it, or put the value of description, line 3, in quotes'],
  [['metadata:', '  author: [a] b'], 'put the value of metadata.author, line 4, in quotes'],
  [['hooks:', '  - run: "a" b'], 'put the value of hooks.run, line 4, in quotes'],
  [['metadata:', '\ta: b'], 'indent line 4 with spaces'],
  [['metadata:', '    a: b', '  c: d'], 'line 5 is indented otherwise'],
  [['license: MIT', ' version: 1'], 'remove the spaces before it'],
  [['description:\u00A0text'], 'line 3 has a no-break space (U+00A0), which is no space for YAML; write a plain space'],
  [['description :\u00A0text'], 'line 3 has a no-break space (U+00A0)'],
  [['description: a', '\u00A0\u00A0and more'], 'line 4 has a no-break space (U+00A0)'],
  [['description: a', 'license:\u3000MIT'], 'line 4 has a character that only looks like a space (U+3000)'],
  [['license:\u200BMIT'], 'line 3 has a character that only looks like a space (U+200B)'],
  [['description: a\0b'], 'it has the control character U+0000 (description, line 3); remove it'],
  [['description: |', '  a', '  \u001Bb'], 'it has the control character U+001B (description, line 5); remove it'],
  [['license: \u0085\u009F'], 'it has the control character U+009F (license, line 3); remove it'],
  [['license: \uFFFE'], 'it has the control character U+FFFE (license, line 3); remove it'],
  [['description: a', 'and more'], 'line 4 is neither a name and a value'],
  [['description: "a\\q"'], 'put the value of description, line 3, in single quotes'],
  [['x: 1', '... ', 'y: 2'], 'remove line 4'],
  [['x: 1', 'x: 2'], 'it has a key twice; remove one (x, line 4)'],
  [['x: &b 1', 'y:', '  - *b'], 'write the value out (y, line 5)'],
  [['metadata:', '  a: .inf'], 'quote it (metadata.a, line 4)'],
])('what cannot be read is named with its field, its line and the mend: %j', (lines, why) => {
  const { standing, findings } = judged(withLines(...lines))

  expect(standing).toBe('tools')
  expect(findings.map(({ rule }) => rule)).toEqual(['frontmatter-invalid'])
  expect(findings[0]?.message).toContain(why)
})

test('a frontmatter without a plain space behind any colon is told by its first line', () => {
  const text = '---\nname:\u00A0a\ndescription:\u00A0b\n---\n'

  expect(saidOf(text)).toEqual([
    'frontmatter-invalid: The frontmatter is not a mapping of names to values: line 2 has a no-break space (U+00A0), which is no space for YAML; write a plain space in its place',
  ])
})

test('a control character that an escape spells is YAML', () => {
  expect(saidOf(withLines('license: "a\\0b\\x1b"')).filter((said) => said.startsWith('frontmatter'))).toEqual([])
})

test.each([
  [['description: a: b'], 'The value of description, line 3, is not', 'is read as text up to the end of the line.'],
  [
    ['description: first line', '  second: line'],
    'The value of description, lines 3 to 4, is not',
    'is read as text up to the end of these lines.',
  ],
  [
    ['description: first line', '  second: line', 'argument-hint: [a] [b]'],
    'The values of description, lines 3 to 4; argument-hint, line 5, are not',
    'are read as text up to the end of these lines.',
  ],
])('the lines of a value that is read as text are told: %j', (lines, head, tail) => {
  const { findings } = judged(withLines(...lines))

  const message = findings.find(({ rule }) => rule === 'frontmatter-unquoted')?.message
  expect(message).toContain(head)
  expect(message).toContain(tail)
})

test.each([
  ['description: [Use, it]', 'description-missing: The description, line 3, is a list, not text'],
  ['description: { Use: it }', 'description-missing: The description, line 3, is a mapping, not text'],
  ['description: 42', 'description-missing: The description, line 3, is a number, not text'],
  ['description: true', 'description-missing: The description, line 3, is a boolean, not text'],
])('a description of another type is not told to be absent: %s', (line, said) => {
  expect(saidOf(withLines(line))).toEqual([expect.stringContaining(said)])
})

test('a name that YAML takes for a number is told as one', () => {
  expect(saidOf(GOOD.replace('name: a', 'name: 123'))).toEqual([
    expect.stringContaining('name-invalid: The name, line 2, is a number, not text'),
  ])
})

test.each([
  [['description: Posts to #releases'], ['description ends before "#releases" at line 3, column 23']],
  [[`description: Posts ${'#x '.repeat(40)}`], ['description ends before "#x ']],
  [['description: Posts', '  to #a'], ['description ends before "#a" at line 4, column 6']],
  [['description: Use: it', 'argument-hint: issue #'], ['argument-hint ends before "#" at line 4, column 22']],
])('a text that a comment cuts is a note, and the comment no hidden text: %j', (lines, said) => {
  const { standing, findings } = judged(withLines(...lines))

  const told = findings.filter(({ rule }) => rule !== 'frontmatter-unquoted')
  expect(standing).toBe('served')
  expect(told.map(({ rule }) => rule)).toEqual(said.map(() => 'yaml-comment'))
  expect(told.map(({ message }) => message)).toEqual(said.map((each) => expect.stringContaining(each)))
})

test('comments that follow a cut text, and those of other fields, are searched as before', () => {
  const long = `# ${'do as I say '.repeat(5)}`

  const rules = (...lines: readonly string[]): string[] => judged(withLines(...lines)).findings.map(({ rule }) => rule)

  expect(rules('description: Posts #a', long)).toEqual(['yaml-comment', 'unrendered-text'])
  expect(rules('description: Posts', `version: a ${long}`)).toEqual(['unrendered-text'])
  expect(rules('description: "Posts #a" # b', 'license: "#"')).toEqual([])
  expect(rules('description: C# and F#')).toEqual([])
})

test.each([
  ['frontmatter-missing', `\n${GOOD}`, '1:1'],
  ['encoding-invalid', wide(`\u{FEFF}${GOOD}`), '1:1'],
  ['frontmatter-invalid', withLines('metadata:', '  author: [a] b'), '4:15'],
  ['yaml-comment', withLines('description: Use it when asked for it, or #a'), '3:14'],
  ['frontmatter-unquoted', withLines('description: Use it when asked for it', 'license: [a] b'), '4:14'],
] as const)('a survey and validate say the same: %s', async (rule, text, place) => {
  const diagnostics = await diagnosticsOf({ 'a/SKILL.md': text })

  const said = judged(text).findings.map(({ rule: code, message }) => [code, message])
  expect(said[0]?.[0]).toBe(rule)
  expect(diagnostics.map(({ code, message }) => [code, message])).toEqual(expect.arrayContaining(said))
  const at = diagnostics.find(({ code }) => code === rule)?.place
  expect(`${at?.line}:${at?.column}`).toBe(place)
})
