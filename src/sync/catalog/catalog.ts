import { createHash } from 'node:crypto'
import { runNow, type Steps } from '../../base/async/cooperative.ts'
import { baseName, foldersAbove } from '../../base/paths.ts'
import { NONE_DISABLED, type Disabled } from '../model/decisions/out-of-service.ts'
import { comparePaths } from '../model/digest.ts'
import type { Generation } from '../model/generation.ts'
import { renamedFolders } from '../model/serving-paths.ts'
import type { Skill } from '../model/skill.ts'
import { originOfSkill } from '../model/snapshot.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'
import { folderUrisAbove, uriOf } from '../model/uris/skill-uri.ts'
import { isTakenByAll, isYaml } from '../skill/entry-faults.ts'
import type { CatalogFile, CatalogFolder, CatalogSkill, FolderChildren } from './catalog-file.ts'
import { CatalogFiles } from './catalog-files.ts'
import { CatalogFolders } from './catalog-folders.ts'
import { filesOf, folderUrisOf } from './skill-files.ts'

/**
 * Everything that is served at one moment, indexed for lookup. Never changed, only replaced whole. All keys are
 * canonical URIs.
 */
export interface Catalog {
  /** The number of the generation that it was built from; 0 before the first one. */
  readonly generation: number
  /** Equal digests mean equal content and the same disabled skills. Cursors are bound to it. */
  readonly digest: string
  /**
   * The sources in their order, each with the folders of its disabled skills. With the generation, this determines the
   * rest.
   */
  readonly sources: readonly (readonly [SourceId, ...string[]])[]
  readonly snapshots: readonly Snapshot[]
  /** Every skill that the server answers for, by the URI of its SKILL.md, including those in no list. */
  readonly skills: ReadonlyMap<string, CatalogSkill>
  /** The skills of the lists, ordered by URI. */
  readonly listed: readonly CatalogSkill[]
  /** The listed skills that listings with a frontmatter contain: `skills/list` and the index. */
  readonly enumerated: readonly CatalogSkill[]
  /** The other listed skills whose frontmatter is YAML: some client would refuse the whole listing because of it. */
  readonly omitted: readonly CatalogSkill[]
  readonly files: CatalogFiles
  readonly folders: CatalogFolders
  /** Withheld skills that have a URI: a request for one gets the reason. */
  readonly withheld: ReadonlyMap<string, Skill>
}

/** The catalog of each ring, by its id. `undefined` stands for the first ring, which is everything without rings. */
export type Catalogs = ReadonlyMap<string | undefined, Catalog>

/**
 * Builds the catalog of one generation. The snapshots come in the generation's order. Disabled skills are left out. A
 * skill inside another one disappears only if both are disabled, since its files are files of the outer one too.
 */
export function buildCatalog(
  generation: Generation,
  snapshots: readonly Snapshot[],
  disabled: Disabled = NONE_DISABLED,
): Catalog {
  return runNow(buildingCatalog(generation, snapshots, disabled))
}

/** `buildCatalog` in steps, for a caller that must let other work run: a hundred thousand skills take a second. */
export function* buildingCatalog(
  generation: Generation,
  snapshots: readonly Snapshot[],
  disabled: Disabled = NONE_DISABLED,
): Steps<Catalog> {
  const builder = new CatalogBuilder()
  for (const snapshot of snapshots) yield* builder.adding(snapshot, disabled.get(snapshot.source))
  const built = yield* builder.building()
  return { ...headOf(generation, snapshots, disabled), snapshots, ...built }
}

