import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolders } from '../../../../src/sync/store/files/make-folders.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

test('folders below one absent folder can be created at the same time', async () => {
  await using folder = await temporaryFolder()
  for (let round = 0; round < 50; round += 1) {
    const paths = Array.from({ length: 16 }, (_, index) => join(folder.path, `${round}/deep/${index}`))

    await Promise.all(paths.map(async (path) => makeFolders(path)))

    for (const path of paths) expect((await stat(path)).isDirectory()).toBe(true)
  }
})

test('a folder below a file cannot be created', async () => {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'file')
  await writeFile(file, '')

  await expect(makeFolders(file)).rejects.toMatchObject({ code: 'EEXIST' })
  await expect(makeFolders(join(file, 'below'))).rejects.toMatchObject({ code: 'ENOTDIR' })
})
