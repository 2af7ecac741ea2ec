import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Store } from '../../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { sourceId } from '../samples.ts'

const TEAM = sourceId('team')

test('a file that is kept again takes no more of the budget than it did', async () => {
  await using folder = await temporaryFolder()
  const { upstreams } = await Store.open(folder.path)
  const [bytes, more] = [Buffer.from('twelve bytes'), Buffer.from('three')]
  const before = await upstreams.bytes(TEAM)

  await upstreams.keep(TEAM, digestOf(bytes), bytes)
  await upstreams.keep(TEAM, digestOf(bytes), bytes)
  await upstreams.keep(TEAM, digestOf(more), more)

  expect([before, await upstreams.bytes(TEAM)]).toEqual([0, 17])
  expect(await (await Store.open(folder.path)).upstreams.bytes(TEAM)).toBe(17)
})

test('what came from a server that is forgotten is counted no more', async () => {
  await using folder = await temporaryFolder()
  const { upstreams } = await Store.open(folder.path)
  const bytes = Buffer.from('twelve bytes')
  await upstreams.keep(TEAM, digestOf(bytes), bytes)
  const before = await upstreams.bytes(TEAM)

  const forgotten = await upstreams.forgetOthers(new Set())

  expect(forgotten).toEqual([TEAM])
  expect([before, await upstreams.bytes(TEAM)]).toEqual([12, 0])
})

test('what was found in texts is there after a restart, the newest where there is too much, and nothing of a damaged file', async () => {
  await using folder = await temporaryFolder()
  const { upstreams } = await Store.open(folder.path)
  const keys = Array.from({ length: 1_025 }, (_, index) => digestOf(Buffer.from(`${index}`)))
  const found = {
    count: 1,
    runs: [{ line: 1, column: 2, codePoints: [0xe_00_41], length: 1 }],
    deceit: 'smuggled',
  } as const
  const file = join(folder.path, 'upstreams/team/texts.json')
  await upstreams.addText(TEAM, keys[0]!, found)
  await writeFile(file, JSON.stringify(Object.fromEntries(keys.slice(0, -1).map((key) => [key, found]))))

  await upstreams.addText(TEAM, keys.at(-1)!, found)

  const kept = await (await Store.open(folder.path)).upstreams.texts(TEAM)
  expect([...kept.keys()]).toEqual(keys.slice(1))
  expect(kept.get(keys[1]!)).toEqual(found)
  const odd = { a: 7, b: { ...found, runs: [{}] }, c: { ...found, deceit: 'x' }, d: { ...found, count: -1 }, e: found }
  await writeFile(file, JSON.stringify(odd))
  expect([...(await upstreams.texts(TEAM)).keys()]).toEqual(['e'])
  await writeFile(file, '{')
  expect(await upstreams.texts(TEAM)).toEqual(new Map())
})

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
