import type { CatalogFile, CatalogSkill } from '../../sync/catalog/catalog-entry.ts'

/** Addresses of the page, relative to its root: it may lie below any path of a proxy. A URI and its page are called alike. */
export function skillAddress({ root }: Pick<CatalogSkill, 'root'>): string {
  return `${below(root)}/`
}

export function fileAddress(file: Pick<CatalogFile, 'uri'>): string {
  return below(file.uri)
}

function below(uri: string): string {
  return `skills/${uri.slice('skill://'.length)}`
}

/** The way from the page of a path up to the root. */
export function upFrom(path: string): string {
  const depth = path.split('/').length - 2
  return depth <= 0 ? './' : '../'.repeat(depth)
}
