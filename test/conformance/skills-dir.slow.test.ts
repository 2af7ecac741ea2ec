import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Home } from '../support/process/program.ts'

describe('a skills directory that is none', () => {
  test.each([
    ['relative', 'skills', (home: Home) => `write --skills-dir ${join(home.path, 'skills')}`],
    ['relative with a dot', './skills', (home: Home) => `write --skills-dir ${join(home.path, 'skills')}`],
    ['of a shell', '~/skills', (home: Home) => `write --skills-dir ${join(home.path, 'skills')}`],
    ['empty', '', () => 'name the folder that holds your skills'],
    ['missing', '/nobody/has/this', () => 'is not a folder; make it'],
    ['a file', process.execPath, () => 'is not a folder; make it'],
  ])('%s: wrong usage, with the mend, and nothing on stdout', async (_, path, mend) => {
    await using home = await Home.create()
    await mkdir(join(home.path, 'skills'))

    const ends = await Promise.all([home.run('mcp', '--skills-dir', path), home.run('list', '--skills-dir', path)])

    for (const end of ends) {
      expect(end).toMatchObject({ status: 2, stdout: '' })
      expect(end.stderr).toContain('--skills-dir')
      expect(end.stderr).toContain(mend(home))
    }
  })

  test('the switch without a value, or beside a configuration, is wrong usage', async () => {
    await using home = await Home.create()
    await writeFile(home.configFile, 'sources: [{ id: a, path: . }]\n')

    const bare = await home.run('mcp', '--skills-dir')
    const both = await home.run('mcp', '--skills-dir', home.path, '--config', home.configFile)

    expect(bare).toMatchObject({ status: 2, stdout: '' })
    expect(both).toMatchObject({ status: 2, stdout: '' })
    expect(both.stderr).toContain('--skills-dir and --config exclude each other')
  })
})
