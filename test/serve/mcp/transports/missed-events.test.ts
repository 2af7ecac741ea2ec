import { expect, test } from 'vitest'
import { MissedEvents } from '../../../../src/serve/mcp/transports/missed-events.ts'
import type { NotifiedCatalog } from '../../../../src/serve/mcp/transports/session-store.ts'
import { Registry } from '../../../../src/serve/registry.ts'
import { formsOf } from '../../../support/clients/forms.ts'

const NOW: NotifiedCatalog = { generation: 2, digest: 'now', forms: 'all', packs: { alpha: '1', beta: '2' } }

test.each<[boolean, string, Partial<NotifiedCatalog>]>([
  [true, 'nothing is another', {}],
  [true, 'another pack was edited', { packs: { alpha: '1', beta: 'other' } }],
  [true, 'another pack came', { packs: { alpha: '1' } }],
  [false, 'its own pack was edited', { packs: { alpha: 'other', beta: '2' } }],
  [false, 'its own pack came', { packs: { beta: '2' } }],
  [false, 'there were no packs', { packs: undefined }],
  [false, 'the catalog is another', { digest: 'before' }],
  [false, 'the forms are others', { forms: 'few' }],
])('%s: who sees a pack was told of everything where %s since', (isNow, _, then) => {
  const past = new MissedEvents({
    serving: { registry: new Registry(), forms: formsOf() },
    view: 'alpha',
    now: () => NOW,
    catalogOf: async () => undefined,
  })

  expect(past.isNow({ ...NOW, ...then })).toBe(isNow)
})
