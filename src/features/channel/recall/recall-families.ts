import type { Family } from '../../../daemon/status/metrics/family.ts'
import { single } from '../../../daemon/status/metrics/family.ts'

/** The figures of recalls. */
export interface RecallFigures {
  /** The recalls in force. */
  readonly inForce: number
  /** The followers that obey all of them, and those that were not seen since one of them. */
  readonly followers: { readonly obeyed: number; readonly behind: number }
}

/** The metrics of recalls. No id is a label: the metrics may be public. */
export function recallFamilies({ inForce, followers }: RecallFigures): Family[] {
  return [
    single('skillsyncd_recalls', 'gauge', 'Recalls in force, of this hub and of those that it follows.', inForce),
    {
      name: 'skillsyncd_recall_followers',
      kind: 'gauge',
      help: 'Followers of the channels of this hub, by their state: obeyed if all recalls in force are, else behind.',
      samples: Object.entries(followers).map(([state, value]) => ({ labels: { state }, value })),
    },
  ]
}
