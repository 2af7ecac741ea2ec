import type { Steps } from '../../../../base/async/cooperative.ts'
import type { CatalogSkill } from '../../../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../../../sync/catalog/catalog.ts'
import { filesOf } from '../../../../sync/catalog/skill-files.ts'
import { folderUrisAbove, readSkillUri } from '../../../../sync/model/uris/skill-uri.ts'
import type { ReadContent, ResourceContent, UnreadContent } from '../../../content.ts'
import type {
  CatalogStep,
  ContentReading,
  FamilyResource,
  FoundResource,
  LargeText,
  ResourceFamily,
  SkillPart,
} from '../resource-family.ts'
import { ARCHIVE_FORMATS } from './archive-cache.ts'
import type { Archive } from './archive-cache.ts'
import {
  anySynthetics,
  bytesOfSynthetic,
  contentOfSynthetic,
  describeSynthetic,
  INDEX_URI,
  mimeTypeOfSynthetic,
  partOfSynthetic,
  syntheticAt,
  syntheticsOf,
} from './synthetics.ts'
import type { DerivedForms, Synthetic } from './synthetics.ts'

/** The configuration of the derived resources. */
export interface DerivedOptions extends DerivedForms {
  /** Lists or hides them; hidden ones can be read. */
  readonly synthetic: 'hide' | 'list'
}

/** The family of the index, the manifests and the archives. A real file or folder hides a derived resource. */
export class DerivedResources implements ResourceFamily {
  readonly scope = 'skills'
  readonly #options: DerivedOptions

  constructor(options: DerivedOptions) {
    this.#options = options
  }

  get closed(): this {
    return this
  }

