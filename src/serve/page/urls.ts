import type { CatalogFile, CatalogSkill } from '../../sync/catalog/catalog-file.ts'

/**
 * Returns the address of a skill's page, relative to the root, because a proxy may add any path. A URI and its page
 * have equal paths.
 */
export function skillAddress({ root }: Pick<CatalogSkill, 'root'>): string {
  return `${below(root)}/`
}

export function fileAddress(file: Pick<CatalogFile, 'uri'>): string {
  return below(file.uri)
}

function below(uri: string): string {
  return `skills/${uri.slice('skill://'.length)}`
}

/** Returns the address of the page for the revision of a source that waits for approval. */
export function pendingAddress(source: string): string {
  return `changes?pending=${encodeURIComponent(source)}`
}

/** Returns the address of a source among all. */
export function sourceAddress(source: string): string {
  return `sources#source-${source}`
}

/** Returns the address of the list of the skills with a tag. */
export function tagAddress(tag: string): string {
  return `?tag=${encodeURIComponent(tag)}`
}

/** Returns the relative path from the page at `path` to the root. */
export function upFrom(path: string): string {
  const depth = path.split('/').length - 2
  return depth <= 0 ? './' : '../'.repeat(depth)
}
