import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { EditRefused } from '../../../src/base/settings/edit-refused.ts'
import { withMembers } from '../../../src/base/settings/jsonc-edit.ts'
import { parseJsonc } from '../../../src/base/settings/jsonc-tree.ts'
import type { JsonMember } from '../../../src/base/settings/settings-edit.ts'
import { lawRuns } from '../../support/law-runs.ts'

const PLUGIN: JsonMember = { path: ['enabledPlugins', 'docs@acme'], value: true }
const URL: JsonMember = { path: ['chat.plugins.marketplaces'], item: 'https://hub/marketplace.git' }

function edited(text: string, ...members: readonly JsonMember[]): string {
  return withMembers(text, members).text
}

test('an empty file becomes an object', () => {
  expect(edited('', PLUGIN)).toBe('{\n  "enabledPlugins": {\n    "docs@acme": true\n  }\n}\n')
  expect(edited('\uFEFF\r\n', PLUGIN).startsWith('\uFEFF{')).toBe(true)
})

test('comments stay with the members before them, and the indent is that of the file', () => {
  const text = '{\n\t// mine\n\t"theme": "dark", // why\n\t"enabledPlugins": {\n\t\t"a@b": false // off\n\t}\n}\n'

  expect(edited(text, PLUGIN)).toBe(text.replace('false // off\n', 'false, // off\n\t\t"docs@acme": true\n'))
})

test('a trailing comma, Windows line breaks and a byte order mark stay', () => {
  const text = '\uFEFF{\r\n    "a": 1, /* one */\r\n}\r\n'

  expect(edited(text, { path: ['b'], value: { c: 2 } })).toBe(
    '\uFEFF{\r\n    "a": 1, /* one */\r\n    "b": {\r\n        "c": 2\r\n    }\r\n}\r\n',
  )
})

test.each([
  ['{}', '{\n  "b": 1\n}'],
  ['{ /* empty */ }', '{ /* empty */\n  "b": 1\n }'],
  ['{\n  // none yet\n}', '{\n  // none yet\n  "b": 1\n}'],
  ['{"a":[]}', '{"a":[], "b": 1}'],
  ['{"a":1 // one\n}', '{"a":1, // one\n"b": 1\n}'],
  ['{\n  "b": /* two */ 2\n}', '{\n  "b": /* two */ 1\n}'],
])('a member of %j', (text, after) => {
  expect(edited(text, { path: ['b'], value: 1 })).toBe(after)
})

test('a change is shown with its old value, and without any other setting', () => {
  const text = '{"env":{"KEY":"s3cret"},"enabledPlugins":{"docs@acme":false},"a":"s3cret"}'

  expect(withMembers(text, [PLUGIN, URL]).shown).toEqual([
    '-enabledPlugins → docs@acme: false',
    '+enabledPlugins → docs@acme: true',
    '+chat.plugins.marketplaces: "https://hub/marketplace.git"',
  ])
})

test('an earlier address is shown without what may be a token in it', () => {
  const old = { url: 'https://me:tok-1@hub.example/tok-2/marketplace.git?key=tok-3', source: 'git' }
  const text = JSON.stringify({ marketplace: old })

  const { shown } = withMembers(text, [{ path: ['marketplace'], value: { url: 'https://hub.example/x' } }])

  expect(shown).toEqual([
    '-marketplace: {"url":"https://hub.example/…","source":"git"}',
    '+marketplace: {"url":"https://hub.example/x"}',
  ])
})

test('an item is appended to its array once', () => {
  const text = '{\n  "chat.plugins.marketplaces": [\n    "https://other/x.git",\n  ]\n}\n'
  const after = text.replace('x.git",\n', 'x.git",\n    "https://hub/marketplace.git"\n')

  expect(withMembers(text, [URL])).toMatchObject({ text: after, changed: ['chat.plugins.marketplaces'] })
  expect(withMembers(after, [URL])).toMatchObject({ text: after, changed: [] })
})

test.each([
  ['{"a": 1, "a": 2}', 'line 1: the key "a" is there twice'],
  [String.raw`{"a": 1, "\u0061": 2}`, 'the key "a" is there twice'],
  ['{\n"enabledPlugins": []}', 'line 2: "enabledPlugins" is not an object'],
  ['{"chat.plugins.marketplaces": "x"}', '"chat.plugins.marketplaces" is not an array'],
  ['[]', 'the file is not an object'],
  ['{"a": 1} {}', 'the end of the file is expected'],
  ['{"a" 1}', 'a colon is expected'],
  ['{"a": 1 "b": 2}', 'a comma or "}" is expected'],
  ['{"a": "\n"}', 'a value in quotes is expected'],
  ['{,}', 'a key in quotes is expected'],
  ['{"a": 01}', 'a comma or "}" is expected'],
  ['{"a": /* open }', 'a value of JSON is expected'],
  ['// nothing', 'a value of JSON is expected'],
  [`{"a": ${'['.repeat(200)}`, 'more than 100 levels'],
])('%j is refused', (text, message) => {
  const refused = () => withMembers(text, [PLUGIN, URL])

  expect(refused).toThrow(EditRefused)
  expect(refused).toThrow(message)
})