/** The identity of a catalog, known before it is built. */
export function headOf(
  generation: Generation,
  snapshots: readonly Snapshot[],
  disabled: Disabled,
): Pick<Catalog, 'generation' | 'digest' | 'sources'> {
  const lifecycles = snapshots.flatMap(({ source, lifecycles: rules }) =>
    rules === undefined ? [] : [[source, rules]],
  )
  const identity = generation.sources.map(({ source, snapshot }) => [source, snapshot, ...(disabled.get(source) ?? [])])
  const digest = createHash('sha256').update(JSON.stringify([...identity, ...lifecycles]))
  const sources = generation.sources.map(({ source }) => [source, ...(disabled.get(source) ?? [])] as const)
  return { generation: generation.number, digest: digest.digest('hex'), sources }
}

/** The indexes of a catalog. */
export type Indexed = Pick<Catalog, 'skills' | 'listed' | 'enumerated' | 'omitted' | 'files' | 'folders' | 'withheld'>

/** Indexes the skills of one snapshot after another. */
export class CatalogBuilder {
  readonly #skills = new Map<string, CatalogSkill>()
  readonly #folders = new Map<string, OpenFolder>()
  readonly #withheld = new Map<string, Skill>();

  /**
   * `renamed`: the folders that all skills of the revision rename, if the snapshot does not have all of these skills.
   */
  *adding(
    snapshot: Snapshot,
    disabled: ReadonlySet<string> | undefined,
    renamed: ReadonlyMap<string, string> = renamedFolders(snapshot.skills),
  ): Steps<void> {
    this.#folder(uriOf(snapshot.source, ''))
    const isAlone = aloneAmong(snapshot.skills, renamed)
    // Listed skills come first: a folder that contains one of them is shown, even if other skills have files there.
    const isUnlisted = ({ standing }: Skill): number => (standing === 'unlisted' ? 1 : 0)
    for (const skill of snapshot.skills.toSorted((a, b) => isUnlisted(a) - isUnlisted(b))) {
      if (skill.servedPath === undefined || disabled?.has(skill.path) === true) continue
      if (skill.standing === 'withheld')
        this.#withheld.set(uriOf(snapshot.source, `${skill.servedPath}/SKILL.md`), skill)
      else this.#addSkill(catalogEntryOf(skill, { snapshot, renamed, isAlone: isAlone(skill) }))
      yield
    }
  }

