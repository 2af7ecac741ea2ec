import type { StoredStatus } from '../../daemon/cli/feature.ts'
import type { ServedConfig } from '../../daemon/pull/trust/serving-policy.ts'
import { admissionOf } from '../../daemon/pull/trust/serving-policy.ts'
import { SAME_CONTENTS, loadRings } from '../../sync/pull/rings/ring-contents.ts'
import type { Store } from '../../sync/store/store.ts'
import type { RingSettings } from './ring-config.ts'
import { ringStatuses } from './ring-status.ts'

/** The content of the rings by the state folder alone. What stops a promotion but for holds is unknown without a daemon. */
export async function storedRings(
  config: RingSettings & ServedConfig,
  store: Store | undefined,
  now: Date,
): Promise<Required<StoredStatus>> {
  const { rings } = config
  const { rings: policy } = admissionOf(config)
  const generation = await store?.generations.newest()
  const isKnown = policy !== undefined && store !== undefined && generation !== undefined
  const contents = isKnown ? await loadRings(generation, policy, store) : SAME_CONTENTS
  const decisions = store?.decisions.known ?? new Map()
  return { rings: ringStatuses({ rings, contents, decisions, now, stopOf: () => undefined }) }
}
