import { expect, test } from 'vitest'
import type { Steps } from '../../../../../src/base/async/cooperative.ts'
import { SearchQueue } from '../../../../../src/serve/mcp/tools/search/search-queue.ts'
import type { SearchEnd } from '../../../../../src/serve/mcp/tools/search/search-queue.ts'

test('a holder whose searches take ten times as long has one done where another has ten', () => {
  const scene = new Scene()
  for (let count = 0; count < 20; count += 1) scene.begin('mallory', [10])
  for (let count = 0; count < 20; count += 1) scene.begin('ada', [1])

  const ended = scene.workAll()

  const before = ended.slice(0, ended.lastIndexOf('ada'))
  expect(before.filter((holder) => holder === 'mallory').length).toBeLessThanOrEqual(3)
  expect(ended).toHaveLength(40)
})

test('a search that comes waits for one step of those under way, however many steps they have', () => {
  const scene = new Scene()
  for (let count = 0; count < 60; count += 1) scene.begin('mallory', [5, 5, 5, 5, 5, 5])
  scene.turns.work(1)

  scene.begin('ada', [1])
  const [first] = scene.turns.work(1)

  expect(first).toEqual({ id: 60, ids: ['ada'] })
})

test('it works no longer than it is to, but for the step under way, and goes on from there', () => {
  const scene = new Scene()
  scene.begin('ada', [3, 3, 3])

  const ends = [scene.turns.work(4), scene.turns.work(4), scene.turns.work(4)]

  expect(scene.spentMs).toBe(9)
  expect(ends).toEqual([[], [{ id: 0, ids: ['ada'] }], []])
})

test('a search that is dropped takes nothing more, and has no end', () => {
  const scene = new Scene()
  scene.begin('mallory', [1, 100, 100])
  scene.begin('ada', [1])
  scene.turns.work(1)

  scene.turns.drop(0)
  scene.turns.drop(7)

  expect(scene.workAll()).toEqual(['ada'])
  expect(scene.spentMs).toBe(2)
})

test('searches of an index that changes end without an answer, and those of others go on', () => {
  const scene = new Scene()
  scene.begin('ada', [1, 1], 1)
  scene.begin('bob', [1, 1], 2)
  scene.turns.work(2)

  scene.turns.endIn(1)

  expect(scene.turns.work(10)).toEqual([
    { id: 0, ids: undefined },
    { id: 1, ids: ['bob'] },
  ])
})

/** Searches whose steps take as long as they say, on a clock that nothing else moves. */
class Scene {
  spentMs = 0
  readonly turns = new SearchQueue(() => this.spentMs)
  #count = 0

  begin(holder: string, stepsMs: readonly number[], index = 0): void {
    this.turns.begin({ id: this.#count, index, holder, steps: this.#steps(holder, stepsMs) })
    this.#count += 1
  }

  /** The holders of those that end, in their order. */
  workAll(): (string | undefined)[] {
    const all: SearchEnd[] = []
    for (let idle = 0; idle < 5;) {
      const ended = this.turns.work(1)
      all.push(...ended)
      idle = ended.length === 0 ? idle + 1 : 0
    }
    return all.map(({ ids }) => ids?.[0])
  }

  *#steps(holder: string, stepsMs: readonly number[]): Steps<string[]> {
    for (const [index, ms] of stepsMs.entries()) {
      this.spentMs += ms
      if (index < stepsMs.length - 1) yield
    }
    return [holder]
  }
}