test('a mebibyte of one comment, string or white space is read', () => {
  const much = 2 ** 20
  for (const text of [
    `{/*${'*'.repeat(much)}*/}`,
    `{"a": "${String.raw`\n`.repeat(much / 2)}"}`,
    `{${' \n'.repeat(much / 2)}}`,
    `{"a": [${'1,'.repeat(much / 2)}]}`,
    `{${'//\n'.repeat(much / 3)}}`,
  ])
    expect(parseJsonc(edited(text, PLUGIN))?.value).toMatchObject({ enabledPlugins: { 'docs@acme': true } })
})

const trivia = fc.stringMatching(/^(?:[ \t\n]|\r\n|\/\/[ a-z"{},:\\]*\r?\n|\/\*[ a-z"{},:\n]*\*\/){0,3}$/)
const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)).map((each) => JSON.stringify(each))
const keys = fc.oneof(fc.string(), fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor'))

/** A text of JSON with comments, white space and trailing commas in each place where they may be. */
const { object } = fc.letrec<{ object: string; value: string }>((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, scalar, tie('object'), listOf(tie('value'), '[]')),
  object: fc
    .uniqueArray(fc.tuple(keys, trivia, tie('value')), { maxLength: 4, selector: ([key]) => key })
    .chain((members) =>
      listOf(
        fc.constantFrom(''),
        '{}',
        members.map(([key, gap, value]) => `${JSON.stringify(key)}${gap}:${gap}${value}`),
      ),
    ),
}))

function listOf(item: fc.Arbitrary<string>, [open, close]: string, given?: readonly string[]): fc.Arbitrary<string> {
  const items = given === undefined ? fc.array(item, { maxLength: 3 }) : fc.constant(given)
  return fc.tuple(items, trivia, trivia, fc.boolean()).map(([texts, before, after, hasTail]) => {
    const inner = texts.map((text) => `${before}${text}${after}`).join(',')
    return `${open}${inner}${hasTail && texts.length > 0 ? `,${after}` : before}${close}`
  })
}

/** JSON has no -0. */
const value = fc.jsonValue({ maxDepth: 2 }).map((each): unknown => JSON.parse(JSON.stringify(each)))
const members: fc.Arbitrary<JsonMember> = fc.oneof(
  fc.record({ path: fc.array(keys, { minLength: 1, maxLength: 3 }), value }),
  fc.record({ path: fc.array(keys, { minLength: 1, maxLength: 2 }), item: fc.string() }),
) as fc.Arbitrary<JsonMember>

test('an edit adds one piece and a comma, replaces one value, and a second edit changes nothing', () => {
  fc.assert(
    fc.property(object, members, (text, member) => {
      const before = parseJsonc(text)?.value
      const after = attempted(text, member)
      fc.pre(after !== undefined)

      expect(parseJsonc(after)?.value).toEqual(expectedOf(before, member))
      expect(attempted(after, member)).toBe(after)
      // A value that is replaced loses the comments in it.
      const isKept = isSubsequence(text, after) && commentsOf(text).every((each) => commentsOf(after).includes(each))
      expect(isKept || isThere(before, member)).toBe(true)
    }),
    { numRuns: lawRuns(20_000, 0.05) },
  )
})

function attempted(text: string, member: JsonMember): string | undefined {
  try {
    return edited(text, member)
  } catch (error) {
    if (error instanceof EditRefused) return undefined
    throw error
  }
}

function expectedOf(root: unknown, member: JsonMember): unknown {
  const copy = structuredClone(root) as Record<string, unknown>
  let node = copy
  const names = [...member.path]
  const last = names.pop() ?? ''
  for (const name of names) {
    if (!Object.hasOwn(node, name)) define(node, name, {})
    node = node[name] as Record<string, unknown>
  }
  if ('item' in member) {
    const items = Object.hasOwn(node, last) ? (node[last] as unknown[]) : []
    define(node, last, items.includes(member.item) ? items : [...items, member.item])
  } else define(node, last, structuredClone(member.value))
  return copy
}

function define(node: object, name: string, value: unknown): void {
  Object.defineProperty(node, name, { value, enumerable: true, configurable: true, writable: true })
}

function isThere(root: unknown, { path }: JsonMember): boolean {
  let node = root
  for (const name of path) {
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, name)) return false
    node = (node as Record<string, unknown>)[name]
  }
  return true
}

/** True if nothing of `text` is lost in `after`. */
function isSubsequence(text: string, after: string): boolean {
  let at = 0
  for (const each of after) if (each === text[at]) at += 1
  return at === text.length
}

function commentsOf(text: string): readonly string[] {
  return [...text.matchAll(/"(?:[^"\\]|\\.)*"|(\/\/[^\r\n]*|\/\*[\s\S]*?\*\/)/g)].flatMap(
    ([, comment]) => comment ?? [],
  )
}
