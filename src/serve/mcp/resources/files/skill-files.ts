import type { Steps } from '../../../../base/async/cooperative.ts'
import { IncrementalCache } from '../../../../base/async/incremental.ts'
import { Memo } from '../../../../base/memo.ts'
import { sortingTexts } from '../../../../base/sorted-texts.ts'
import type { Sorted } from '../../../../base/sorted-texts.ts'
import { ValueTable } from '../../../../base/value-table.ts'
import type { ValueRow } from '../../../../base/value-table.ts'
import type { CatalogFile, CatalogSkill } from '../../../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../../../sync/catalog/catalog.ts'
import { filesOf, isInUriOrder } from '../../../../sync/catalog/skill-files.ts'
import { firstFrom } from '../../../../sync/model/digest.ts'
import { folderUrisAbove, uriOf } from '../../../../sync/model/uris/skill-uri.ts'
import { hiddenIn } from '../../../../sync/skill/hidden-unicode.ts'
import { contentOf, inTurn } from '../../../content.ts'
import type { ResourceContent, UnreadContent } from '../../../content.ts'
import type {
  CatalogStep,
  ContentReading,
  FamilyResource,
  FoundResource,
  ResourceFamily,
  ResourceTemplate,
  SkillPart,
} from '../resource-family.ts'
import { describeFile } from './file-entry.ts'
import { lookup } from './lookup.ts'
import { valuesIn, variablesOf } from './skill-template.ts'
import type { OfferedTemplate } from './skill-template.ts'

/** The configuration of the files of skills as resources. */
export interface SkillFileOptions {
  /** `resources/list` has the SKILL.md of each skill, or every file. */
  readonly list: 'skills' | 'files'
  /** Templates of the operator, in addition to the template of each source. */
  readonly spaces: readonly OfferedTemplate[]
}

/** The family of the files of skills. The folders of skills can be subscribed to, but are not listed. */
export class SkillFiles implements ResourceFamily {
  readonly scope = 'skills'
  readonly #options: SkillFileOptions
  readonly #tables = new Memo<Catalog, Map<OfferedTemplate, ValueTable>>()
  readonly #paths = new SourcePaths()

  constructor(options: SkillFileOptions) {
    this.#options = options
  }

  get closed(): this {
    return this
  }

  find(catalog: Catalog, uri: string): FoundResource {
    const found = lookup(catalog, uri)
    if (found.kind !== 'file') return found
    return { kind: 'resource', uri: found.uri, resource: new FileResource(found.file) }
  }

  preparationFor(): undefined {}

  largeText(): undefined {}

