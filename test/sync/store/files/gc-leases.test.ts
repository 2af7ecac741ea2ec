import { expect, test } from 'vitest'
import { CLAIM_MS, GcLeases } from '../../../../src/sync/store/files/gc-leases.ts'

test('what was claimed is not removed for an hour, counted from the last claim', async () => {
  let elapsedMs = 0
  const claims = new GcLeases(() => elapsedMs)
  await claims.claim('a')
  elapsedMs = CLAIM_MS - 1
  await claims.claim('a')
  elapsedMs = 2 * CLAIM_MS - 2

  const early = await claims.remove('a', async () => 'gone')
  elapsedMs += 1
  const late = await claims.remove('a', async () => 'gone')

  expect([early, late]).toEqual([undefined, 'gone'])
})

test('a claim waits for a removal that is under way, and only for one of the same digest', async () => {
  const claims = new GcLeases(() => 0)
  const { promise: removed, resolve } = Promise.withResolvers<string>()
  const order: string[] = []
  const removing = claims.remove('a', () => removed).then(() => order.push('removed'))

  const same = claims.claim('a').then(() => order.push('claimed a'))
  await claims.claim('b').then(() => order.push('claimed b'))
  resolve('gone')
  await Promise.all([removing, same])

  expect(order[0]).toBe('claimed b')
  expect(order.toSorted()).toEqual(['claimed a', 'claimed b', 'removed'])
})

test('a removal that fails is told to the remover and lets the claim go on', async () => {
  const claims = new GcLeases(() => 0)
  const { promise: removed, reject } = Promise.withResolvers<string>()
  const removing = claims.remove('a', () => removed)
  const claiming = claims.claim('a')
  reject(new Error('read-only'))

  await expect(removing).rejects.toThrow('read-only')
  await expect(claiming).resolves.toBeUndefined()
})
