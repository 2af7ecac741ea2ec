import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { expandTemplate, readTemplate } from '../../../../src/features/mcp-sources/upstream/template.ts'

/** A segment as a template has it: text, a variable, or one within the other. */
const segment = fc
  .tuple(fc.stringMatching(/^[a-z0-9_.-]{0,4}$/), fc.constantFrom('', 'a', 'b.c', 'D_1'))
  .chain(([text, name]) => {
    const variable = name === '' ? '' : `{${name}}`
    return fc.constantFrom(`${text}${variable}`, `${variable}${text}`)
  })
const template = fc
  .array(segment, { minLength: 1, maxLength: 5 })
  .map((segments) => `skill://${segments.join('/')}/SKILL.md`)
const value = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('..', '.', '/', '../..', '%2e%2e', '%2F', 'a/b', '?', '#', '\\', '\0', '\uD800', '{a}', ':', '@'),
)
const values = fc.record({ a: value, 'b.c': value, D_1: value })

test('a value never leaves its segment: what is made has those of the template, each as it was but for its values', () => {
  fc.assert(
    fc.property(template, values, (raw, given) => {
      const read = readTemplate(raw)
      if (!read.ok) return
      const made = expandTemplate(read.template, new Map(Object.entries(given)))
      if (!made.ok) return

      const wanted = raw
        .split('/')
        .map((part) => part.replaceAll(/\{(.*?)\}/g, (_, name: keyof typeof given) => given[name]))
      expect(made.uri.split('/').map(decodeURIComponent)).toEqual(wanted)
      expect(made.uri.slice('skill://'.length)).toMatch(/^[A-Za-z0-9%._~/-]*$/)
      expect(wanted.slice(2)).not.toContain('..')
    }),
  )
})

test('every value without separators and dots alone is taken', () => {
  const plain = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 50 })
    .filter((text) => !/[/\\\0]|^\.+$/.test(text))
  fc.assert(
    fc.property(plain, (text) => {
      const read = readTemplate('skill://docs/{v}/SKILL.md')
      if (!read.ok) throw new Error(read.why)

      expect(expandTemplate(read.template, new Map([['v', text]]))).toEqual({
        ok: true,
        uri: expect.stringMatching(/^skill:\/\/docs\/[^/]+\/SKILL\.md$/),
      })
    }),
  )
})

test('no text makes the reading of a template fail but by a reason', () => {
  const anything = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.stringMatching(/^skill:\/\/[{}a+*,:./]{0,20}\/SKILL\.md$/),
  )
  fc.assert(
    fc.property(anything, (raw) => {
      const read = readTemplate(raw)

      expect(read.ok ? read.template.variables : read.why.length).not.toBe(0)
    }),
  )
})

test.each([
  ['{+v}', '"{+v}" is not a plain variable'],
  ['{#v}', '"{#v}" is not a plain variable'],
  ['{/v}', '"{/v}" is not a plain variable'],
  ['{?v}', '"{?v}" is not a plain variable'],
  ['{v*}', '"{v*}" is not a plain variable'],
  ['{v:3}', '"{v:3}" is not a plain variable'],
  ['{v,w}', '"{v,w}" is not a plain variable'],
  ['{}', '"{}" is not a plain variable'],
  ['{{v}}', 'it has a brace that belongs to no variable'],
  ['v}', 'it has a brace that belongs to no variable'],
])('what is more than a plain variable is refused with the reason: %s', (part, why) => {
  expect(readTemplate(`skill://x/${part}/SKILL.md`)).toEqual({ ok: false, why: expect.stringContaining(why) })
})

test('what RFC 6570 reserves is encoded, all of it', () => {
  const read = readTemplate('skill://docs/{v}/SKILL.md')
  if (!read.ok) throw new Error(read.why)

  const made = expandTemplate(read.template, new Map([['v', "a:?#[]@!$&'()*+,;= é~"]]))

  expect(made).toEqual({
    ok: true,
    uri: 'skill://docs/a%3A%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D%20%C3%A9~/SKILL.md',
  })
})
