import { baseName } from '../../../../base/paths.ts'
import type { CatalogSkill } from '../../../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../../../sync/catalog/catalog.ts'
import { filesOf } from '../../../../sync/catalog/skill-files.ts'
import { pathBelow } from '../../../../sync/model/uris/skill-uri.ts'
import { isUnread } from '../../../content.ts'
import type { ResourceContent, ReadContent, UnreadContent } from '../../../content.ts'
import type { SkillPart } from '../resource-family.ts'
import { ARCHIVE_FORMATS } from './archive-cache.ts'
import type { Archive, ArchiveCache } from './archive-cache.ts'
import type { IndexDocument } from './index-document.ts'

/**
 * The URI of the index for clients of revisions before July 2026. No source can have this name, because an id contains
 * no dot.
 */
export const INDEX_URI = 'skill://index.json'

/** The parts that the configuration enables. */
export interface DerivedForms {
  /** `undefined` if it is disabled. */
  readonly index: IndexDocument | undefined
  readonly archives: ArchiveCache
}

/** A resource that is generated from the files of skills. It is not a child of a folder and not in any entry. */
export type Synthetic =
  | { readonly kind: 'index'; readonly uri: string }
  | { readonly kind: 'manifest'; readonly uri: string; readonly skill: CatalogSkill }
  | { readonly kind: 'archive'; readonly uri: string; readonly archive: Archive }

/** Returns the generated resource at a canonical URI. The caller must prefer a real file or folder at that URI. */
export function syntheticAt(catalog: Catalog, forms: DerivedForms, uri: string): Synthetic | undefined {
  if (uri === INDEX_URI) return forms.index && { kind: 'index', uri }
  const skill = manifestedSkill(catalog, uri)
  if (skill !== undefined) return { kind: 'manifest', uri, skill }
  const archive = forms.archives.find(catalog, uri)
  return archive && { kind: 'archive', uri, archive }
}

/** Returns the generated resources of one skill that no real file or folder hides. */
export function syntheticsOf(
  catalog: Catalog,
  forms: Pick<DerivedForms, 'archives'>,
  skill: CatalogSkill,
): Synthetic[] {
  const uri = manifestUriOf(skill)
  const isFree = !catalog.files.has(uri) && !catalog.folders.has(uri)
  const archives = forms.archives.of(catalog, skill)
  return [
    ...(isFree ? [{ kind: 'manifest', uri, skill } as const] : []),
    ...archives.map((archive) => ({ kind: 'archive', uri: archive.uri, archive }) as const),
  ]
}

/**
 * Returns all URIs that can be generated from any of the catalogs in any form, except manifests: all forms have the
 * same.
 */
export function anySynthetics(...catalogs: readonly Catalog[]): string[] {
  const archives = catalogs.flatMap(({ skills, files, folders }) => {
    const uris = [...skills.values()].flatMap(({ root }) => ARCHIVE_FORMATS.map((format) => `${root}.${format}`))
    return uris.filter((uri) => !files.has(uri) && !folders.has(uri))
  })
  return [INDEX_URI, ...archives]
}

export function mimeTypeOfSynthetic(synthetic: Synthetic): string {
  return synthetic.kind === 'archive' ? synthetic.archive.mimeType : 'application/json'
}

/** Returns the skill that a generated resource belongs to; `undefined` for the index. */
export function partOfSynthetic(synthetic: Synthetic): SkillPart | undefined {
  if (synthetic.kind === 'index') return undefined
  const { source, skill } = synthetic.kind === 'archive' ? synthetic.archive.skill : synthetic.skill
  return { source, path: skill.path, digest: skill.digest, isDocument: synthetic.kind === 'archive' }
}

/** Returns the list entry. It has no size, which would change with each change of a file. */
export function describeSynthetic(synthetic: Synthetic): object {
  const { uri } = synthetic
  return { uri, name: baseName(uri), mimeType: mimeTypeOfSynthetic(synthetic) }
}

/** Estimates the size of the content. An archive is at most slightly larger than its files. */
export function bytesOfSynthetic(
  synthetic: Synthetic,
  catalog: Catalog,
  { index }: Pick<DerivedForms, 'index'>,
): number {
  switch (synthetic.kind) {
    case 'index':
      return index?.bytesOf(catalog) ?? 0
    case 'manifest':
      return Buffer.byteLength(manifestText(synthetic.skill, synthetic.uri))
    case 'archive':
      return synthetic.archive.skill.skill.size
    default:
      return synthetic satisfies never
  }
}

/**
 * Returns the content for a read at the URI in the client's spelling. `undefined` if a file that it is built from is
 * damaged.
 */
export async function contentOfSynthetic(
  synthetic: Synthetic,
  asked: string,
  catalog: Catalog,
  { forms, read }: { readonly forms: DerivedForms; readonly read: ReadContent },
): Promise<ResourceContent | UnreadContent> {
  switch (synthetic.kind) {
    case 'index': {
      const text = await forms.index?.text(catalog, read)
      return text === undefined ? undefined : { text }
    }
    case 'manifest':
      return { text: manifestText(synthetic.skill, asked) }
    case 'archive': {
      const bytes = await forms.archives.bytesOf(synthetic.archive, read)
      return isUnread(bytes) ? bytes : { blob: bytes.toString('base64') }
    }
    default:
      return synthetic satisfies never
  }
}

const SUFFIX = '/_manifest'

/** Returns the URI at which FastMCP's client reads the list of a skill's files. */
export function manifestUriOf({ root }: CatalogSkill): string {
  return root + SUFFIX
}

/** Returns the skill of a manifest URI, listed or not. */
function manifestedSkill(catalog: Catalog, uri: string): CatalogSkill | undefined {
  return uri.endsWith(SUFFIX) ? catalog.skills.get(`${uri.slice(0, -SUFFIX.length)}/SKILL.md`) : undefined
}

/** Returns the manifest of a skill. It names the skill in the client's spelling; its paths are not encoded. */
export function manifestText(skill: CatalogSkill, asked: string): string {
  const name = asked.slice('skill://'.length, asked.lastIndexOf('/'))
  const entries = filesOf(skill).map(({ uri, file }) => ({
    path: pathBelow(skill.root, uri),
    size: file.size,
    hash: `sha256:${file.sha256}`,
  }))
  return JSON.stringify({ skill: name, files: entries })
}
