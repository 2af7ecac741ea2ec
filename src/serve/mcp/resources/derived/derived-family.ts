import type { Steps } from '../../../../base/async/cooperative.ts'
import type { Catalog } from '../../../../sync/catalog/catalog.ts'
import { readSkillUri } from '../../../../sync/model/skill-uri.ts'
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
import { changingSynthetics } from './derived-changes.ts'
import {
  INDEX_URI,
  anySynthetics,
  bytesOfSynthetic,
  contentOfSynthetic,
  describeSynthetic,
  mimeTypeOfSynthetic,
  partOfSynthetic,
  syntheticAt,
  syntheticsOf,
} from './derived-resources.ts'
import type { DerivedForms, Synthetic } from './derived-resources.ts'

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
