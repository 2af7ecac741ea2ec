import { expect, test } from 'vitest'
import { PendingRevisions } from '../../../../src/daemon/status/page/pending-revisions.ts'
import { isObjectId, type ObjectId, type Revision } from '../../../../src/sync/model/revision.ts'
import type { ServedSource } from '../../../../src/sync/model/snapshot.ts'
import type { SourceId } from '../../../../src/sync/model/source-id.ts'
import { SyncError } from '../../../../src/sync/model/sync-error.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { Repository } from '../../../support/git/repository.ts'
import { serve } from '../../../support/served.ts'
import { sourceId } from '../../../sync/store/samples.ts'

const REVISION: Revision = { asked: 'main', ref: 'refs/heads/main', commit: idOf('a') }
const IDS = Array.from({ length: 10 }, (_, index) => sourceId(`source-${index}`))

test('ten fetches that run are each begun once, however many readers ask', async () => {
  await using world = await pendingWorld(() => new Promise<never>(() => {}))

  const first = await world.askAll()
  const second = await world.askAll()

  expect([...first, ...second]).toEqual(Array.from({ length: 20 }, () => 'fetching'))
  expect(world.taken.toSorted()).toEqual(IDS.toSorted())
})

test('ten failures are each kept for a minute', async () => {
  await using world = await pendingWorld(async () => {
    throw new SyncError('source-unreachable', 'Cannot fetch: it is down')
  })

  const first = await world.askAll()
  await world.clock.advance(51_000)
  await world.askAll()
  const before = world.taken.length
  await world.clock.advance(1_000)
  await world.askAll()

  expect(first).toEqual(IDS.map(() => ({ error: 'Cannot fetch: it is down' })))
  expect(before).toBe(10)
  expect(world.taken).toHaveLength(20)
})

/** The pending revisions of ten sources, each fetched by `take`. */
async function pendingWorld(take: (id: SourceId) => Promise<ServedSource>) {
  const repository = await Repository.create()
  await repository.commit({ 'a/SKILL.md': '---\nname: a\ndescription: b\n---\n' })
  const served = await serve(repository)
  const [configured] = served.config.sources
  const store = await Store.openExisting(served.config.state)
  await store!.decisions.read()
  const clock = new FakeClock()
  const taken: SourceId[] = []
  const pending = new PendingRevisions({
    store: store!,
    clock,
    undecided: () => REVISION,
    servedOf: () => undefined,
    take: async (id) => {
      taken.push(id)
      return take(id)
    },
    compare: async () => undefined,
    clean: (text) => text,
  })
  return {
    clock,
    taken,
    /** Asks for each, and lets eight seconds pass. */
    async askAll() {
      const answers = IDS.map(async (id) => pending.of({ ...configured!, source: { ...configured!.source, id } }, true))
      await clock.advance(8_000)
      return (await Promise.all(answers)).map((answer) => answer?.content)
    },
    async [Symbol.asyncDispose]() {
      store![Symbol.dispose]()
      await served[Symbol.asyncDispose]()
      await repository[Symbol.asyncDispose]()
    },
  }
}

function idOf(digit: string): ObjectId {
  const text = digit.repeat(40)
  if (!isObjectId(text)) throw new Error(text)
  return text
}
