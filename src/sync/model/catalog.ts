import { createHash } from 'node:crypto'
import { comparePaths } from './digest.ts'
import { NONE_DISABLED, type Disabled } from './disabled.ts'
import type { Generation } from './generation.ts'
import type { JsonObject } from './frontmatter.ts'
import { baseName, folderOf, joinPath } from './paths.ts'
import { renamedFolders, servedPathOf } from './placement.ts'
import { folderUrisAbove, uriIn, uriOf } from './skill-uri.ts'
import type { Skill, SkillFile } from './skill.ts'
import type { Snapshot } from './snapshot.ts'
import type { SourceId } from './source-id.ts'
import type { Signers } from './trust.ts'

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
  readonly files: ReadonlyMap<string, CatalogFile>
  /** Folders by URI without a trailing slash, their children in the order of their names. */
  readonly folders: ReadonlyMap<string, readonly FolderChild[]>
  /** Skills that have a URI and are withheld: whoever asks is told why. */
  readonly withheld: ReadonlyMap<string, Skill>
}

export interface CatalogSkill {
  /** The URI of its SKILL.md. */
  readonly uri: string
  /** The URI of its folder. */
  readonly root: string
  readonly source: SourceId
  readonly name: string
  readonly description: string
  readonly frontmatter: JsonObject
  readonly digest: string
  readonly skill: Skill
  /** Who signed the commit or tag it comes from, where that is asked for. */
  readonly signers?: Signers
  /** SKILL.md first, then by URI; files of nested skills included. */
  readonly files: readonly CatalogFile[]
}

export interface CatalogFile {
  readonly uri: string
  /** The last segment of its path. */
  readonly name: string
  /** A skill whose stored version holds the bytes. */
  readonly skill: Skill
  readonly file: SkillFile
  /** The skill that this file is the SKILL.md of. */
  readonly documents?: CatalogSkill
}

export type FolderChild =
  | { readonly kind: 'folder'; readonly uri: string; readonly name: string }
  | { readonly kind: 'file'; readonly uri: string; readonly name: string }

/**
 * Builds the catalog of one generation. The snapshots come in the generation's order. A skill that is disabled is not in it;
 * the files of one that lies inside of another skill are files of that one.
 */
