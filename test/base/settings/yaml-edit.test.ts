import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { withItems, withoutItems, withTextKey } from '../../../src/base/settings/yaml-edit.ts'
import type { YamlRemoval } from '../../../src/base/settings/yaml-edit.ts'

const NEW = [{ value: { id: 'new', url: 'https://git.example.com/new' }, comment: 'main at 0123456789ab: 2 skills' }]
const ADDED = `- id: new
  url: https://git.example.com/new
`

test.each([
  [
    'an indented list, with comments and what comes after it',
    `# head
sources:
  # the first
  - id: team # ours
    url: https://git.example.com/team # here
  # the second
  - { id: other, url: "https://git.example.com/other" } # flow

# what serves them
serve: { http: { port: 0 } }
`,
    `# head
sources:
  # the first
  - id: team # ours
    url: https://git.example.com/team # here
  # the second
  - { id: other, url: "https://git.example.com/other" } # flow
  # main at 0123456789ab: 2 skills
  - id: new
    url: https://git.example.com/new

# what serves them
serve: { http: { port: 0 } }
`,
  ],
  [
    'a list whose last item has a comment at the beginning of a line',
    'sources:\n  - id: team\n# where\n    url: x\n# next\nserve: {}\n',
    `sources:\n  - id: team\n# where\n    url: x\n  # main at 0123456789ab: 2 skills\n  - id: new\n    url: https://git.example.com/new\n# next\nserve: {}\n`,
  ],
  [
    'a list that ends with a comment of its last item, before a comment of the next key',
    'sources:\n  - id: team\n    # update: locked\n\n# the address\nserve: {}\n',
    `sources:\n  - id: team\n    # update: locked\n  # main at 0123456789ab: 2 skills\n  - id: new\n    url: https://git.example.com/new\n\n# the address\nserve: {}\n`,
  ],
  [
    'a list that is not indented, at the end, without a line break',
    'sources:\n- id: team\n  url: x',
    `sources:\n- id: team\n  url: x\n# main at 0123456789ab: 2 skills\n${ADDED}`,
  ],
  [
    'a list in brackets',
    'sources: [{ id: team, url: x }] # one\nserve: {}\n',
    'sources: [{ id: team, url: x }, {"id":"new","url":"https://git.example.com/new"}] # one\nserve: {}\n',
  ],
  ['an empty list', 'sources: []\n', 'sources: [{"id":"new","url":"https://git.example.com/new"}]\n'],
  [
    'a file without the key, with other ends of lines',
    'serve: {}\r\n',
    'serve: {}\r\nsources:\r\n  # main at 0123456789ab: 2 skills\r\n  - id: new\r\n    url: https://git.example.com/new\r\n',
  ],
])('%s gets the items at its end', (_, before, after) => {
  expect(withItems(before, 'sources', NEW)).toBe(after)
})

test.each([
  ['no YAML', 'sources: [', /^line \d+: /],
  ['a key that is there twice', 'sources: []\nsources: []\n', /^line 2: .*unique/],
  ['no mapping', '- a\n', /^line 1: the file is not a mapping/],
  ['a text in place of the list', 'a: 1\nsources: many\n', /^line 2: sources is not a list/],
  ['no value', 'sources:\n', /^line 1: sources is not a list/],
  ['two documents', 'sources: []\n---\nsources: []\n', /^line \d+: /],
])('%s is refused with its line', (_, text, message) => {
  expect(() => withItems(text, 'sources', NEW)).toThrow(message)
})

test('whatever the file has, the items come last, and all other lines stay', () => {
  const name = fc.stringMatching(/^[a-z]{1,8}$/)
  const comment = fc.constantFrom('', ' # why', '  # - id: not one')
  const entry = fc.tuple(
    name,
    comment,
    fc.constantFrom('plain', '"quoted # no comment"', "'[x]'", '|\n      text\n      - more'),
  )
  const file = fc.record({
    before: fc.uniqueArray(fc.constantFrom('# - id: x', '', 'serve: { port: 0 }'), { maxLength: 2 }),
    entries: fc.array(entry, { minLength: 1, maxLength: 4 }),
    after: fc.uniqueArray(fc.constantFrom('# end', '', 'packs: []', 'limits:\n  a: 1'), { maxLength: 3 }),
    indent: fc.constantFrom('', '  '),
  })
  fc.assert(
    fc.property(file, ({ before, entries, after, indent }) => {
      const list = entries.flatMap(([id, remark, value]) => [
        `${indent}- id: ${id}${remark}`,
        `${indent}  note: ${value}`,
      ])
      const text = [...before, 'sources:', ...list, ...after, ''].join('\n')

      const edited = withItems(text, 'sources', NEW)

      const [was, is] = [parse(text), parse(edited)]
      expect(is).toEqual({ ...was, sources: [...was.sources, NEW[0]?.value] })
      const lines = edited.split('\n')
      const at = lines.findIndex((line) => line.endsWith('- id: new'))
      expect([...lines.slice(0, at - 1), ...lines.slice(at + 2)].join('\n')).toBe(text)
    }),
  )
})

const removing = (...ids: readonly string[]): YamlRemoval => ({
  key: 'sources',
  isRemoved: (value: any) => ids.includes(value?.id),
  isOwnComment: (comment) => comment.startsWith('main at '),
})

