import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { Store } from '../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { sourceId } from './samples.ts'

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

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
