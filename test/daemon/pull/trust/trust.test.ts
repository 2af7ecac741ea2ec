import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { readTrust } from '../../../../src/daemon/pull/trust/trust.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

test('the files are read anew each time, and one that is not named is not looked for', async () => {
  await using folder = await temporaryFolder()
  const allowedSigners = join(folder.path, 'signers')
  const signed = { require: 'both', allowedSigners, keyring: undefined } as const

  await writeFile(allowedSigners, 'first\n')
  const before = await readTrust(signed)
  await writeFile(allowedSigners, 'sécond\n')
  const after = await readTrust(signed)

  expect(before).toEqual({ require: 'both', allowedSigners: 'first\n', keyring: undefined })
  expect(after).toEqual({ require: 'both', allowedSigners: 'sécond\n', keyring: undefined })
})

test('a file of 1 MiB is read', async () => {
  await using folder = await temporaryFolder()
  const keyring = join(folder.path, 'keyring')
  await writeFile(keyring, '\n'.repeat(2 ** 20))

  const trust = await readTrust({ require: 'tag', allowedSigners: undefined, keyring })

  expect(trust.keyring).toHaveLength(2 ** 20)
})

test.each([
  ['Cannot read', 'no such file', async () => {}],
  ['Cannot read', 'it is not a plain file', async (path: string) => mkdir(path)],
  ['Cannot read', 'it is not a plain file', async (path: string) => promisify(execFile)('mkfifo', [path])],
  ['Cannot use', 'it is over 1048576 bytes', async (path: string) => writeFile(path, '#'.repeat(2 ** 20 + 1))],
  ['Cannot use', 'it is not valid UTF-8', async (path: string) => writeFile(path, Buffer.from([0xff]))],
])('%s: a file is named of which it is said that %s', async (attempt, why, make) => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'file')
  await make(path)

  await expect(readTrust({ require: 'commit', allowedSigners: path, keyring: undefined })).rejects.toMatchObject({
    code: 'revision-unverified',
    message: `${attempt} the allowed signers "${path}": ${why}`,
  })
  await expect(readTrust({ require: 'commit', allowedSigners: undefined, keyring: path })).rejects.toMatchObject({
    code: 'revision-unverified',
    message: `${attempt} the keyring "${path}": ${why}`,
  })
})
