import { foldersAbove, isBelow, relativeTo } from '../../../../src/base/paths.ts'
import type { Marketplace } from '../../../../src/sync/model/marketplace.ts'
import { MARKETPLACE_LIMITS } from '../../../../src/sync/survey/marketplace/marketplace-limits.ts'
import type { MarketplaceLimits, PluginLimits } from '../../../../src/sync/survey/marketplace/marketplace-limits.ts'
import type { PluginTree } from '../../../../src/sync/survey/marketplace/plugin-tree.ts'
import { readMarketplace } from '../../../../src/sync/survey/marketplace/read-marketplace.ts'
import type { ReadMarketplace } from '../../../../src/sync/survey/marketplace/read-marketplace.ts'

/** Files by path: their texts, or values that are written as JSON. */
export type LiteralFiles = Readonly<Record<string, unknown>>

/** A tree of these files, with the paths that the reader opened. `unchanged`: folders that it declares as known. */
export function literalTree(
  files: LiteralFiles,
  unchanged: readonly string[] = [],
): PluginTree & { readonly opened: string[] } {
  const opened: string[] = []
  return {
    opened,
    isUnchanged: (path) => [path, ...foldersAbove(path)].some((folder) => unchanged.includes(folder)),
    list: (folder) => {
      const names = new Map<string, 'file' | 'folder'>()
      for (const path of Object.keys(files)) {
        if (!isBelow(path, folder)) continue
        const [name = '', ...below] = relativeTo(folder, path).split('/')
        names.set(name, below.length === 0 ? 'file' : 'folder')
      }
      return names.size === 0 ? undefined : [...names].map(([name, kind]) => ({ name, kind }))
    },
    isFile: (path) => Object.hasOwn(files, path),
    open: async (wanted) => {
      opened.push(...wanted.map(({ path }) => path).filter((path) => Object.hasOwn(files, path)))
      return ({ path }) => {
        if (!Object.hasOwn(files, path)) return undefined
        const file = files[path]
        return { ok: true, text: typeof file === 'string' ? file : JSON.stringify(file) }
      }
    },
  }
}

/** The marketplace of these files. */
export async function marketplaceOf(files: LiteralFiles, limits: Limited = {}): Promise<ReadMarketplace> {
  return marketplaceIn(literalTree(files), undefined, limits)
}

/** The marketplace of the tree. `earlier`: that of the tree before. */
export async function marketplaceIn(
  tree: PluginTree,
  earlier?: Marketplace,
  { plugin, ...limits }: Limited = {},
): Promise<ReadMarketplace> {
  const all = { ...MARKETPLACE_LIMITS, ...limits, plugin: { ...MARKETPLACE_LIMITS.plugin, ...plugin } }
  return readMarketplace(tree, { earlier, limits: all }, new AbortController().signal)
}

/** The limits that a test sets. */
export type Limited = Partial<Omit<MarketplaceLimits, 'plugin'>> & { readonly plugin?: Partial<PluginLimits> }
