import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { Approvals } from '../../../sync/model/decisions/approvals.ts'
import type { OutOfService } from '../../../sync/model/decisions/out-of-service.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { decidedIn, tallyOf, UNDECIDED_SKILLS } from '../../../sync/model/verdict/skill-states.ts'
import type { ConfiguredSource } from '../../config/config.ts'
import type { Family, Sample } from './family.ts'
import { single } from './family.ts'

/** The inputs of the catalog's metrics. */
export interface CatalogInput {
  readonly catalog: Catalog
  readonly sources: readonly ConfiguredSource[]
  readonly outOfService: OutOfService
  readonly approvals: Approvals
}

/** The metrics of the served catalog. */
export function catalogFamilies(input: CatalogInput): Family[] {
  const { catalog } = input
  return [
    single(
      'skillsyncd_catalog_generation',
      'gauge',
      'The number of the served generation; 0 before the first.',
      catalog.generation,
    ),
    single('skillsyncd_catalog_skills', 'gauge', 'Listed skills.', catalog.listed.length),
    single('skillsyncd_catalog_files', 'gauge', 'Readable files.', catalog.files.size),
    {
      name: 'skillsyncd_source_skills',
      kind: 'gauge',
      help: 'Skills that were found, by state: served, partly, waiting, disabled, withheld, or links (to nothing).',
      samples: input.sources.flatMap((configured) => statesOf(configured, input)),
    },
    {
      name: 'skillsyncd_source_findings',
      kind: 'gauge',
      help: 'Findings, by rule.',
      samples: input.sources.flatMap((configured) => findingsOf(configured, input.catalog)),
    },
  ]
}

function snapshotOf({ source }: ConfiguredSource, { snapshots }: Catalog): Snapshot | undefined {
  return snapshots.find((snapshot) => snapshot.source === source.id)
}

function statesOf(configured: ConfiguredSource, input: CatalogInput): Sample[] {
  const { id } = configured.source
  const snapshot = snapshotOf(configured, input.catalog)
  const decided = snapshot === undefined ? UNDECIDED_SKILLS : decidedIn(snapshot, configured.source, input)
  const { seen: _all, ...states } = tallyOf(snapshot?.skills ?? [], decided)
  return Object.entries(states).map(([state, value]) => ({ labels: { source: id, state }, value }))
}

/** Counted once per snapshot, because there can be many findings and the next catalog reuses most snapshots. */
function findingsOf(configured: ConfiguredSource, catalog: Catalog): Sample[] {
  const snapshot = snapshotOf(configured, catalog)
  if (snapshot === undefined) return []
  const known = FINDINGS.get(snapshot) ?? countedIn(snapshot)
  FINDINGS.set(snapshot, known)
  return [...known].map(([rule, value]) => ({ labels: { source: snapshot.source, rule }, value }))
}

const FINDINGS = new WeakMap<Snapshot, ReadonlyMap<string, number>>()

function countedIn({ skills, findings, docsFolder }: Snapshot): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const list of [findings, docsFolder?.findings ?? [], ...skills.map((skill) => skill.findings)])
    for (const { rule } of list) counts.set(rule, (counts.get(rule) ?? 0) + 1)
  return counts
}
