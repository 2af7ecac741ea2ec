import { createHash } from 'node:crypto'
import { CatalogBuilder } from './catalog.ts'
import type { Catalog } from './catalog.ts'
import { packedIn } from './pack.ts'
import type { Pack } from './pack.ts'
import { renamedFolders } from './placement.ts'
import type { Skill } from './skill.ts'
import { atOnce } from './slices.ts'
import type { Snapshot } from './snapshot.ts'

/**
 * The catalog as it is for those who see these packs alone. All of it follows from the skills of the packs and the revisions that
 * they are of; of every other skill there is nothing, its existence and its number included. Only `generation` counts on with
 * the whole.
 */
export function catalogOfPacks(whole: Catalog, packs: readonly Pack[]): Catalog {
  const disabled = new Map(whole.sources.map(([id, ...paths]) => [id, new Set<string>(paths)]))
  const parts = whole.snapshots.flatMap((snapshot): Part[] => {
    const chosen = packs.map((pack) => packedIn(snapshot, pack))
    const isSeen = (skill: Skill): boolean =>
      skill.standing !== 'withheld' &&
      disabled.get(snapshot.source)?.has(skill.path) !== true &&
      chosen.some((skills) => skills.has(skill))
    const skills = snapshot.skills.filter(isSeen).map(ownFindings)
    // A source of which nothing is seen is not there.
    if (skills.length === 0) return []
    return [{ snapshot: withSkills(snapshot, skills), renamed: renamedFolders(snapshot.skills) }]
  })
  const builder = new CatalogBuilder()
  for (const { snapshot, renamed } of parts) atOnce(builder.adding(snapshot, undefined, renamed))
  const snapshots = parts.map(({ snapshot }) => snapshot)
  return {
    generation: whole.generation,
    digest: digestOf(snapshots),
    sources: snapshots.map(({ source }) => [source]),
    snapshots,
    ...atOnce(builder.building()),
  }
}

/** Of one snapshot what is seen, and its folders that are renamed, whoever renamed them. */
interface Part {
  readonly snapshot: Snapshot
  readonly renamed: ReadonlyMap<string, string>
}

/** Docs are no skills, and may tell of any. */
function withSkills(snapshot: Snapshot, skills: readonly Skill[]): Snapshot {
  const { docs: _docs, docsFolder: _docsFolder, ...rest } = snapshot
  return { ...rest, rules: '', skills, findings: [], folders: {} }
}

/** What is said of a skill can name the neighbour that is the reason for it. */
function ownFindings(skill: Skill): Skill {
  const findings = skill.findings.filter(({ rule }) => !OF_NEIGHBOURS.has(rule))
  return findings.length === skill.findings.length ? skill : { ...skill, findings }
}

const OF_NEIGHBOURS: ReadonlySet<string> = new Set(['name-clash', 'nested-skill', 'entry-refused', 'link-refused'])

function digestOf(snapshots: readonly Snapshot[]): string {
  const hash = createHash('sha256')
  for (const { source, url, revision, tree, skills, form, isPrivate, proof, rebuiltFrom } of snapshots) {
    const said = skills.map(({ files: _files, ...skill }) => skill)
    hash.update(JSON.stringify([source, url, revision, tree, said, form, isPrivate, proof, rebuiltFrom]))
  }
  return hash.digest('hex')
}
