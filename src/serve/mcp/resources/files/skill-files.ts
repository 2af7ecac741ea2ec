import type { Steps } from '../../../../base/async/cooperative.ts'
import { Memo } from '../../../../base/memo.ts'
import { ValueTable } from '../../../../base/value-table.ts'
import type { ValueRow } from '../../../../base/value-table.ts'
import type { CatalogFile } from '../../../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../../../sync/catalog/catalog.ts'
import { filesOf } from '../../../../sync/catalog/skill-files.ts'
import { folderUrisAbove, uriOf } from '../../../../sync/model/skill-uri.ts'
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
import { SourcePaths } from './source-paths.ts'

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
