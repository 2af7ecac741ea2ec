import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { firstBytes, readBounded } from '../../../src/daemon/runtime/plain-file.ts'
import { temporaryFolder } from '../../support/temporary.ts'

test('reads that give less than was asked for are gone on with, to the end of the file', async () => {
  const content = Buffer.from('some bytes of a file')
  const inPieces = {
    read: async (buffer: Buffer, offset: number, length: number, position: number) => {
      return { buffer, bytesRead: content.copy(buffer, offset, position, position + Math.min(length, 3)) }
    },
  } as any

  const all = await firstBytes(inPieces, 100)
  const some = await firstBytes(inPieces, 7)

  expect(Buffer.from(all)).toEqual(content)
  expect(Buffer.from(some).toString()).toBe('some by')
})

test('of a plain file one byte more than the bound is read at most, and of a folder nothing', async () => {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'file')
  await writeFile(file, '12345')
  await mkdir(join(folder.path, 'folder'))

  const ends = [await readBounded(file, 3), await readBounded(file, 5), await readBounded(file, 9)]

  expect(ends.map((bytes) => bytes?.length)).toEqual([4, 5, 5])
  expect(await readBounded(join(folder.path, 'folder'), 9)).toBeUndefined()
})
