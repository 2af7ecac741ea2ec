import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { manualPage } from '../../../man/page.ts'
import { optionsOf } from '../../../src/daemon/cli/help.ts'
import { COMMANDS } from '../../../src/daemon/command-table.ts'
import { VERSION } from '../../../src/serve/version.ts'
import { neededProgram } from '../../support/process/has-program.ts'

const FILE = fileURLToPath(new URL('../../../man/skillsyncd.1', import.meta.url))
const commands = await Promise.all([...COMMANDS.values()].map(({ load }) => load()))

test('man/skillsyncd.1 is what the commands make (UPDATE_MAN=1 writes it anew)', async () => {
  const fresh = await manualPage(VERSION)

  if (process.env['UPDATE_MAN'] === '1') await writeFile(FILE, fresh)

  expect(await readFile(FILE, 'utf8'), 'run this test with UPDATE_MAN=1, and commit the file').toBe(fresh)
})

test('package.json tells npm of the page', async () => {
  const { man, files } = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8'))

  expect(man).toEqual(['man/skillsyncd.1'])
  expect(files).toContain('man/skillsyncd.1')
})

test('groff renders the page without a warning', () => {
  neededProgram('groff')
  const { status, stderr } = groff('-ww', '-z')

  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})

test('the rendered page names every command and option', () => {
  neededProgram('groff')
  const shown = groff('-rLL=200n', '-P-cbu').stdout

  const missing = commands.flatMap((command) =>
    [` ${command.name}`, ...Object.keys(optionsOf(command)).map((name) => `--${name}`)].filter(
      (word) => !shown.includes(word),
    ),
  )

  expect(shown).toContain('EXIT STATUS')
  expect(missing).toEqual([])
})

function groff(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync('groff', ['-man', '-Tutf8', ...args, FILE], { encoding: 'utf8' })
}
