import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { TokenUses } from '../../../src/daemon/access/token-uses.ts'
import { Tokens, expiringIn, newToken } from '../../../src/daemon/access/tokens.ts'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
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

test('a renewed token keeps its secret and what goes on in its name, and one that expired counts again', async () => {
  let now = NOW
  tokens = new Tokens(folder.path, () => now)
  const { secret, sha256 } = newToken()
  await tokens.add({
    name: 'ada',
    sha256,
    scopes: ['skills'],
    created: NOW.toISOString(),
    expires: '2026-06-16T12:00:00.000Z',
  })
  const principal = tokens.principalOf(secret)
  now = new Date('2026-06-17T12:00:00.000Z')
  const before = [principal?.isOver?.(), tokens.principalOf(secret)]

  await tokens.renew('ada', '2026-09-01T00:00:00.000Z')

  expect(before).toEqual([true, undefined])
  expect([principal?.isOver?.(), tokens.principalOf(secret)?.id]).toEqual([false, principal?.id])
  await tokens.renew('ada', undefined)
  expect(await new Tokens(folder.path, () => now).read()).toEqual([
    expect.not.objectContaining({ expires: expect.anything() }),
  ])
  await expect(tokens.renew('brian', undefined)).rejects.toThrow('no token of that name')
})

test('a token that was changed by hand in another way is another one, and what went on in its name is over', async () => {
  const principal = tokens.principalOf(await add('ada'))
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace('"skills"', '"tools"'))

  await tokens.renew('ada', '2026-09-01T00:00:00.000Z')

  expect(principal?.isOver?.()).toBe(true)
})

test('the last use of a token is recorded once an hour, and what is not a record of it is as none', async () => {
  let now = NOW
  tokens = new Tokens(folder.path, () => now)
  const ada = await add('ada')
  await add('brian')
  const uses = join(folder.path, 'token-uses.json')
  const recorded = async () => [...(await new Tokens(folder.path, () => now).lastUses()).values()]

  expect(await recorded()).toEqual([])
  tokens.principalOf(ada)
  await expect.poll(recorded).toEqual([NOW.toISOString()])
  now = new Date('2026-06-15T12:59:00.000Z')
  tokens.principalOf(ada)
  now = new Date('2026-06-15T13:00:00.000Z')
  tokens.principalOf(ada)
  await expect.poll(recorded).toEqual([now.toISOString()])
  expect(await readFile(uses, 'utf8')).not.toContain(ada)
  await writeFile(uses, '{"uses": 3}')
  expect(await recorded()).toEqual([])
})

test('a use that the disk does not take is recorded with a later one', async () => {
  let refusals = 0
  const uses = new TokenUses(folder.path, async () => {
    if (refusals > 0) return
    refusals += 1
    throw new SyncError('store-failed', 'Cannot write: no space is left')
  })

  uses.record('aa', NOW)
  const recorded = async () => {
    uses.record('aa', NOW)
    return [...(await uses.read())]
  }

  await expect.poll(recorded).toEqual([['aa', NOW.toISOString()]])
  expect(refusals).toBe(1)
})

test('the tokens that expire within two weeks, or did in the last two, are named, the first one first', () => {
  const at = (days: number): string => new Date(NOW.getTime() + days * 86_400_000).toISOString()
  const named = (name: string, expires?: string) => ({
    name,
    sha256: newToken().sha256,
    scopes: ['skills'] as const,
    created: NOW.toISOString(),
    ...(expires !== undefined && { expires }),
  })

  const found = expiringIn(
    [named('never'), named('far', at(15)), named('near', at(13)), named('over', at(-1)), named('past', at(-15))],
    NOW,
  )

  expect(found).toEqual([
    { name: 'over', expires: at(-1) },
    { name: 'near', expires: at(13) },
  ])
})

test('no more tokens are added than the file may hold', async () => {
  await add('ada')
  const stored = JSON.parse(await readFile(file, 'utf8'))
  const [ada] = stored.tokens
  const many = Array.from({ length: 1_000 }, (_, at) => ({ ...ada, name: `n${at}`, sha256: newToken().sha256 }))
  await writeFile(file, JSON.stringify({ ...stored, tokens: many }))

  await expect(add('brian')).rejects.toMatchObject({
    code: 'limit-exceeded',
    message: expect.stringMatching(/revoke some first$/),
  })
})

async function add(name: string): Promise<string> {
  const { secret, sha256 } = newToken()
  await tokens.add({ name, sha256, scopes: ['skills'], created: NOW.toISOString() })
  return secret
}
