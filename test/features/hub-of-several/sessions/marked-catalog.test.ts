import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createLog } from '../../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../../src/daemon/runtime/log/redactor.ts'
import { SharedSessionLog } from '../../../../src/features/hub-of-several/sessions/shared-session-log.ts'
import { buildCatalog } from '../../../../src/sync/catalog/catalog.ts'
import { withLifecycles } from '../../../../src/sync/catalog/operator-lifecycle.ts'
import type { LifecycleRules } from '../../../../src/sync/catalog/operator-lifecycle.ts'
import { SharedStore } from '../../../../src/sync/postgres/shared-store.ts'
import { Store } from '../../../../src/sync/store/store.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { keepSamples, sample, snapshotOf, sourceId } from '../../../sync/store/samples.ts'

test('the catalog of a mark has what the operator says about its skills now, after a reload too', async () => {
  await using folder = await temporaryFolder()
  const store = await Store.open(join(folder.path, 'state'))
  const clock = new FakeClock()
  const stream = { write: () => true }
  const log = createLog({ level: 'error', stream, format: 'json', journal: false, clock, redactor: new Redactor() })
  // Nothing listens there: the process has the generation itself.
  await using shared = SharedStore.at({ url: 'postgres://127.0.0.1:1/none' })
  await using sessions = new SharedSessionLog({ store, shared, clock, log })
  const one = sample('one', { 'SKILL.md': 'one' })
  await keepSamples(store, one)
  const snapshot = { ...snapshotOf(one), source: sourceId('team') }
  const held = { source: snapshot.source, snapshot: await store.snapshots.keep(snapshot) }
  const generation = await store.generations.publish([held], clock.now())
  const stated: LifecycleRules = new Map([[snapshot.source, [{ include: ['one'], edit: { deprecated: 'Use two' } }]]])
  const next = buildCatalog(generation, [withLifecycles(snapshot, stated)])
  let rules: LifecycleRules = new Map()
  sessions.followLifecycles(() => rules)

  const before = await sessions.catalogOf(next)
  rules = stated

  expect(before).toBeUndefined()
  expect((await sessions.catalogOf(next))?.digest).toBe(next.digest)
})
