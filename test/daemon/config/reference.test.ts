import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { schemaJson } from '../../../src/daemon/config/schema-json.ts'
import { CONFIG } from '../../../src/daemon/configuration.ts'
import { configReference } from '../../support/content/config-reference.ts'

const FILE = fileURLToPath(new URL('../../../docs/configuration.md', import.meta.url))

test('docs/configuration.md is what the schema makes (UPDATE_SCHEMA=1 writes it anew)', async () => {
  const fresh = configReference(schemaJson(CONFIG))

  if (process.env['UPDATE_SCHEMA'] === '1') await writeFile(FILE, fresh)

  expect(await readFile(FILE, 'utf8'), 'run this test with UPDATE_SCHEMA=1, and commit the file').toBe(fresh)
})

test('every key of the schema has a row, with what it takes', () => {
  const rows = configReference(schemaJson(CONFIG))
    .split('\n')
    .filter((line) => line.startsWith('| `'))

  const unclear = rows.filter((row) => /\| {2}\|/.test(row) || row.endsWith('|  |'))

  expect(rows.some((row) => row.startsWith('| `sources[].auth.github_app.app_id` | a number |'))).toBe(true)
  expect(rows.some((row) => row.startsWith('| `limits.disk.bytes` | a size'))).toBe(true)
  expect(unclear).toEqual([])
})