  *list(catalog: Catalog): Steps<readonly FamilyResource[]> {
    return (yield* this.#filesOf(catalog)).map((file) => new FileResource(file))
  }

  templates(catalog: Catalog): ResourceTemplate[] {
    const ofSources = catalog.snapshots.map(({ source }) => this.#templateOfSource(source, catalog))
    return [...ofSources, ...this.#options.spaces.map((space) => this.#templateOfSpace(space, catalog))]
  }

  // oxlint-disable-next-line require-yield -- the work is bounded by the changed files
  *changes({ changes }: CatalogStep): Steps<Iterable<string>> {
    return updatedBy(changes)
  }

  /** `changes.list` covers the SKILL.md documents. */
  *isListChanged({ before, after, changes }: CatalogStep): Steps<boolean> {
    if (changes.list || this.#options.list === 'skills') return changes.list
    const [was, is] = [yield* this.#filesOf(before), yield* this.#filesOf(after)]
    if (was.length !== is.length) return true
    for (const [index, file] of was.entries()) {
      if (!isListedAlike(file, is[index])) return true
      yield
    }
    return false
  }

  configurableUris(): readonly string[] {
    return []
  }

  #filesOf(catalog: Catalog): Steps<readonly CatalogFile[]> {
    return this.#options.list === 'skills' ? documenting(catalog) : filing(catalog)
  }

  #templateOfSource(source: string, catalog: Catalog): ResourceTemplate {
    const root = uriOf(source, '')
    return {
      listed: {
        uriTemplate: `${root}/{+path}`,
        name: source,
        description: `A file of a skill of the source "${source}", by its path`,
      },
      names: ['path'],
      valuesOf: async () => this.#paths.below(root, catalog),
    }
  }

  #templateOfSpace(space: OfferedTemplate, catalog: Catalog): ResourceTemplate {
    const { template } = space
    return {
      listed: {
        uriTemplate: template,
        name: template,
        description: 'A skill, by the parts of its path',
        mimeType: 'text/markdown',
      },
      names: variablesOf(space),
      valuesOf: async (name, given) => [await this.#tableOf(space, catalog).of(name, given)],
    }
  }

  #tableOf(space: OfferedTemplate, catalog: Catalog): ValueTable {
    const tables = this.#tables.of(catalog, () => new Map())
    const table = tables.get(space) ?? new ValueTable(variablesOf(space), () => rowsOf(space, catalog))
    tables.set(space, table)
    return table
  }
}

class FileResource implements FamilyResource {
  readonly #file: CatalogFile

  constructor(file: CatalogFile) {
    this.#file = file
  }

  get uri(): string {
    return this.#file.uri
  }

  get mimeType(): string {
    return describeFile(this.#file).mimeType
  }

  /** A file of a skill inside another one belongs to the skill whose SKILL.md it is, else to the one that stores it. */
  get part(): SkillPart {
    const { documents, skill } = this.#file
    const [source = ''] = this.#file.folder.slice('skill://'.length).split('/', 1)
    const { path, digest } = documents?.skill ?? skill
    return { source, path, digest, isDocument: documents !== undefined }
  }

  describe(): object {
    return describeFile(this.#file)
  }

  entryBytes(): number {
    return this.uri.length + Buffer.byteLength(this.#file.documents?.description ?? '') + 200
  }

  contentBytes(): number {
    return this.#file.file.size
  }

  async content({ read, turn }: ContentReading): Promise<ResourceContent | UnreadContent> {
    return contentOf(this.#file, inTurn(read, turn))
  }
}

/** Returns the changed files and every folder above them: a subscriber to the root of a skill expects that. */
export function updatedBy({ added, removed, changed }: CatalogStep['changes']): ReadonlySet<string> {
  const updated = new Set<string>()
  for (const uris of [added, removed, changed]) {
    for (const uri of uris) {
      updated.add(uri)
      for (const folder of folderUrisAbove(uri)) {
        if (updated.has(folder)) break
        updated.add(folder)
      }
    }
  }
  return updated
}

function isListedAlike(file: CatalogFile, other: CatalogFile | undefined): boolean {
  if (other === undefined || file.uri !== other.uri) return false
  const [was, is] = [file.documents, other.documents]
  return file.file.size === other.file.size && was?.name === is?.name && was?.description === is?.description
}

function* documenting({ listed, files }: Catalog): Steps<CatalogFile[]> {
  const all: CatalogFile[] = []
  for (const { uri } of listed) {
    const file = files.get(uri)
    if (file !== undefined) all.push(file)
    yield
  }
  return all
}

/** The files of a nested skill belong to both skills. */
function* filing({ listed, files }: Catalog): Steps<CatalogFile[]> {
  const all = new Set<CatalogFile>()
  for (const skill of listed) {
    for (const of of filesOf(skill)) {
      const file = files.at(of)
      if (file !== undefined) all.add(file)
    }
    yield
  }
  return [...all]
}

function* rowsOf(space: OfferedTemplate, { listed }: Catalog): Steps<readonly ValueRow[]> {
  const rows: ValueRow[] = []
  for (const { uri } of listed) {
    const row = [...(valuesIn(space, uri)?.values() ?? [])]
    // A value with hidden characters cannot be selected by a person.
    if (row.length > 0 && row.every((value) => hiddenIn(value) === undefined)) rows.push(row)
    yield
  }
  return rows
}

/**
 * The file paths of listed skills, by source. They are built in slices for the first caller, and once for each catalog.
 * A failure affects only the callers that wait for it.
 */
class SourcePaths {
  readonly #asked = new Memo<Catalog, Map<string, Asked>>()
  readonly #paths = new IncrementalCache(({ root, catalog }: Asked) => pathsBelow(root, catalog))

  /** Returns the paths below the URI of a source, in URI spelling, in disjoint parts. */
  async below(root: string, catalog: Catalog): Promise<readonly Sorted[]> {
    const ofCatalog = this.#asked.of(catalog, () => new Map())
    const asked = ofCatalog.get(root) ?? { root, catalog }
    ofCatalog.set(root, asked)
    return this.#paths.ready(asked)
  }
}

/** A source of a catalog, by its URI. */
interface Asked {
  readonly root: string
  readonly catalog: Catalog
}

/**
 * Most skills and their files are already in URI order, and are used in place. Only other paths are copied: those of
 * skills with common files, and those with names that a URI encodes.
 */
function* pathsBelow(root: string, { listed }: Catalog): Steps<readonly Sorted[]> {
  const below = `${root}/`
  const inPlace = new PathsInPlace(below)
  const others = new Set<string>()
  for (let at = firstFrom(listed, below, ({ uri }) => uri); listed[at]?.uri.startsWith(below) === true; at += 1) {
    const skill = listed[at]
    if (skill === undefined || !skill.root.startsWith(below)) continue
    if (isInUriOrder(skill)) inPlace.add(skill)
    else for (const { uri } of filesOf(skill)) others.add(uri.slice(below.length))
    yield
  }
  return [inPlace, yield* sortingTexts(others)]
}

/** The file paths of skills that share no files with others. */
class PathsInPlace implements Sorted {
  readonly #below: string
  readonly #skills: CatalogSkill[] = []
  /** The number of files up to and including each skill. */
  readonly #counts: number[] = []

  constructor(below: string) {
    this.#below = below
  }

  add(skill: CatalogSkill): void {
    this.#counts.push(this.length + skill.skill.files.length)
    this.#skills.push(skill)
  }

  get length(): number {
    return this.#counts.at(-1) ?? 0
  }

  at(index: number): string | undefined {
    let [low, high] = [0, this.#counts.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#counts[middle] ?? 0) > index) high = middle
      else low = middle + 1
    }
    const skill = this.#skills[low]
    const file = skill?.skill.files[index - (this.#counts[low - 1] ?? 0)]
    return skill && file && `${skill.root.slice(this.#below.length)}/${file.path}`
  }
}
