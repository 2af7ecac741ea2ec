import type { ReplicasStatus } from '../../daemon/runtime/hub-replica.ts'
import type { Family } from '../../daemon/status/metrics/family.ts'

/** The metrics of this process in a hub of several; without samples in a hub of one. */
export function replicaFamilies(replicas: ReplicasStatus | undefined): Family[] {
  const gauge = (name: string, help: string, valueOf: (status: ReplicasStatus) => number): Family => ({
    name,
    kind: 'gauge',
    help,
    samples: replicas === undefined ? [] : [{ labels: {}, value: valueOf(replicas) }],
  })
  return [
    gauge('skillsyncd_hub_leads', '1 if this process pulls and publishes for the hub, else 0.', ({ leads }) =>
      Number(leads),
    ),
    gauge(
      'skillsyncd_hub_has_leader',
      '1 if this process sees one that leads, itself included, else 0.',
      ({ leads, leader }) => Number(leads || leader !== undefined),
    ),
    gauge(
      'skillsyncd_hub_processes',
      'The processes that the database has seen within the last 15 seconds.',
      ({ processes }) => processes.filter(({ isLiving }) => isLiving).length,
    ),
    gauge(
      'skillsyncd_shared_store_reachable',
      '1 if the database of the hub could be used at the last attempt, else 0.',
      ({ away }) => Number(away === undefined),
    ),
  ]
}
