import { existsSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from './temporary.ts'

test('a temporary folder goes with its read-only files and folders', async () => {
  const folder = await temporaryFolder()
  const inner = join(folder.path, 'inner')
  await mkdir(inner)
  await writeFile(join(inner, 'file'), '', { mode: 0o444 })
  await chmod(inner, 0o555)

  await folder[Symbol.asyncDispose]()

  expect(existsSync(folder.path)).toBe(false)
})

test('two temporary folders are two folders', async () => {
  await using one = await temporaryFolder()
  await using other = await temporaryFolder()

  expect(one.path).not.toBe(other.path)
})
