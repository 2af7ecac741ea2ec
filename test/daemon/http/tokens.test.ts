import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Tokens, newToken } from '../../../src/daemon/http/tokens.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const NOW = new Date('2026-06-15T12:00:00.000Z')

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let file: string
let tokens: Tokens
beforeEach(async () => {
  folder = await temporaryFolder()
  file = join(folder.path, 'tokens.json')
  tokens = new Tokens(folder.path, () => NOW)
  await tokens.read()
})
afterEach(async () => folder[Symbol.asyncDispose]())

test('a file that was damaged since it was read is not written over', async () => {
  await add('ada')
  const damaged = (await readFile(file, 'utf8')).slice(0, -20)
  await writeFile(file, damaged)

  await expect(add('brian')).rejects.toThrow('it is damaged')
  await expect(tokens.revoke('ada')).rejects.toThrow('it is damaged')

  expect(await readFile(file, 'utf8')).toBe(damaged)
})

test('a file that was damaged when it was read can be mended, and counts from the next change on', async () => {
  const ada = await add('ada')
  const whole = await readFile(file, 'utf8')
  await writeFile(file, whole.slice(0, -20))
  const later = new Tokens(folder.path, () => NOW)
  await expect(later.read()).rejects.toThrow('it is damaged')
  await writeFile(file, whole)

  await later.add({ name: 'brian', sha256: newToken().sha256, scopes: ['skills'], created: NOW.toISOString() })

  expect(later.all?.map(({ name }) => name)).toEqual(['ada', 'brian'])
  expect(later.principalOf(ada)).toBeDefined()
})

test('what somebody changed by hand is in force from the next change on', async () => {
  const ada = await add('ada')
  const principal = tokens.principalOf(ada)
  await rm(file)

  await add('brian')

  expect(tokens.all?.map(({ name }) => name)).toEqual(['brian'])
  expect([tokens.principalOf(ada), principal?.isOver?.()]).toEqual([undefined, true])
})

test('what goes on in the name of a token goes on when another one is added or revoked', async () => {
  const principal = tokens.principalOf(await add('ada'))

  await add('brian')
  await tokens.revoke('brian')

  expect(principal?.isOver?.()).toBe(false)
})

async function add(name: string): Promise<string> {
  const { secret, sha256 } = newToken()
  await tokens.add({ name, sha256, scopes: ['skills'], created: NOW.toISOString() })
  return secret
}
