import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { UsageError } from '../../../src/daemon/runtime/usage-error.ts'
import { rootsOf } from '../../../src/features/author/roots.ts'
import { asNobody, fillFolder } from '../../support/content/folder.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const FILES = {
  'README.md': '',
  'skills/README.md': '',
  'skills/a/SKILL.md': '',
  'skills/a/references/b.md': '',
  'skills/a/inner/SKILL.md': '',
  'skills/a/inner/x.md': '',
  'skills/b/Skill.md': '',
  'node_modules/c/SKILL.md': '',
}

/** The folders that are looked at, from the one the user is in, and the files that lie in no skill. */
async function looked(...paths: readonly string[]): Promise<{ readonly shown: string[]; readonly outside: string[] }> {
  await using folder = await temporaryFolder()
  await fillFolder(folder.path, FILES)
  await symlink('skills', join(folder.path, 'link'))
  await symlink('loop', join(folder.path, 'loop'))
  const { roots, outside } = await rootsOf(
    paths.map((path) => path.replace('<here>', folder.path)),
    folder.path,
  )
  return { shown: roots.map(({ shown }) => shown.replace(folder.path, '<here>')), outside: [...outside] }
}

test.each([
  ['a folder', ['skills'], ['skills']],
  ['where the user is', ['.'], ['']],
  ['a SKILL.md', ['skills/a/SKILL.md'], ['skills/a']],
  ['a SKILL.md that is called otherwise', ['skills/b/Skill.md'], ['skills/b']],
  ['a file of a skill', ['skills/a/references/b.md'], ['skills/a']],
  ['a file of a skill in a skill', ['skills/a/inner/x.md'], ['skills/a/inner']],
  ['a folder with one below it', ['skills/a', 'skills'], ['skills']],
  ['a folder by many names', ['skills', 'skills/', './skills', '<here>/skills', 'link', 'link/a/..'], ['skills']],
  ['a folder in one that is passed over', ['.', 'node_modules/c'], ['', 'node_modules/c']],
])('%s is looked at once', async (_, paths, shown) => {
  expect(await looked(...paths)).toEqual({ shown, outside: [] })
})

test('files that lie in no skill are passed over, and named', async () => {
  const found = await looked('README.md', 'skills/README.md', 'skills/a/SKILL.md')

  expect(found).toEqual({ shown: ['skills/a'], outside: ['README.md', 'skills/README.md'] })
})

test('a skill around the repository is not one that its files lie in', async () => {
  await using folder = await temporaryFolder()
  await fillFolder(folder.path, { 'SKILL.md': '', 'repository/README.md': '' })
  await mkdir(join(folder.path, 'repository/.git'))

  const { outside } = await rootsOf(['repository/README.md'], folder.path)

  expect(outside).toEqual(['repository/README.md'])
})

test('a path that is not there, cannot be read or is nothing to read is wrong usage', async () => {
  await expect(looked('gone')).rejects.toThrow(new UsageError('There is no "gone"'))
  await expect(looked('README.md/gone')).rejects.toThrow(new UsageError('There is no "README.md/gone"'))
  await expect(looked('loop')).rejects.toThrow(
    new UsageError('Cannot read "loop": a link in it leads to itself; name a skill, or a folder of skills'),
  )
  await expect(looked('/dev/null')).rejects.toThrow(
    new UsageError('"/dev/null" is neither a folder nor a plain file; name a folder, or a file of a skill'),
  )
})

test('a folder that may not be looked into is wrong usage too', async () => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'closed'))

  const looking = asNobody(join(folder.path, 'closed'), () => rootsOf(['closed'], folder.path))

  await expect(looking).rejects.toThrow(
    new UsageError('Cannot read "closed": permission denied; name a skill, or a folder of skills'),
  )
})

test.each([
  ['skills/a', 'by-link'],
  ['by-link', 'skills/a'],
])('a skill has the name of its folder, not of a link to it: %s, %s', async (...paths) => {
  await using folder = await temporaryFolder()
  await fillFolder(folder.path, FILES)
  await symlink('skills/a', join(folder.path, 'by-link'))

  const { roots } = await rootsOf(paths, folder.path)

  expect(roots.map(({ name }) => name)).toEqual(['a'])
})
