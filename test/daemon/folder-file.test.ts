import { execFileSync } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readInside } from '../../src/daemon/folder-file.ts'
import { temporaryFolder } from '../support/temporary.ts'

test('a file of the expected size is read, and of another size it is only told that it is there', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'SKILL.md')
  await writeFile(path, 'twelve bytes')

  expect(await readInside(folder.path, 'SKILL.md', 12)).toEqual({ path, bytes: Buffer.from('twelve bytes') })
  expect(await readInside(folder.path, 'SKILL.md', 11)).toEqual({ path, bytes: undefined })
  expect(await readInside(folder.path, 'SKILL.md', 2 ** 40)).toEqual({ path, bytes: undefined })
})

test('links are followed inside the folder and not out of it, whoever made them', async () => {
  await using folder = await temporaryFolder()
  await using outside = await temporaryFolder()
  const root = join(folder.path, 'skills')
  await mkdir(join(root, 'real'), { recursive: true })
  await writeFile(join(root, 'real/SKILL.md'), 'in')
  await writeFile(join(outside.path, 'SKILL.md'), 'no')
  await mkdir(`${root}-beside`)
  await writeFile(join(`${root}-beside`, 'SKILL.md'), 'no')
  await symlink('real', join(root, 'alias'))
  await symlink(outside.path, join(root, 'away'))
  await symlink(`${root}-beside`, join(root, 'beside'))
  await symlink('loop', join(root, 'loop'))

  const read = async (name: string): Promise<string | undefined> => {
    const file = await readInside(root, join(name, 'SKILL.md'), 2)
    return file && Buffer.from(file.bytes ?? '').toString()
  }

  expect(await read('alias')).toBe('in')
  for (const name of ['away', 'beside', 'loop', '..', 'real/../../skills-beside', 'none']) {
    expect(await read(name), name).toBeUndefined()
  }
})

test('a folder that is reached by a link is a folder all the same', async () => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'skills'))
  await writeFile(join(folder.path, 'skills/SKILL.md'), 'in')
  const link = join(folder.path, 'link')
  await symlink('skills', link)

  expect(await readInside(link, 'SKILL.md', 2)).toEqual({ path: join(link, 'SKILL.md'), bytes: Buffer.from('in') })
})

test('what is no regular file is not waited for', async () => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'folder'))
  execFileSync('mkfifo', [join(folder.path, 'pipe')])

  expect(await readInside(folder.path, 'folder', 4096)).toBeUndefined()
  expect(await readInside(folder.path, 'pipe', 0)).toBeUndefined()
})