test.each([
  [
    'an item between others, with its own comments',
    `sources:
  # the first
  - id: team # ours
    url: x
  # main at 0123456789ab: 2 skills
  - id: gone # the first segment
    url: y # here
    # auth: { token: { env: X } }
  # the third
  - id: other
    url: z
`,
    `sources:
  # the first
  - id: team # ours
    url: x
  # the third
  - id: other
    url: z
`,
  ],
  [
    'the first item, whose heading stays',
    'sources:\n  # --- of the team ---\n  - id: gone\n    url: x\n\n  - id: team\n    url: y\n',
    'sources:\n  # --- of the team ---\n\n  - id: team\n    url: y\n',
  ],
  [
    'the last item, at the end of a file without a line break',
    'sources:\n- id: team\n  url: x\n- id: gone\n  url: y',
    'sources:\n- id: team\n  url: x\n',
  ],
  [
    'the first item in brackets',
    'sources: [{ id: gone, url: x }, { id: team, url: y }] # all\n',
    'sources: [{ id: team, url: y }] # all\n',
  ],
  [
    'the last item in brackets',
    'sources: [{ id: team, url: y }, { id: gone, url: x }]\n',
    'sources: [{ id: team, url: y }]\n',
  ],
  ['the only item', 'a: 1\nsources: # all\n  # why\n  - id: gone\nb: 2\n', 'a: 1\n  # why\nb: 2\n'],
  ['the only item in brackets', 'sources: [{ id: gone }]\r\nserve: {}\r\n', 'sources: []\r\nserve: {}\r\n'],
  [
    'an item in braces, with other ends of lines',
    'sources:\r\n  - { id: gone }\r\n  - { id: a }\r\n',
    'sources:\r\n  - { id: a }\r\n',
  ],
])('%s is removed, and every other byte stays', (_, before, after) => {
  expect(withoutItems(before, removing('gone'))).toBe(after)
})

test.each([
  ['before the next', 'sources: [\n  { id: gone }, # about gone\n  { id: team },\n]\n'],
  ['after the previous', 'sources: [\n  { id: team }, # about team\n  { id: gone }\n]\n'],
])('a comment between brackets, %s, is not removed with an item', (_, text) => {
  expect(() => withoutItems(text, removing('gone'))).toThrow(
    'line 2: a comment stands between the items; edit it by hand',
  )
})

test.each([
  [['a'], 'sources: [{ id: b }, { id: c }] # all\n'],
  [['b'], 'sources: [{ id: a }, { id: c }] # all\n'],
  [['c'], 'sources: [{ id: a }, { id: b }] # all\n'],
  [['a', 'b'], 'sources: [{ id: c }] # all\n'],
  [['b', 'c'], 'sources: [{ id: a }] # all\n'],
  [['a', 'c'], 'sources: [{ id: b }] # all\n'],
  [['a', 'b', 'c'], 'sources: [] # all\n'],
])('%j of three items in brackets are removed with their commas', (ids, after) => {
  expect(withoutItems('sources: [{ id: a }, { id: b }, { id: c }] # all\n', removing(...ids))).toBe(after)
})

test.each([
  ['no list', 'a: 1\nsources: many\n', /^line 2: sources is not a list/],
  ['an anchor that another item needs', 'sources:\n  - &a { id: gone }\n  - { id: b, like: *a }\n', /^line \d+: /],
])('%s is refused', (_, text, message) => {
  expect(() => withoutItems(text, removing('gone'))).toThrow(message)
})

test('whichever items are removed, the lines of the others and of all else stay', () => {
  const value = fc.constantFrom('plain', '"# no comment"', "'[x]'", '|\n      text\n      - more', '# nothing')
  const entries = fc.array(fc.record({ value, isGone: fc.boolean(), isNoted: fc.boolean() }), {
    minLength: 1,
    maxLength: 5,
  })
  fc.assert(
    fc.property(
      entries,
      fc.constantFrom('', '  '),
      fc.constantFrom('', '\n# end', '\n\nserve: {}'),
      (list, indent, end) => {
        const linesOf = list.map((entry, index) => [
          ...(entry.isNoted ? [`${indent}# note ${index}`] : []),
          [`${indent}- id: id-${index} # why`, `${indent}  note: ${entry.value}`].join('\n'),
        ])
        const textOf = (parts: readonly (readonly string[])[]): string =>
          `${['sources:', ...parts.flat()].join('\n')}\n${end.slice(1)}`
        const gone = list.flatMap(({ isGone }, index) => (isGone ? [`id-${index}`] : []))

        const edited = withoutItems(textOf(linesOf), removing(...gone))

        const kept = linesOf.map((lines, index) => (list[index]?.isGone === true ? lines.slice(0, -1) : lines))
        // A key whose list has no item left goes with the last.
        const isEmptied = gone.length === list.length
        expect(edited).toBe(isEmptied ? textOf(kept).replace('sources:\n', '') : textOf(kept))
      },
    ),
  )
})

test('a key with a text comes to the end, and one that is there is refused', () => {
  expect(withTextKey('a: 1 # one\n', 'state', '/var/lib/x')).toBe('a: 1 # one\nstate: /var/lib/x\n')
  expect(withTextKey('a: 1', 'state', '/with: a colon')).toBe('a: 1\nstate: "/with: a colon"\n')
  expect(() => withTextKey('state: /x\n', 'state', '/y')).toThrow('state is there already')
  expect(() => withTextKey('{ a: 1 }\n', 'state', '/y')).toThrow(/^line 1: /)
})
