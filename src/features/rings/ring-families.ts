import type { Family } from '../../daemon/status/metrics/family.ts'
import type { RingStatus } from '../../daemon/status/status.ts'

/** The metrics of the rings after the first, in their order; without samples if there are no rings. */
export function ringFamilies(rings: readonly RingStatus[]): Family[] {
  const later = rings.slice(1)
  return [
    {
      name: 'skillsyncd_ring_waiting_sources',
      kind: 'gauge',
      help: 'Sources of which the ring may take something, now or later.',
      samples: later.map(({ id, sources }) => ({
        labels: { ring: id },
        value: sources.filter(({ next }) => next !== undefined).length,
      })),
    },
    {
      name: 'skillsyncd_ring_stopped_sources',
      kind: 'gauge',
      help: 'Sources of which the ring takes nothing for now: a hold of the operator, or what stops a promotion.',
      samples: later.map(({ id, sources }) => ({
        labels: { ring: id },
        value: sources.filter(({ problem }) => problem !== undefined).length,
      })),
    },
  ]
}
