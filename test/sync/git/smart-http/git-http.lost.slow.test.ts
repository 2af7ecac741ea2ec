import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { TakenBlob } from '../../../../src/sync/model/tree.ts'
import type { Repository } from '../../../support/git/repository.ts'
import { startFront } from '../../upstream/front.ts'
import { blobsOf, reach, STEADY } from '../../upstream/reached.ts'
import { failureOf, serve } from '../../upstream/served.ts'

test('blobs that the repository lost are absent, and the others come', async () => {
  await using served = await serve()
  const lost = await commitWithLost(served.repository)
  await using tree = await served.reached.tree()

  const taken = await tree.take(blobsOf(tree), STEADY)

  expect(refusedOf(taken)).toEqual(lost.map((id) => [id, 'absent']))
  expect(taken.size).toBe(40)
})

test('a server in trouble, that refuses blobs and names none, is not taken to lack them', async () => {
  await using served = await serve()
  const lost = await commitWithLost(served.repository)
  await using front = await startFront(
    served.server.origin,
    () => false,
    (body) => {
      if (!lost.some((id) => body.includes(id))) return undefined
      return Buffer.from('0024ERR aborting due to corruption\n!0000')
    },
  )
  await using reached = await reach(`${front.origin}/team.git`)
  await using tree = await reached.tree()

  const failure = await failureOf(tree.take(blobsOf(tree), STEADY))

  expect(failure).toMatchObject({ code: 'source-unreachable', message: expect.stringContaining('corruption') })
})

test('a server that refuses every lot is given up after a while', async () => {
  await using served = await serve()
  await commitWithLost(served.repository, 200)
  await using tree = await served.reached.tree()

  const failure = await failureOf(tree.take(blobsOf(tree), STEADY))

  expect(failure).toMatchObject({ code: 'source-unreachable' })
  expect(served.server.requests.length).toBeLessThan(80)
})

/** Commits 40 files, of which some are not in the repository. Returns the ids of those. */
async function commitWithLost(repository: Repository, count = 3): Promise<string[]> {
  const there = await Promise.all(
    Array.from({ length: 40 - Math.min(count, 3) }, (_, n) => repository.blob(`there ${n}`)),
  )
  const lost = Array.from({ length: count }, (_, n) => createHash('sha1').update(`lost ${n}`).digest('hex'))
  const entries = [...there, ...lost].map((id) => ({ mode: '100644', name: `f${id}`, id }))
  await repository.commitTree(await repository.rawTree(entries.sort((a, b) => (a.name < b.name ? -1 : 1))))
  return lost.sort()
}

function refusedOf(taken: ReadonlyMap<string, TakenBlob>): (readonly [string, string])[] {
  const refused = [...taken].flatMap(([id, blob]) => (blob.kind === 'refused' ? [[id, blob.reason] as const] : []))
  return refused.sort(([a], [b]) => (a < b ? -1 : 1))
}
