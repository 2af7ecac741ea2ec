import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { CODE_TABLES, withCodeTables } from '../support/content/code-tables.ts'

const PAGES = ['authors', 'troubleshooting'].map((name) => `docs/${name}.md`)

test.each(PAGES)('%s has the codes as the program has them (UPDATE_CODES=1 writes them anew)', async (page) => {
  const file = fileOf(page)
  const fresh = withCodeTables(await readFile(file, 'utf8'))

  if (process.env['UPDATE_CODES'] === '1') await writeFile(file, fresh)

  expect(await readFile(file, 'utf8'), 'run this test with UPDATE_CODES=1, and commit the file').toBe(fresh)
})

test('each table of codes is in one page', async () => {
  const texts = await Promise.all(PAGES.map(async (page) => readFile(fileOf(page), 'utf8')))

  for (const name of CODE_TABLES()) expect(texts.join('\n').split(`<!-- codes ${name} -->`), name).toHaveLength(2)
})

test('a fix is shortened where a command is a step, and not where it is the subject', () => {
  const list = withCodeTables('<!-- codes error-codes -->\n\n<!-- end -->')

  expect(list).toContain('; skillsyncd approve SOURCE ID approves this one after all.')
  expect(list).toContain('; if the deletion is meant, approve it.')
})

function fileOf(page: string): string {
  return fileURLToPath(new URL(`../../${page}`, import.meta.url))
}
