import { expect, test } from 'vitest'
import { holdFor } from '../../../src/features/hub-of-several/notification-hold.ts'
import type { NotificationBarrier } from '../../../src/serve/registry.ts'

test('what comes while a round waits is notified in the next one, and all in their order', async () => {
  const scene = new Scene()

  scene.notify('one')
  scene.notify('two')
  await turns()
  expect([scene.notified, scene.rounds]).toEqual([[], 1])

  await scene.end(true)
  // The first call began a round, and the second one came during it.
  expect([scene.notified, scene.rounds]).toEqual([['one'], 2])
  scene.notify('three')
  await scene.end(true)
  expect([scene.notified, scene.rounds]).toEqual([['one', 'two'], 3])
  await scene.end(true)
  expect([scene.notified, scene.rounds]).toEqual([['one', 'two', 'three'], 3])

  scene.notify('four')
  await scene.end(true)
  expect(scene.notified.at(-1)).toBe('four')
})

test('what is notified while a process serves an earlier catalog is notified again when that one serves it', async () => {
  const scene = new Scene()

  scene.catchUp(true)
  for (const name of ['one', 'two']) {
    scene.notify(name)
    await turns()
    await scene.end(false)
  }
  scene.notify('three')
  await scene.end(true)
  expect(scene.notified).toEqual(['one early', 'two early', 'three'])

  scene.catchUp(false)
  scene.catchUp(true)
  scene.catchUp(true)
  expect(scene.notified).toEqual(['one early', 'two early', 'three', 'again', 'again, and all'])
})

/** A hub whose rounds end when the test says so. */
class Scene {
  readonly notified: string[] = []
  readonly #rounds: PromiseWithResolvers<boolean>[] = []
  readonly #hold: NotificationBarrier
  readonly #again = (areAll: boolean): void => void this.notified.push(areAll ? 'again, and all' : 'again')
  /** Tells the hold that a process that was late serves what it lacked. */
  catchUp: (areAll: boolean) => void = () => {}

  constructor() {
    this.#hold = holdFor({
      onCaughtUp: (listener) => {
        this.catchUp = listener
      },
      isServedByAll: async () => {
        const round = Promise.withResolvers<boolean>()
        this.#rounds.push(round)
        return round.promise
      },
    })
  }

  get rounds(): number {
    return this.#rounds.length
  }

  notify(name: string): void {
    this.#hold((isServedByAll) => void this.notified.push(isServedByAll ? name : `${name} early`), this.#again)
  }

  /** Ends the last round. */
  async end(isServedByAll: boolean): Promise<void> {
    this.#rounds.at(-1)?.resolve(isServedByAll)
    await turns()
  }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve()
}
