import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { CODE_TABLES, withCodeTables } from '../support/content/code-tables.ts'

const FILE = fileURLToPath(new URL('../../docs/troubleshooting.md', import.meta.url))

test('docs/troubleshooting.md has the codes as the program has them (UPDATE_CODES=1 writes them anew)', async () => {
  const text = await readFile(FILE, 'utf8')
  const fresh = withCodeTables(text)

  if (process.env['UPDATE_CODES'] === '1') await writeFile(FILE, fresh)

  expect(await readFile(FILE, 'utf8'), 'run this test with UPDATE_CODES=1, and commit the file').toBe(fresh)
  for (const name of CODE_TABLES()) expect(text.split(`<!-- codes ${name} -->`), name).toHaveLength(2)
})