export function buildCatalog(
  generation: Generation,
  snapshots: readonly Snapshot[],
  disabled: Disabled = NONE_DISABLED,
): Catalog {
  const builder = new CatalogBuilder()
  for (const snapshot of snapshots) builder.add(snapshot, disabled.get(snapshot.source))
  return { ...headOf(generation, disabled), snapshots, ...builder.build() }
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

/** Puts the skills of one snapshot after another where they are found. */
export class CatalogBuilder {
  readonly #skills = new Map<string, CatalogSkill>()
  readonly #files = new Map<string, CatalogFile>()
  readonly #folders = new Map<string, FolderChild[]>()
  /** Folders that the one above them shows. */
  readonly #shown = new Set<string>()
  readonly #withheld = new Map<string, Skill>()

  /** `renamed`: the folders that are, by all skills of the revision, where those here are not all. */
  add(
    snapshot: Snapshot,
    disabled: ReadonlySet<string> | undefined,
    renamed: ReadonlyMap<string, string> = renamedFolders(snapshot.skills),
  ): void {
    this.#folder(uriOf(snapshot.source, ''))
    // Those of the lists first: a folder that one of them lies in is shown, whoever else has files there.
    const isUnlisted = ({ standing }: Skill): number => (standing === 'unlisted' ? 1 : 0)
    for (const skill of snapshot.skills.toSorted((a, b) => isUnlisted(a) - isUnlisted(b))) {
      if (skill.servedPath === undefined || disabled?.has(skill.path) === true) continue
      if (skill.standing === 'withheld')
        this.#withheld.set(uriOf(snapshot.source, `${skill.servedPath}/SKILL.md`), skill)
      else this.#addSkill(snapshot, skill, skill.servedPath, renamed)
    }
  }

  build(): Pick<Catalog, 'skills' | 'listed' | 'files' | 'folders' | 'withheld'> {
    const listed = [...this.#skills.values()].filter(({ skill }) => skill.standing === 'served')
    return {
      skills: this.#skills,
      listed: listed.toSorted((a, b) => comparePaths(a.uri, b.uri)),
      files: this.#files,
      folders: new Map([...this.#folders].map(([uri, children]) => [uri, inNameOrder(children)])),
      // One that is withheld for a clash would stand at the URI of the one that is served.
      withheld: new Map([...this.#withheld].filter(([uri]) => !this.#skills.has(uri))),
    }
  }

  #addSkill(snapshot: Snapshot, skill: Skill, servedPath: string, renamed: ReadonlyMap<string, string>): void {
    const { source, proof } = snapshot
    const { name, description, frontmatter, digest } = skill
    if (name === undefined || description === undefined || frontmatter === undefined || digest === undefined) return
    const root = uriOf(source, servedPath)
    const uri = `${root}/SKILL.md`
    const served = (path: string): string =>
      skill.path === '' ? joinPath(servedPath, path) : servedPathOf(joinPath(skill.path, path), renamed)
    const uris = new UrisByFolder((folder) => uriOf(source, served(folder)))
    const placed = skill.files.map((file) => ({ ...uris.of(file.path), file }))
    const files = placed.map(({ uri: at, file }) => fileOf(at, skill, file))
    const entry: CatalogSkill = {
      uri,
      root,
      source,
      name,
      description,
      frontmatter,
      digest,
      skill,
      ...(proof.signers !== undefined && { signers: proof.signers }),
      files: documentFirst(files, uri),
    }
    this.#skills.set(uri, entry)
    for (const [index, file] of files.entries())
      this.#addFile(file.uri === uri ? { ...file, documents: entry } : file, placed[index]?.folder ?? root)
    const folders = new Set(placed.map(({ folder }) => folder))
    for (const folder of folders) this.#showFolder(folder, skill.standing === 'served' ? undefined : root)
  }

  /** A file of an enclosing skill is the same file: the one that knows its skill stays. */
  #addFile(file: CatalogFile, folder: string): void {
    const known = this.#files.get(file.uri)
    if (known?.documents === undefined) this.#files.set(file.uri, file)
    if (known === undefined) this.#folder(folder).push({ kind: 'file', uri: file.uri, name: file.name })
  }

  /** In all folders above it. An unlisted skill shows its own folders to whoever knows it, and appears in no folder above. */
  #showFolder(uri: string, hiddenBelow: string | undefined): void {
    let shown = uri
    for (const folder of folderUrisAbove(uri)) {
      if (shown === hiddenBelow || this.#shown.has(shown)) return
      this.#shown.add(shown)
      this.#folder(folder).push({ kind: 'folder', uri: shown, name: decodeURIComponent(baseName(shown)) })
      shown = folder
    }
  }

  #folder(uri: string): FolderChild[] {
    const known = this.#folders.get(uri)
    if (known !== undefined) return known
    const children: FolderChild[] = []
    this.#folders.set(uri, children)
    return children
  }
}

/** The URIs of files, and of their folders, each of which may be long, and is written once for all files in it. */
class UrisByFolder {
  readonly #uriOf: (folder: string) => string
  readonly #known = new Map<string, string>()

  constructor(uriOfFolder: (folder: string) => string) {
    this.#uriOf = uriOfFolder
  }

  of(path: string): { readonly uri: string; readonly folder: string } {
    const inside = folderOf(path)
    const folder = this.#known.get(inside) ?? this.#uriOf(inside)
    this.#known.set(inside, folder)
    return { uri: uriIn(folder, baseName(path)), folder }
  }
}

function fileOf(uri: string, skill: Skill, file: SkillFile): CatalogFile {
  return { uri, name: baseName(file.path), skill, file }
}

function documentFirst(files: readonly CatalogFile[], document: string): CatalogFile[] {
  const [own, others] = [files.filter(({ uri }) => uri === document), files.filter(({ uri }) => uri !== document)]
  return [...own, ...others.toSorted((a, b) => comparePaths(a.uri, b.uri))]
}

function inNameOrder(children: readonly FolderChild[]): FolderChild[] {
  return children.toSorted((a, b) => comparePaths(a.name, b.name))
}

/** What is served before the first pull ended. Below the class that builds it, which no function's hoisting brings up. */
export const EMPTY_CATALOG: Catalog = buildCatalog({ number: 0, createdAt: '', sources: [] }, [])