  find(catalog: Catalog, asked: string): FoundResource | undefined {
    const uri = readSkillUri(asked)
    if (!uri.ok || uri.trailingSlash) return undefined
    const synthetic = syntheticAt(catalog, this.#options, uri.canonical)
    if (synthetic === undefined) return undefined
    const resource = new DerivedResource(synthetic, { catalog, asked, forms: this.#options })
    return { kind: 'resource', uri: uri.canonical, resource }
  }

  preparationFor(): undefined {}

  largeText(catalog: Catalog, uri: string, read: ReadContent): Promise<LargeText> | undefined {
    if (uri !== INDEX_URI) return undefined
    return this.#options.index?.pieces(catalog, read).then((pieces) => ({ mimeType: 'application/json', pieces }))
  }

  *list(catalog: Catalog): Steps<readonly FamilyResource[]> {
    const forms = this.#options
    return (yield* this.#listed(catalog)).map(
      (synthetic) => new DerivedResource(synthetic, { catalog, asked: synthetic.uri, forms }),
    )
  }

  templates(): readonly [] {
    return []
  }

  changes(step: CatalogStep): Steps<readonly string[]> {
    return changingSynthetics(step, this.#options)
  }

  /** Entries contain nothing that can change, except the URI. */
  *isListChanged({ before, after }: CatalogStep): Steps<boolean> {
    const [was, is] = [yield* this.#listed(before), yield* this.#listed(after)]
    if (was.length !== is.length) return true
    for (const [index, { uri }] of was.entries()) {
      if (uri !== is[index]?.uri) return true
      yield
    }
    return false
  }

  configurableUris(catalogs: readonly Catalog[]): readonly string[] {
    return anySynthetics(...catalogs)
  }

  *#listed(catalog: Catalog): Steps<readonly Synthetic[]> {
    const { synthetic, index } = this.#options
    if (synthetic === 'hide') return []
    const all: Synthetic[] = index === undefined ? [] : [{ kind: 'index', uri: INDEX_URI }]
    for (const skill of catalog.listed) {
      all.push(...syntheticsOf(catalog, this.#options, skill))
      yield
    }
    return all
  }
}

/** The catalog that a resource is derived from, the parts that derive it, and its URI in the client's spelling. */
interface Derivation {
  readonly catalog: Catalog
  readonly asked: string
  readonly forms: DerivedForms
}

class DerivedResource implements FamilyResource {
  readonly #synthetic: Synthetic
  readonly #from: Derivation

  constructor(synthetic: Synthetic, from: Derivation) {
    this.#synthetic = synthetic
    this.#from = from
  }

  get uri(): string {
    return this.#synthetic.uri
  }

  get mimeType(): string {
    return mimeTypeOfSynthetic(this.#synthetic)
  }

  get part(): SkillPart | undefined {
    return partOfSynthetic(this.#synthetic)
  }

  describe(): object {
    return describeSynthetic(this.#synthetic)
  }

  entryBytes(): number {
    return Buffer.byteLength(JSON.stringify(this.describe()))
  }

  contentBytes(): number {
    return bytesOfSynthetic(this.#synthetic, this.#from.catalog, this.#from.forms)
  }

  async content({ read }: ContentReading): Promise<ResourceContent | UnreadContent> {
    const { catalog, asked, forms } = this.#from
    return contentOfSynthetic(this.#synthetic, asked, catalog, { forms, read })
  }
}

/**
 * Returns the URIs of generated resources that were added, removed or changed. It checks only the skills that the
 * changed files belong to.
 */
export function* changingSynthetics(step: CatalogStep, forms: DerivedForms): Steps<readonly string[]> {
  const skills = yield* touchingSkills(step)
  const isSame = forms.index === undefined || (yield* sameIndex(step, skills, forms))
  const uris = isSame ? [] : [INDEX_URI]
  for (const uri of skills) {
    uris.push(...changesOfSkill(step, forms, uri))
    yield
  }
  return uris
}

/** Returns the SKILL.md URIs of all skills whose generated resources may differ. */
function* touchingSkills({ before, after, changes }: CatalogStep): Steps<readonly string[]> {
  const isSkill = (uri: string): boolean => before.skills.has(uri) || after.skills.has(uri)
  const moved = [
    ...(yield* onlyIn(before, after)),
    ...(yield* onlyIn(after, before)),
    ...(yield* restanding(before, after)),
  ]
  const uris = new Set(moved)
  const met = new Set<string>()
  // Folders exist only for listed skills: a folder can appear or disappear without a change of files.
  for (const file of [...moved, ...changes.added, ...changes.removed, ...changes.changed]) {
    yield
    for (const at of upFrom(file)) {
      // The folders above it are visited already.
      if (met.has(at)) break
      met.add(at)
      // A file here may have the URI of an archive. It hides that archive, or no longer hides it.
      const format = ARCHIVE_FORMATS.find((candidate) => at.endsWith(`.${candidate}`))
      const beside = format === undefined ? [] : [`${at.slice(0, -format.length - 1)}/SKILL.md`]
      for (const uri of [`${at}/SKILL.md`, ...beside]) if (isSkill(uri)) uris.add(uri)
    }
  }
  return [...uris]
}

function* upFrom(uri: string): Generator<string> {
  yield uri
  yield* folderUrisAbove(uri)
}

/** A rule can add or remove a skill inside another skill while its files stay. */
function* onlyIn(catalog: Catalog, other: Catalog): Steps<readonly string[]> {
  const uris: string[] = []
  for (const uri of catalog.skills.keys()) {
    if (!other.skills.has(uri)) uris.push(uri)
    yield
  }
  return uris
}

function* restanding(before: Catalog, after: Catalog): Steps<readonly string[]> {
  const uris: string[] = []
  for (const [uri, was] of before.skills) {
    const is = after.skills.get(uri)
    if (is !== undefined && is.skill.standing !== was.skill.standing) uris.push(uri)
    yield
  }
  return uris
}

function changesOfSkill({ before, after }: CatalogStep, forms: DerivedForms, skill: string): string[] {
  const was = syntheticsByUri(before, forms, skill)
  const is = syntheticsByUri(after, forms, skill)
  const uris = [...new Set([...was.keys(), ...is.keys()])]
  return uris.filter((uri) => !isSameSynthetic(was.get(uri), is.get(uri)))
}

function syntheticsByUri(catalog: Catalog, forms: DerivedForms, uri: string): ReadonlyMap<string, Synthetic> {
  const skill = catalog.skills.get(uri)
  const synthetics = skill === undefined ? [] : syntheticsOf(catalog, forms, skill)
  return new Map(synthetics.map((synthetic) => [synthetic.uri, synthetic]))
}

function isSameSynthetic(a: Synthetic | undefined, b: Synthetic | undefined): boolean {
  if (a?.kind === 'manifest' && b?.kind === 'manifest') return isSameEntry(a.skill, b.skill)
  if (a?.kind === 'archive' && b?.kind === 'archive') return isSameArchive(a.archive, b.archive)
  return false
}

/** True if the index document keeps its bytes. It contains the mode of a file only through the digest of an archive. */
function* sameIndex(step: CatalogStep, touched: readonly string[], { archives }: DerivedForms): Steps<boolean> {
  const { before, after } = step
  if (before.enumerated.length !== after.enumerated.length) return false
  for (const [index, { uri }] of before.enumerated.entries()) {
    if (uri !== after.enumerated[index]?.uri) return false
    yield
  }
  for (const uri of touched) {
    if (!isSaidAlike(step, uri, archives)) return false
    yield
  }
  return true
}

function isSaidAlike({ before, after }: CatalogStep, uri: string, archives: DerivedForms['archives']): boolean {
  const [was, is] = [before.skills.get(uri), after.skills.get(uri)]
  if (was === undefined || is === undefined || is.skill.standing !== 'served') return true
  if (!was.isEnumerable && !is.isEnumerable) return true
  const [old, now] = [archives.of(before, was), archives.of(after, is)]
  if (!isSameEntry(was, is) || old.length !== now.length) return false
  return old.every((archive, index) => isSameArchive(archive, now[index]))
}

/** True if all files are equal. SKILL.md and everything parsed from it are equal then. */
function isSameEntry(a: CatalogSkill, b: CatalogSkill): boolean {
  const [was, is] = [filesOf(a), filesOf(b)]
  if (was.length !== is.length) return false
  return was.every(({ uri, file }, index) => {
    const other = is[index]
    return uri === other?.uri && file.sha256 === other.file.sha256 && file.size === other.file.size
  })
}

function isSameArchive(a: Archive, b: Archive | undefined): boolean {
  return a.uri === b?.uri && a.skill.digest === b.skill.digest && isSameEntry(a.skill, b.skill)
}
