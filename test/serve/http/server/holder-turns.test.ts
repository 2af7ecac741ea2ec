import { expect, test } from 'vitest'
import { holderOf } from '../../../../src/serve/fair-shares.ts'
import { HolderTurns } from '../../../../src/serve/http/server/holder-turns.ts'

test('of one holder one piece of work is done at a time, and no other holder waits for it', async () => {
  const turns = new HolderTurns()
  const [one, other] = [holderOf('one', ''), holderOf('other', '')]
  const gate = Promise.withResolvers<void>()
  let [open, most] = [0, 0]
  const work = async (): Promise<void> => {
    open += 1
    most = Math.max(most, open)
    await gate.promise
    open -= 1
  }
  const all = Array.from({ length: 100 }, async () => turns.next(one, work))

  expect(await turns.next(other, async () => 'done')).toBe('done')
  gate.resolve()
  await Promise.all(all)

  expect(most).toBe(1)
})

test('work that fails keeps no later work of its holder waiting', async () => {
  const turns = new HolderTurns()
  const holder = holderOf('one', '')

  const failing = turns.next(holder, async () => Promise.reject(new Error('no gzip')))

  await expect(failing).rejects.toThrow('no gzip')
  expect(await turns.next(holder, async () => 'done')).toBe('done')
})
