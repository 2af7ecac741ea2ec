import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { CALLS } from '../../../src/daemon/command-table.ts'
import { RESULTS, WITHOUT_JSON } from '../../support/json/commands.ts'
import { schemaText } from '../../support/json/schema.ts'

const FILE = fileURLToPath(new URL('../../../config/commands.schema.json', import.meta.url))

test('config/commands.schema.json is what test/support/json describes (UPDATE_SCHEMA=1 writes it anew)', async () => {
  const fresh = schemaText()

  if (process.env['UPDATE_SCHEMA'] === '1') await writeFile(FILE, fresh)

  const isFresh = (await readFile(FILE, 'utf8')) === fresh
  expect(isFresh, 'run this test with UPDATE_SCHEMA=1, and commit the file').toBe(true)
})

test('every command has its JSON in the schema, or prints none', () => {
  const described = Object.keys(RESULTS)
  const isDescribed = (name: string): boolean =>
    described.some((entry) => entry === name || entry.startsWith(`${name} `))

  const undescribed = [...CALLS.keys()].filter((name) => !isDescribed(name))

  expect(undescribed).toEqual(WITHOUT_JSON)
})

test('every entry of the schema is of a command', () => {
  const names = ['--version', ...CALLS.keys()]

  const strangers = Object.keys(RESULTS).filter(
    (entry) => !names.some((name) => entry === name || entry.startsWith(`${name} `)),
  )

  expect(strangers).toEqual([])
})