  *building(): Steps<Indexed> {
    const listed = [...this.#skills.values()]
      .filter(({ skill }) => skill.standing === 'served')
      .sort((a, b) => comparePaths(a.uri, b.uri))
    const shared = new Map<string, FolderChildren>()
    for (const [uri, children] of this.#folders) {
      shared.set(uri, inNameOrder(children))
      yield
    }
    const folders = new CatalogFolders(shared, this.#skills)
    return {
      skills: this.#skills,
      listed,
      ...splitListed(listed),
      files: new CatalogFiles(folders, this.#skills),
      folders,
      // A skill that is withheld for a clash would be at the URI of the served one.
      withheld: new Map([...this.#withheld].filter(([uri]) => !this.#skills.has(uri))),
    }
  }

  #addSkill(entry: CatalogSkill | undefined): void {
    if (entry === undefined) return
    this.#skills.set(entry.uri, entry)
    const hiddenBelow = entry.skill.standing === 'served' ? undefined : entry.root
    // Its own files and folders are found through it.
    if (entry.isAlone) return this.#showFolder(entry.root, hiddenBelow)
    for (const file of filesOf(entry)) this.#addFile(file)
    for (const folder of folderUrisOf(entry)) this.#showFolder(folder, hiddenBelow)
  }

  /** A file of an enclosing skill is the same file: the entry that knows its skill is kept. */
  #addFile(file: CatalogFile): void {
    const { files } = this.#folder(file.folder)
    const { name } = file
    if (files.get(name)?.documents === undefined) files.set(name, file)
  }

  /**
   * Adds a folder to all folders above it. An unlisted skill shows its own folders to clients that know it, and appears
   * in no folder above.
   */
  #showFolder(uri: string, hiddenBelow: string | undefined): void {
    let shown = uri
    for (const above of folderUrisAbove(uri)) {
      if (shown === hiddenBelow) return
      const { folders } = this.#folder(above)
      if (folders.has(shown)) return
      folders.set(shown, { kind: 'folder', uri: shown, name: decodeURIComponent(baseName(shown)) })
      shown = above
    }
  }

  #folder(uri: string): OpenFolder {
    const known = this.#folders.get(uri)
    if (known !== undefined) return known
    const folder: OpenFolder = { files: new Map(), folders: new Map() }
    this.#folders.set(uri, folder)
    return folder
  }
}

/** A folder under construction. */
interface OpenFolder {
  /** By name. */
  readonly files: Map<string, CatalogFile>
  /** The folders that it shows, by URI. */
  readonly folders: Map<string, CatalogFolder>
}

function inNameOrder({ files, folders }: OpenFolder): FolderChildren {
  return [...files.values(), ...folders.values()].sort((a, b) => comparePaths(a.name, b.name))
}

/** The inputs of an entry in addition to the skill. */
interface Around {
  readonly snapshot: Pick<Snapshot, 'source' | 'revision' | 'proof' | 'keptFrom'>
  readonly renamed: ReadonlyMap<string, string>
  readonly isAlone: boolean
}

/** `undefined` if a required field is missing; a served skill has all of them. */
export function catalogEntryOf(skill: Skill, { snapshot, renamed, isAlone }: Around): CatalogSkill | undefined {
  const { source } = snapshot
  const { proof } = originOfSkill(snapshot, skill)
  const { name, description, frontmatter, digest, servedPath } = skill
  if (name === undefined || description === undefined || frontmatter === undefined) return undefined
  if (digest === undefined || servedPath === undefined) return undefined
  const uri = uriOf(source, `${servedPath}/SKILL.md`)
  // A slice of the other, which takes no memory of its own.
  const root = uri.slice(0, -'/SKILL.md'.length)
  const isEnumerable = isTakenByAll(frontmatter, skill.findings)
  const entry = { uri, root, source, name, description, frontmatter, digest, skill, renamed, isEnumerable, isAlone }
  return proof.signers === undefined ? entry : { ...entry, signers: proof.signers }
}

/** Splits the listed skills: those in the lists that contain their frontmatter, and the others. */
export function splitListed(listed: readonly CatalogSkill[]): Pick<Catalog, 'enumerated' | 'omitted'> {
  return {
    enumerated: listed.filter(({ isEnumerable }) => isEnumerable),
    omitted: listed.filter(({ isEnumerable, skill }) => !isEnumerable && isYaml(skill)),
  }
}

/**
 * Returns a predicate: true if a skill contains no other skill and no renamed folder, and is inside of none, both by
 * its true and by its served path.
 */
function aloneAmong(skills: readonly Skill[], renamed: ReadonlyMap<string, string>): (skill: Skill) => boolean {
  const inOthers = meetingAmong(new Set([...skills.map(({ path }) => path), ...renamed.keys()]))
  const areAsTheyAre = skills.every(({ path, servedPath = path }) => path === servedPath)
  if (areAsTheyAre) return ({ path }) => !inOthers.has(path)
  const servedInOthers = meetingAmong(new Set(skills.flatMap(({ servedPath }) => servedPath ?? [])))
  return ({ path, servedPath }) => !inOthers.has(path) && !servedInOthers.has(servedPath ?? '')
}

/** The paths that are below or above another one of them. */
function meetingAmong(paths: ReadonlySet<string>): ReadonlySet<string> {
  const meeting = new Set<string>()
  for (const path of paths) {
    for (const above of foldersAbove(path)) {
      if (paths.has(above)) meeting.add(path).add(above)
    }
  }
  return meeting
}

/**
 * The catalog that is served before the first pull ends. It stands below the class that builds it, since classes are
 * not hoisted.
 */
export const EMPTY_CATALOG: Catalog = buildCatalog({ number: 0, createdAt: '', sources: [] }, [])
