import { createHash } from 'node:crypto'
import type { CatalogFile, CatalogFolder, CatalogSkill, FolderChildren } from './catalog-entry.ts'
import { CatalogFiles } from './catalog-files.ts'
import { CatalogFolders } from './catalog-folders.ts'
import { comparePaths } from '../model/digest.ts'
import { NONE_DISABLED, type Disabled } from '../decisions/disabled-skills.ts'
import { isTakenByAll, isYaml } from '../skill-md/entry-faults.ts'
import type { Generation } from '../model/generation.ts'
import { baseName, foldersAbove } from '../../base/paths.ts'
import { renamedFolders } from '../model/serving-paths.ts'
import { filesOf, folderUrisOf } from './skill-files.ts'
import { folderUrisAbove, uriIn, uriOf } from '../model/skill-uri.ts'
import type { Skill } from '../model/skill.ts'
import { atOnce, type Steps } from '../../base/cooperative.ts'
import type { Snapshot } from '../model/snapshot.ts'
import type { SourceId } from '../model/source-id.ts'

/** Everything served at one moment, indexed for lookup. Never changed, only replaced whole. All keys are canonical URIs. */
export interface Catalog {
  /** The number of the generation it was built from; 0 before there is one. */
  readonly generation: number
  /** Equal digests mean equal content, and that the same skills are disabled. Cursors are bound to it. */
  readonly digest: string
  /** The sources in their order, each with the folders of its skills that are disabled: with the generation, what decides the rest. */
  readonly sources: readonly (readonly [SourceId, ...string[]])[]
  readonly snapshots: readonly Snapshot[]
  /** Every skill that is answered for, by the URI of its SKILL.md; those in no list included. */
  readonly skills: ReadonlyMap<string, CatalogSkill>
  /** The skills of the lists, ordered by URI. */
  readonly listed: readonly CatalogSkill[]
  /** Those of them that listings with a frontmatter hold: `skills/list` and the index. */
  readonly enumerated: readonly CatalogSkill[]
  /** The others whose frontmatter is YAML: some client would refuse the whole listing for it. */
  readonly omitted: readonly CatalogSkill[]
  readonly files: CatalogFiles
  readonly folders: CatalogFolders
  /** Skills that have a URI and are withheld: whoever asks is told why. */
  readonly withheld: ReadonlyMap<string, Skill>
}

/**
 * Builds the catalog of one generation. The snapshots come in the generation's order. What is disabled is not in it:
 * of a skill inside of another one both have to be, since the files of the inner one are files of the outer one too.
 */
export function buildCatalog(
  generation: Generation,
  snapshots: readonly Snapshot[],
  disabled: Disabled = NONE_DISABLED,
): Catalog {
  return atOnce(buildingCatalog(generation, snapshots, disabled))
}

/** `buildCatalog`, for where others wait: a hundred thousand skills are a second of work. */
export function* buildingCatalog(
  generation: Generation,
  snapshots: readonly Snapshot[],
  disabled: Disabled = NONE_DISABLED,
): Steps<Catalog> {
  const builder = new CatalogBuilder()
  for (const snapshot of snapshots) yield* builder.adding(snapshot, disabled.get(snapshot.source))
  const built = yield* builder.building()
  return { ...headOf(generation, disabled), snapshots, ...built }
}

/** What a catalog says of itself before anything is looked for in it. */
export function headOf(generation: Generation, disabled: Disabled): Pick<Catalog, 'generation' | 'digest' | 'sources'> {
  const digest = createHash('sha256').update(
    JSON.stringify(
      generation.sources.map(({ source, snapshot }) => [source, snapshot, ...(disabled.get(source) ?? [])]),
    ),
  )
  const sources = generation.sources.map(({ source }) => [source, ...(disabled.get(source) ?? [])] as const)
  return { generation: generation.number, digest: digest.digest('hex'), sources }
}

/** What a catalog is asked by. */
export type Indexed = Pick<Catalog, 'skills' | 'listed' | 'enumerated' | 'omitted' | 'files' | 'folders' | 'withheld'>

/** Puts the skills of one snapshot after another where they are found. */
export class CatalogBuilder {
  readonly #skills = new Map<string, CatalogSkill>()
  readonly #folders = new Map<string, OpenFolder>()
  readonly #withheld = new Map<string, Skill>();

