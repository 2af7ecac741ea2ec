import { setImmediate } from 'node:timers/promises'
import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import { StdioInflow } from '../../../../../src/serve/mcp/transports/stdio/stdio-inflow.ts'

test('a message waits while that is made which its cost is read off, and those behind it wait with it', async () => {
  const made = Promise.withResolvers<void>()
  const scene = new Scene((id) => (id === 1 ? made.promise : undefined))

  scene.receive(1, 2)
  expect([scene.taken, scene.isPaused]).toEqual([[], true])
  made.resolve()
  await made.promise
  await Promise.resolve()

  expect([scene.taken, scene.isPaused]).toEqual([[1, 2], false])
})

test('a message of which that cannot be made is handed over: its answer tells of the failure', async () => {
  const failure = Promise.reject(new Error('it fails'))
  const scene = new Scene(() => failure)

  scene.receive(1)
  await failure.catch(() => {})
  await Promise.resolve()

  expect(scene.taken).toEqual([1])
})

test('what the cost of a message is read off is made once, and no failure of that is left unhandled', async () => {
  const asked: number[] = []
  const scene = new Scene(async (id) => {
    asked.push(id)
    throw new Error('it fails')
  })

  scene.receive(1, 2)
  // A rejection that is left alone is raised before the next turn of the loop.
  await setImmediate()

  expect([scene.taken, asked]).toEqual([
    [1, 2],
    [1, 2],
  ])
})

test('what waits when the connection closes is dropped', async () => {
  const made = Promise.withResolvers<void>()
  const scene = new Scene(() => made.promise)

  scene.receive(1)
  scene.inflow.clear()
  made.resolve()
  await made.promise
  await Promise.resolve()

  expect(scene.taken).toEqual([])
})

class Scene {
  readonly taken: unknown[] = []
  isPaused = false
  readonly inflow: StdioInflow

  constructor(makingFor: (id: number) => Promise<void> | undefined) {
    const input: any = { pause: () => (this.isPaused = true), resume: () => (this.isPaused = false) }
    this.inflow = new StdioInflow(
      input,
      () => 1,
      (message) => makingFor(Object(message).id),
    )
  }

  receive(...ids: readonly number[]): void {
    for (const id of ids) {
      const message: JSONRPCMessage = { jsonrpc: '2.0', id, method: 'tools/call' }
      if (!this.inflow.hold(message, (held) => this.#take(held))) this.#take(message)
    }
  }

  #take(message: JSONRPCMessage): void {
    this.taken.push(Object(message).id)
  }
}
