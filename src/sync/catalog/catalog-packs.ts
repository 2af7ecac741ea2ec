import { createHash } from 'node:crypto'
import { CatalogBuilder } from './catalog.ts'
import type { Catalog } from './catalog.ts'
import { packedIn } from './pack.ts'
import type { Pack } from './pack.ts'
import { renamedFolders } from '../model/serving-paths.ts'
import type { Skill } from '../model/skill.ts'
import type { Steps } from '../../base/cooperative.ts'
import type { Snapshot } from '../model/snapshot.ts'

/**
 * The catalog as it is for those who see these packs alone. All of it follows from the skills of the packs and the revisions that
 * they are of; of every other skill there is nothing, its existence and its number included. Only `generation` counts on with
 * the whole.
 */
export function* packingCatalog(whole: Catalog, packs: readonly Pack[]): Steps<Catalog> {
  const disabled = new Map(whole.sources.map(([id, ...paths]) => [id, new Set<string>(paths)]))
  const parts: Part[] = []
  for (const snapshot of whole.snapshots) {
    const skills = yield* seeing(snapshot, packs, disabled.get(snapshot.source) ?? new Set())
    // A source of which nothing is seen is not there.
    if (skills.length === 0) continue
    parts.push({ snapshot: withSkills(snapshot, skills), renamed: renamedFolders(snapshot.skills) })
    yield
  }
  const builder = new CatalogBuilder()
  for (const { snapshot, renamed } of parts) yield* builder.adding(snapshot, undefined, renamed)
  const snapshots = parts.map(({ snapshot }) => snapshot)
  return {
    generation: whole.generation,
    digest: yield* digesting(snapshots),
    sources: snapshots.map(({ source }) => [source]),
    snapshots,
    ...(yield* builder.building()),
  }
}

/** The skills of a snapshot that are in one of the packs. */
function* seeing(snapshot: Snapshot, packs: readonly Pack[], disabled: ReadonlySet<string>): Steps<readonly Skill[]> {
  const chosen: ReadonlySet<Skill>[] = []
  for (const pack of packs) {
    chosen.push(packedIn(snapshot, pack))
    yield
  }
  const seen: Skill[] = []
  for (const skill of snapshot.skills) {
    yield
    if (skill.standing === 'withheld' || disabled.has(skill.path)) continue
    if (chosen.some((skills) => skills.has(skill))) seen.push(ownFindings(skill))
  }
  return seen
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

/** Of the JSON of all that is said of them; written skill by skill, since all at one go takes longer than others should wait. */
function* digesting(snapshots: readonly Snapshot[]): Steps<string> {
  const hash = createHash('sha256')
  for (const { source, url, revision, tree, skills, form, isPrivate, proof, rebuiltFrom } of snapshots) {
    hash.update(`${JSON.stringify([source, url, revision, tree]).slice(0, -1)},[`)
    for (const [index, { files: _files, ...said }] of skills.entries()) {
      hash.update(`${index === 0 ? '' : ','}${JSON.stringify(said)}`)
      yield
    }
    hash.update(`],${JSON.stringify([form, isPrivate, proof, rebuiltFrom]).slice(1)}`)
  }
  return hash.digest('hex')
}