  /** `renamed`: the folders that are, by all skills of the revision, where those here are not all. */
  *adding(
    snapshot: Snapshot,
    disabled: ReadonlySet<string> | undefined,
    renamed: ReadonlyMap<string, string> = renamedFolders(snapshot.skills),
  ): Steps<void> {
    this.#folder(uriOf(snapshot.source, ''))
    const isAlone = aloneAmong(snapshot.skills, renamed)
    // Those of the lists first: a folder that one of them lies in is shown, whoever else has files there.
    const isUnlisted = ({ standing }: Skill): number => (standing === 'unlisted' ? 1 : 0)
    for (const skill of snapshot.skills.toSorted((a, b) => isUnlisted(a) - isUnlisted(b))) {
      if (skill.servedPath === undefined || disabled?.has(skill.path) === true) continue
      if (skill.standing === 'withheld')
        this.#withheld.set(uriOf(snapshot.source, `${skill.servedPath}/SKILL.md`), skill)
      else this.#addSkill(entryOf(skill, { snapshot, renamed, isAlone: isAlone(skill) }))
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
      // One that is withheld for a clash would stand at the URI of the one that is served.
      withheld: new Map([...this.#withheld].filter(([uri]) => !this.#skills.has(uri))),
    }
  }

  #addSkill(entry: CatalogSkill | undefined): void {
    if (entry === undefined) return
    this.#skills.set(entry.uri, entry)
    const hiddenBelow = entry.skill.standing === 'served' ? undefined : entry.root
    // Its own files and folders are found by it.
    if (entry.isAlone) return this.#showFolder(entry.root, hiddenBelow)
    for (const file of filesOf(entry)) this.#addFile(file)
    for (const folder of folderUrisOf(entry)) this.#showFolder(folder, hiddenBelow)
  }

  /** A file of an enclosing skill is the same file: the one that knows its skill stays. */
  #addFile(file: CatalogFile): void {
    const { files } = this.#folder(file.folder)
    const { name } = file
    if (files.get(name)?.documents === undefined) files.set(name, file)
  }

  /** In all folders above it. An unlisted skill shows its own folders to whoever knows it, and appears in no folder above. */
  #showFolder(uri: string, hiddenBelow: string | undefined): void {
    let shown = uri
    for (const above of folderUrisAbove(uri)) {
      if (shown === hiddenBelow || this.#folders.get(above)?.folders.has(shown) === true) return
      const { folders } = this.#folder(above)
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

/** A folder that more may come into. */
interface OpenFolder {
  /** By their names. */
  readonly files: Map<string, CatalogFile>
  /** Those that it shows, by their URIs. */
  readonly folders: Map<string, CatalogFolder>
}

function inNameOrder({ files, folders }: OpenFolder): FolderChildren {
  return [...files.values(), ...folders.values()].sort((a, b) => comparePaths(a.name, b.name))
}

/** What an entry is made with, besides the skill. */
interface Around {
  readonly snapshot: Pick<Snapshot, 'source' | 'proof'>
  readonly renamed: ReadonlyMap<string, string>
  readonly isAlone: boolean
}

/** Undefined for a skill that lacks what is served of each: by its standing it has all of it. */
export function entryOf(skill: Skill, { snapshot, renamed, isAlone }: Around): CatalogSkill | undefined {
  const { source, proof } = snapshot
  const { name, description, frontmatter, digest, servedPath } = skill
  if (name === undefined || description === undefined || frontmatter === undefined) return undefined
  if (digest === undefined || servedPath === undefined) return undefined
  const root = uriOf(source, servedPath)
  const signers = proof.signers !== undefined && { signers: proof.signers }
  const uri = uriIn(root, 'SKILL.md')
  const isEnumerable = isTakenByAll(frontmatter, skill.findings)
  return {
    uri,
    root,
    source,
    name,
    description,
    frontmatter,
    digest,
    skill,
    ...signers,
    renamed,
    isEnumerable,
    isAlone,
  }
}

/** The skills of the lists, parted by whether the lists that hold their frontmatter have them. */
export function splitListed(listed: readonly CatalogSkill[]): Pick<Catalog, 'enumerated' | 'omitted'> {
  return {
    enumerated: listed.filter(({ isEnumerable }) => isEnumerable),
    omitted: listed.filter(({ isEnumerable, skill }) => !isEnumerable && isYaml(skill)),
  }
}

/** Which of the skills have neither another one nor a renamed folder in them, and lie in none: as they are, and as they are served. */
function aloneAmong(skills: readonly Skill[], renamed: ReadonlyMap<string, string>): (skill: Skill) => boolean {
  const inOthers = meetingAmong(new Set([...skills.map(({ path }) => path), ...renamed.keys()]))
  const areAsTheyAre = skills.every(({ path, servedPath = path }) => path === servedPath)
  if (areAsTheyAre) return ({ path }) => !inOthers.has(path)
  const servedInOthers = meetingAmong(new Set(skills.flatMap(({ servedPath }) => servedPath ?? [])))
  return ({ path, servedPath }) => !inOthers.has(path) && !servedInOthers.has(servedPath ?? '')
}

/** Those of the paths that lie below another one of them, or above. */
function meetingAmong(paths: ReadonlySet<string>): ReadonlySet<string> {
  const meeting = new Set<string>()
  for (const path of paths) {
    for (const above of foldersAbove(path)) {
      if (paths.has(above)) meeting.add(path).add(above)
    }
  }
  return meeting
}

/** What is served before the first pull ended. Below the class that builds it, which no function's hoisting brings up. */
export const EMPTY_CATALOG: Catalog = buildCatalog({ number: 0, createdAt: '', sources: [] }, [])
