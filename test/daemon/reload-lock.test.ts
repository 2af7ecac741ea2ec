import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ReloadLock } from '../../src/daemon/reload-lock.ts'

const STEADY = new AbortController().signal

test('what is being asked is told to end, and has ended before anybody takes over', async () => {
  const changeover = new ReloadLock()
  const order: string[] = []
  const asked = changeover.ask(STEADY, async (signal) => {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    order.push('asked')
  })

  await changeover.change(
    async () => void order.push('stop'),
    async () => void order.push('next'),
  )
  await asked

  expect(order).toEqual(['stop', 'asked', 'next'])
})

test('who asks while somebody takes over is answered by the next', async () => {
  const changeover = new ReloadLock()
  const taking = Promise.withResolvers<void>()
  let who = 'before'
  const changed = changeover.change(
    async () => {},
    async () => {
      await taking.promise
      who = 'next'
    },
  )
  await Promise.resolve()

  const answer = changeover.ask(STEADY, async () => who)
  taking.resolve()

  expect(await answer).toBe('next')
  await changed
})

test('two changes go one after the other, also where the first fails', async () => {
  const changeover = new ReloadLock()
  const order: string[] = []
  const first = changeover.change(
    async () => void order.push('stop 1'),
    async () => {
      order.push('next 1')
      throw new Error('no')
    },
  )
  const second = changeover.change(
    async () => void order.push('stop 2'),
    async () => void order.push('next 2'),
  )

  await expect(first).rejects.toThrow('no')
  await second

  expect(order).toEqual(['stop 1', 'next 1', 'stop 2', 'next 2'])
})

test('after the end nobody takes over, and nobody is asked', async () => {
  const changeover = new ReloadLock()
  let taken = false

  await changeover.end(async () => {})

  const change = changeover.change(
    async () => {},
    async () => void (taken = true),
  )
  await expect(change).rejects.toMatchObject({ name: 'AbortError' })
  await expect(changeover.ask(STEADY, async () => 1)).rejects.toMatchObject({ name: 'AbortError' })
  expect(taken).toBe(false)
})

test('nobody takes over before what was there has stopped and what was asked has ended, however long that takes', async () => {
  const changeover = new ReloadLock()
  const order: string[] = []
  const asked = changeover.ask(STEADY, slowly(order, 'asked', 6))

  await changeover.change(slowly(order, 'stopped', 3), slowly(order, 'taken over', 1))
  await asked

  expect(order).toEqual(['stopped', 'asked', 'taken over'])
})

test('who asks while the next is still taking over waits for it too', async () => {
  const changeover = new ReloadLock()
  const order: string[] = []
  const [begun, taking] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const changed = changeover.change(
    async () => {},
    async () => {
      begun.resolve()
      await taking.promise
      order.push('taken over')
    },
  )
  await begun.promise
  await turn()

  const answered = changeover.ask(STEADY, async () => order.push('answered'))
  await turn()
  taking.resolve()
  await Promise.all([changed, answered])

  expect(order).toEqual(['taken over', 'answered'])
})

test('the end has come only once all is stopped', async () => {
  const changeover = new ReloadLock()
  const order: string[] = []

  await changeover.end(slowly(order, 'stopped', 3))

  expect(order).toEqual(['stopped'])
})

/** Work that takes so many turns of the event loop. */
function slowly(order: string[], done: string, turns: number): () => Promise<void> {
  return async () => {
    for (let at = 0; at < turns; at += 1) await turn()
    order.push(done)
  }
}
