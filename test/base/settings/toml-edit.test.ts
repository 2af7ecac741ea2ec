import * as fc from 'fast-check'
import { parse, stringify } from 'smol-toml'
import { expect, test } from 'vitest'
import { EditRefused } from '../../../src/base/settings/edit-refused.ts'
import type { TomlTable } from '../../../src/base/settings/settings-edit.ts'
import { withTables } from '../../../src/base/settings/toml-edit.ts'
import { lawRuns } from '../../support/law-runs.ts'

const HUB: TomlTable = { path: ['marketplaces', 'hub'], values: { source_type: 'git', source: 'https://hub/x.git' } }
const PLUGIN: TomlTable = { path: ['plugins', 'docs@hub'], values: { enabled: true } }
const TEXT = '[marketplaces.hub]\nsource_type = "git"\nsource = "https://hub/x.git"\n'

test('tables are added at the end, with the line breaks of the file', () => {
  expect(withTables('', [HUB, PLUGIN])).toMatchObject({
    text: `${TEXT}\n[plugins."docs@hub"]\nenabled = true\n`,
    changed: ['marketplaces.hub', 'plugins.docs@hub'],
  })
  expect(withTables('# mine\r\nmodel = "x"', [PLUGIN]).text).toBe(
    '# mine\r\nmodel = "x"\r\n\r\n[plugins."docs@hub"]\r\nenabled = true\r\n',
  )
})

test('a table with the same values is left as it is, in any form', () => {
  for (const text of [
    TEXT,
    `${TEXT}last_updated = 2026-01-01T00:00:00Z\n`,
    "marketplaces = { hub = { source = 'https://hub/x.git', source_type = 'git' } }",
    'marketplaces.hub.source_type = "git"\nmarketplaces.hub.source = "https://hub/x.git"',
  ])
    expect(withTables(text, [HUB])).toMatchObject({ text, changed: [] })
})

test('a table of which only tables below are there is opened', () => {
  const table = { path: ['marketplaces'], values: { restrict_to_allowed_sources: true } }
  const text = '[marketplaces.allowed_sources.x]\nsource = "git"\n'

  expect(withTables(text, [table]).text).toBe(`${text}\n[marketplaces]\nrestrict_to_allowed_sources = true\n`)
  expect(() => withTables(`[marketplaces]\n${text}`, [table])).toThrow('line 1: [marketplaces]')
})

test.each([
  ['a = 1\n[ marketplaces . "hub" ]\nsource = "other"', 'line 2: [marketplaces.hub] is there with other values'],
  ['marketplaces.hub = 1', 'line 1: [marketplaces.hub] is there'],
  ['x = 1\nmarketplaces = {}', 'line 2: [marketplaces.hub] cannot be added'],
  ['marketplaces = 1', 'line 1: [marketplaces.hub] cannot be added'],
  ['[[marketplaces]]\nname = "x"', 'cannot be added'],
  ['a = 1\na = 2', 'line 2: '],
  ['a = ', 'line 1: '],
  ['a = "\u0000"', 'line 1: '],
])('%j is refused', (text, message) => {
  const refused = () => withTables(text, [HUB])

  expect(refused).toThrow(EditRefused)
  expect(refused).toThrow(message)
})

const value = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.string(), { maxLength: 3 }))
const tables = fc.dictionary(fc.string({ minLength: 1 }), fc.oneof(value, fc.dictionary(fc.string(), value)))

test('an addition keeps all bytes before it, and is not made twice', () => {
  fc.assert(
    fc.property(tables, fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.boolean())), (foreign, values) => {
      const text = stringify(foreign)
      const table = { path: ['marketplaces', 'a "name" \\ of\u007Fany kind'], values }

      const { text: after } = withTables(text, [table])

      expect(after.startsWith(text)).toBe(true)
      expect(parse(after)).toEqual({ ...parse(text), ...parse(after.slice(text.length)) })
      expect(withTables(after, [table])).toMatchObject({ text: after, changed: [] })
    }),
    { numRuns: lawRuns(5_000, 0.05) },
  )
})
