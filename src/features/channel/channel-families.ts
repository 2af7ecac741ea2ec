import type { Family, Labels, Sample } from '../../daemon/status/metrics/family.ts'
import type { ChannelStatus } from '../../daemon/status/publication-status.ts'

/** The figures of one channel of this hub. */
export interface ChannelFigures {
  readonly status: ChannelStatus
  /** The time of its newest entry, once this process has published it. ISO 8601, UTC. */
  readonly newestAt: string | undefined
}

/**
 * The metrics of the channels of this hub: those that clients ask it for, then the folders in the order of the
 * configuration. A path is no label: the metrics may be public.
 */
export function channelFamilies(channels: readonly ChannelFigures[]): Family[] {
  const folders = channels.filter(({ status }) => status.to !== undefined)
  const labelsOf = (figures: ChannelFigures): Labels => ({
    pack: figures.status.pack,
    ring: figures.status.ring,
    folder: figures.status.to === undefined ? undefined : String(folders.indexOf(figures) + 1),
  })
  const each = (valueOf: (figures: ChannelFigures) => number | undefined): Sample[] =>
    channels.flatMap((figures) => {
      const value = valueOf(figures)
      return value === undefined ? [] : [{ labels: labelsOf(figures), value }]
    })
  return [
    {
      name: 'skillsyncd_channel_current',
      kind: 'gauge',
      help: '1 if the channel has the served content, else 0; by the pack or the ring, and by the position of a folder among those in publish, from 1.',
      samples: each(({ status }) => Number(status.isCurrent)),
    },
    {
      name: 'skillsyncd_channel_problem',
      kind: 'gauge',
      help: '1 for the code of the failure of the last attempt; absent without one.',
      samples: channels.flatMap((figures) => {
        const { problem } = figures.status
        return problem === undefined ? [] : [{ labels: { ...labelsOf(figures), code: problem.code }, value: 1 }]
      }),
    },
    {
      name: 'skillsyncd_channel_entries',
      kind: 'gauge',
      help: 'Entries of the log when this process last published it; absent before.',
      samples: each(({ status }) => status.entries),
    },
    {
      name: 'skillsyncd_channel_newest_entry_timestamp_seconds',
      kind: 'gauge',
      help: 'The time of the newest of these entries; absent before.',
      samples: each(({ newestAt }) => (newestAt === undefined ? undefined : Date.parse(newestAt) / 1_000)),
    },
  ]
}
