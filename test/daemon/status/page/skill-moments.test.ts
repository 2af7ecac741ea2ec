import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { SkillMoments } from '../../../../src/daemon/status/page/skill-moments.ts'
import type { HistoryThread } from '../../../../src/daemon/status/page/skill-moments.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { Repository } from '../../../support/git/repository.ts'
import { serve } from '../../../support/served.ts'
import type { Served } from '../../../support/served.ts'
import { sourceId } from '../../../sync/store/samples.ts'

type ThreadEnd = Awaited<ReturnType<HistoryThread['put']>>

const FOUND: ThreadEnd = {
  kind: 'answered',
  answer: {
    kind: 'last-changes',
    sources: [
      {
        source: sourceId('fx'),
        moments: [{ at: '2026-06-15T12:00:00.000Z', generation: 1, change: 'added', paths: ['a'] }],
      },
    ],
  },
}
const FAILED: ThreadEnd = { kind: 'unanswered' }
const NOT_BEGUN: ThreadEnd = { kind: 'not-begun' }

describe('the moments of skills', () => {
  let repository: Repository
  let served: Served
  let store: Store
  let clock: FakeClock
  let moments: SkillMoments
  /** The searches in the order of their start. */
  let searches: ((end: ThreadEnd) => void)[]
  beforeAll(async () => {
    repository = await Repository.create()
    await repository.commit({ 'a/SKILL.md': '---\nname: a\ndescription: b\n---\n' })
    served = await serve(repository)
    store = (await Store.openExisting(served.config.state))!
    await store.decisions.read()
  })
  afterAll(async () => {
    store[Symbol.dispose]()
    await served[Symbol.asyncDispose]()
    await repository[Symbol.asyncDispose]()
  })
  beforeEach(() => {
    clock = new FakeClock()
    searches = []
    const thread = {
      put: async () => new Promise<ThreadEnd>((resolve) => searches.push(resolve)),
      [Symbol.asyncDispose]: async () => {},
    }
    const { registry } = served.daemon
    moments = new SkillMoments({ config: served.config, registry, store, clock, isBound: () => false }, thread)
  })

  /** Serves the same skills as another catalog, as each publish does. */
  function publishAnother(): void {
    served.daemon.registry.publish({ ...served.daemon.registry.catalog })
  }

  async function sizeSoon(): Promise<number> {
    const read = moments.read()
    await clock.advance(500)
    return (await read).size
  }

  test('are shown as soon as they are found, and searched once for one catalog', async () => {
    const [first, second] = [moments.read(), moments.read()]
    searches[0]?.(FOUND)

    expect((await first).size).toBe(1)
    expect(await second).toBe(await first)
    expect(await moments.read()).toBe(await first)
    expect(searches).toHaveLength(1)
  })

  test('keep no page waiting for over half a second, and are shown on a later one', async () => {
    const early = await sizeSoon()
    searches[0]?.(FOUND)

    expect(early).toBe(0)
    expect((await moments.read()).size).toBe(1)
    expect(searches).toHaveLength(1)
  })

  test('are searched again a minute after a search that failed, and not before, whatever is served', async () => {
    const failed = moments.read()
    searches[0]?.(FAILED)
    await failed
    await clock.advance(59_999)
    publishAnother()
    const early = await moments.read()
    await clock.advance(1)
    void moments.read()

    expect(early.size).toBe(0)
    expect(searches).toHaveLength(2)
  })

  test('a search that was not begun is begun by the next page', async () => {
    const refused = moments.read()
    searches[0]?.(NOT_BEGUN)
    await refused
    const next = moments.read()
    searches[1]?.(FOUND)

    expect((await next).size).toBe(1)
  })

  test.each([FAILED, NOT_BEGUN])('of a catalog are kept when the search for an older one ends as %j', async (end) => {
    await sizeSoon()
    publishAnother()
    const newer = moments.read()
    searches[1]?.(FOUND)
    await newer
    searches[0]?.(end)
    await clock.advance(0)

    expect((await moments.read()).size).toBe(1)
    expect(searches).toHaveLength(2)
  })
})
