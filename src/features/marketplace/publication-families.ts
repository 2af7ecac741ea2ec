import type { Family } from '../../daemon/status/metrics/family.ts'
import type { PublicationStatus } from '../../daemon/status/publication-status.ts'
import type { PublicationCount } from './publish/publication-counts.ts'

/** The figures of one publication. */
export interface PublicationFigures {
  readonly status: PublicationStatus
  readonly count: Readonly<PublicationCount>
}

/**
 * The metrics of the publications to git hosts, in the order of the configuration. Their addresses are no labels: the
 * metrics may be public.
 */
export function publicationFamilies(publications: readonly PublicationFigures[]): Family[] {
  return [
    {
      name: 'skillsyncd_publication_current',
      kind: 'gauge',
      help: '1 if the branch had the served content when it was last read, else 0; by the position in publish, from 1.',
      samples: publications.map(({ status }, index) => ({
        labels: { publication: String(index + 1) },
        value: Number(status.isCurrent),
      })),
    },
    {
      name: 'skillsyncd_publications_total',
      kind: 'counter',
      help: 'Attempts to publish, by result; attempts without anything to push are not counted.',
      samples: publications.flatMap(({ count }, index) =>
        (['pushed', 'failed'] as const).map((end) => ({
          labels: { publication: String(index + 1), end },
          value: count[end],
        })),
      ),
    },
  ]
}
