import { createHash } from 'node:crypto'
import type { Steps } from '../../base/async/cooperative.ts'
import { renamedFolders } from '../model/serving-paths.ts'
import type { Skill } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { CatalogBuilder } from './catalog.ts'
import type { Catalog } from './catalog.ts'
import { packedIn } from './pack.ts'
import type { Pack } from './pack.ts'

/**
 * The catalog for clients that see only these packs. It depends only on the skills of the packs and on their revisions.
 * It reveals nothing about other skills, not even their existence or number. Only `generation` is that of the whole
 * catalog.
 */
export function* packingCatalog(whole: Catalog, packs: readonly Pack[]): Steps<Catalog> {
  const disabled = new Map(whole.sources.map(([id, ...paths]) => [id, new Set<string>(paths)]))
  const parts: Part[] = []
  for (const snapshot of whole.snapshots) {
    const skills = yield* seeing(snapshot, packs, disabled.get(snapshot.source) ?? new Set())
    // A source without visible skills is left out.
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

/** The visible part of one snapshot, and its renamed folders, including those that an invisible skill renamed. */
interface Part {
  readonly snapshot: Snapshot
  readonly renamed: ReadonlyMap<string, string>
}

/** Replaces the skills, and drops the docs and the marketplace, which may describe any skill. */
function withSkills(snapshot: Snapshot, skills: readonly Skill[]): Snapshot {
  const { docs: _docs, docsFolder: _docsFolder, marketplace: _marketplace, offers: _offers, ...rest } = snapshot
  return { ...rest, rules: '', skills, findings: [], folders: {} }
}

/** Drops findings that can name the neighbor which caused them. */
function ownFindings(skill: Skill): Skill {
  const findings = skill.findings.filter(({ rule }) => !OF_NEIGHBOURS.has(rule))
  return findings.length === skill.findings.length ? skill : { ...skill, findings }
}

const OF_NEIGHBOURS: ReadonlySet<string> = new Set(['name-clash', 'nested-skill', 'entry-refused', 'link-refused'])

/**
 * Hashes the JSON of all data about the skills, skill by skill: all at once takes longer than other work should wait.
 */
function* digesting(snapshots: readonly Snapshot[]): Steps<string> {
  const hash = createHash('sha256')
  for (const { source, url, revision, tree, skills, form, isPrivate, proof, rebuiltFrom, keptFrom } of snapshots) {
    hash.update(`${JSON.stringify([source, url, revision, tree]).slice(0, -1)},[`)
    for (const [index, { files: _files, ...said }] of skills.entries()) {
      hash.update(`${index === 0 ? '' : ','}${JSON.stringify(said)}`)
      yield
    }
    hash.update(`],${JSON.stringify([form, isPrivate, proof, rebuiltFrom, ...(keptFrom ?? [])]).slice(1)}`)
  }
  return hash.digest('hex')
}
