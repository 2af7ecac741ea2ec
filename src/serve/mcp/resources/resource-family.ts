import type { Steps } from '../../../base/async/cooperative.ts'
import type { Sorted } from '../../../base/sorted-texts.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import type { Changes } from '../../../sync/catalog/changes.ts'
import type { ReadContent, ResourceContent, UnreadContent } from '../../content.ts'

/**
 * A family of MCP resources. Lists, templates, reads, subscriptions and notifications go through the families of a
 * server in their order, and know none of them.
 */
export interface ResourceFamily {
  readonly scope: ResourceScope
  /** The family for a caller without its scope; the same family if that hides nothing. */
  readonly closed: ResourceFamily
  /**
   * Finds a resource by the URI in the client's spelling. `undefined` if the family has no opinion on the URI. A family
   * hides those after it.
   */
  find(catalog: Catalog, uri: string): FoundResource | undefined
  /** Returns the value that `find` builds for a URI of the family, if that takes long. */
  preparationFor(uri: string): Preparation | undefined
  /** Returns the text of a resource too large for one turn of the event loop, by its canonical URI. */
  largeText(catalog: Catalog, uri: string, read: ReadContent): Promise<LargeText> | undefined
  /** Returns the resources for `resources/list`. */
  list(catalog: Catalog): Steps<readonly FamilyResource[]>
  /** Returns the templates for `resources/templates/list`. */
  templates(catalog: Catalog): readonly ResourceTemplate[]
  /** Returns the canonical URIs that were added, removed or changed. */
  changes(step: CatalogStep): Steps<Iterable<string>>
  /** True if the lists of resources or of templates differ. */
  isListChanged(step: CatalogStep): Steps<boolean>
  /** Returns the canonical URIs that a change of the configuration may add, remove or change. */
  configurableUris(catalogs: readonly Catalog[]): readonly string[]
}

/** The scope that opens a family. `skills` opens it to every MCP client. */
export type ResourceScope = 'skills' | 'contract'

/** One resource: its entry in lists, and its content. */
export interface FamilyResource {
  /** The canonical URI. */
  readonly uri: string
  readonly mimeType: string
  /** `undefined` for a resource of several skills or of none, such as an index. */
  readonly part: SkillPart | undefined
  /** Returns the list entry. */
  describe(): object
  /** Estimates the size of the list entry in bytes. */
  entryBytes(): number
  /** Estimates the size of the content in bytes. */
  contentBytes(): number
  /** Reads the content. Bytes that differ from the listed ones are never returned. */
  content(reading: ContentReading): Promise<ResourceContent | UnreadContent>
}

/** The skill that a resource belongs to. */
export interface SkillPart {
  readonly source: string
  /** The true folder of the skill, relative to the source's root. */
  readonly path: string
  /** The digest of the content of the skill; `undefined` if none of its files is known. */
  readonly digest: string | undefined
  /** True if the resource has the instructions of the skill: its SKILL.md, or an archive. */
  readonly isDocument: boolean
}

/** Reads stored files, and waits for the turn of the caller. */
export interface ContentReading {
  readonly read: ReadContent
  readonly turn: (() => Promise<void> | undefined) | undefined
}

/** Result of the search for a URI. `refused`: the URI is malformed or ambiguous. */
export type FoundResource =
  | { readonly kind: 'resource'; readonly uri: string; readonly resource: FamilyResource }
  | { readonly kind: 'folder'; readonly uri: string }
  | { readonly kind: 'refused'; readonly why: string; readonly candidates?: readonly string[] }
  | { readonly kind: 'nothing'; readonly why: string }

/** A value that is built once for each catalog, as a part of larger work or in slices. */
export interface Preparation {
  steps(catalog: Catalog): Steps<unknown>
  ready(catalog: Catalog): Promise<unknown>
}

/** A text in pieces. No piece ends within a character. */
export interface LargeText {
  readonly mimeType: string
  readonly pieces: readonly string[]
}

/** A template of resources, and the values of its variables that lead to a listed resource. */
export interface ResourceTemplate {
  readonly listed: ListedTemplate
  readonly names: readonly string[]
  /** Returns the values of a variable for the given values of the others, in disjoint parts. */
  readonly valuesOf: (name: string, given: ReadonlyMap<string, string>) => Promise<readonly Sorted[]>
}

/** The entry of a template in `resources/templates/list`. */
export interface ListedTemplate {
  readonly uriTemplate: string
  readonly name: string
  readonly description: string
  /** `undefined` if its resources have several types. */
  readonly mimeType?: string
}

/** The catalogs before and after a change, and the changed files. */
export interface CatalogStep {
  readonly before: Catalog
  readonly after: Catalog
  readonly changes: Changes
}
