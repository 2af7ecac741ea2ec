import { mkdir, readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isTemporary, temporaryIn, writeWhole } from '../../../../src/sync/store/files/atomic.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

test('a file is replaced whole, and nothing else is left in its folder', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'current')

  await writeWhole(path, 'a long first text\n')
  await writeWhole(path, '2\n')

  expect(await readFile(path, 'utf8')).toBe('2\n')
  expect(await readdir(folder.path)).toEqual(['current'])
  expect((await stat(path)).mode & 0o777).toBe(0o600)
})

test('a write that cannot be finished is store-failed and leaves no litter', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'current')
  await mkdir(path)

  const writing = writeWhole(path, '1\n')

  await expect(writing).rejects.toMatchObject({ code: 'store-failed', message: `Cannot write "${path}": EISDIR` })
  expect(await readdir(folder.path)).toEqual(['current'])
})

test('many writers of one file leave the bytes of one of them, whole', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'current')
  const texts = Array.from({ length: 20 }, (_, number) => `${number}`.repeat(10_000))

  await Promise.all(texts.map((text) => writeWhole(path, text)))

  expect(texts).toContain(await readFile(path, 'utf8'))
  expect(await readdir(folder.path)).toEqual(['current'])
})

test('a temporary name is told from every name that the store gives', () => {
  const names = ['current', 'format', '.tmp-', '.tmp-notes', 'a'.repeat(64), `${'a'.repeat(64)}.json`, '1.json']

  expect(isTemporary(temporaryIn(''))).toBe(true)
  expect(names.filter(isTemporary)).toEqual([])
})
