import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { withItems } from '../../../src/base/settings/yaml-edit.ts'

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
  ['no mapping', '- a\n', /^line 1: the file is no mapping/],
  ['a text in place of the list', 'a: 1\nsources: many\n', /^line 2: sources is no list/],
  ['no value', 'sources:\n', /^line 1: sources is no list/],
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
