import { agentFoldersFeature } from '../features/agent-folders/feature.ts'
import { authorFeature } from '../features/author/feature.ts'
import { channelFeature } from '../features/channel/feature.ts'
import { replicasFeature } from '../features/hub-of-several/feature.ts'
import { lockRepositoryFeature } from '../features/lock-repository/feature.ts'
import { marketplaceFeature } from '../features/marketplace/feature.ts'
import { mcpSourcesFeature } from '../features/mcp-sources/feature.ts'
import { ringsFeature } from '../features/rings/feature.ts'
import { scanFeature } from '../features/scan/feature.ts'
import { usageFeature } from '../features/usage/feature.ts'
import type { Context, ExitStatus } from './cli/command.ts'
import type {
  CommandFeatures,
  CommandLoaders,
  Feature,
  FeatureServer,
  FeatureSurfaces,
  ServerParts,
  VariantName,
} from './cli/feature.ts'
import type { WholeConfig } from './configuration.ts'
import type { DaemonParts } from './daemon.ts'
import { UsageError } from './runtime/usage-error.ts'
import type { ItemsOf } from './status/items.ts'

/** The features, in the order of their metrics: their commands, requests, pages, routes, metrics and items. */
export const FEATURES: readonly Feature<DaemonParts, WholeConfig>[] = [
  marketplaceFeature,
  ringsFeature,
  channelFeature,
  replicasFeature,
  lockRepositoryFeature,
  scanFeature,
  usageFeature,
  agentFoldersFeature,
  mcpSourcesFeature,
  authorFeature,
]

/** Those with a part in `status`, in the order of their lines, of the folders that they write, and of their ways to connect. */
const IN_STATUS: typeof FEATURES = [
  agentFoldersFeature,
  marketplaceFeature,
  channelFeature,
  ringsFeature,
  scanFeature,
  replicasFeature,
]

/** The parts of features in commands of the core. */
export const COMMAND_FEATURES: CommandFeatures<WholeConfig> = {
  items: loadItems,
  checks: async () => allOf(({ checks }) => checks),
  stateRecords: FEATURES.flatMap(({ stateRecord }) => stateRecord ?? []),
  statuses: async () => allOf(({ status }) => status, IN_STATUS),
  folders: async () => allOf(({ folders }) => folders, IN_STATUS),
  async writeLockProofs(...asked) {
    const ends = await Promise.all(FEATURES.map(async ({ writeLockProofs }) => writeLockProofs?.(...asked)))
    return ends.flatMap((some) => some ?? [])
  },
  sourceNotes: async () => allOf(({ sourceNotes }) => sourceNotes),
}

/** Loads this part of each feature that has one. */
async function allOf<Part>(
  partOf: (feature: (typeof FEATURES)[number]) => (() => Promise<Part>) | undefined,
  features = FEATURES,
): Promise<readonly Part[]> {
  return Promise.all(features.flatMap((feature) => partOf(feature) ?? []).map((load) => load()))
}

/** Has the feature that has this variant of a command run it. */
export async function runVariant(name: VariantName, context: Context<WholeConfig>): Promise<ExitStatus> {
  const load = FEATURES.flatMap(({ variants }) => variants?.[name] ?? []).at(0)
  if (load === undefined) throw new UsageError(`This program has no "skillsyncd ${name}"`)
  return (await load())(context)
}

/** Loads what makes the items of a status, those of all features among them. */
export async function loadItems(): Promise<ItemsOf> {
  const { coreItems } = await import('./status/items.ts')
  const ofFeatures = await Promise.all(FEATURES.map(async ({ items }) => items?.()))
  return (status, now) => [coreItems, ...ofFeatures].flatMap((itemsOf) => itemsOf?.(status, now) ?? [])
}

/** The commands of all features. */
export const FEATURE_COMMANDS: CommandLoaders = Object.fromEntries(
  FEATURES.flatMap(({ commands = {} }) => Object.entries(commands)),
)

/** The parts of all features in what is served. */
export interface LoadedSurfaces extends Required<FeatureSurfaces<DaemonParts>> {
  readonly open: (server: ServerParts) => FeatureServer<DaemonParts> & AsyncDisposable
}

/** Loads what features add to what is served. */
export async function loadSurfaces(): Promise<LoadedSurfaces> {
  const all = await allOf(({ surfaces }) => surfaces)
  const inStatus = await allOf(({ surfaces }) => surfaces, IN_STATUS)
  return {
    pages: Object.fromEntries(all.flatMap(({ pages = {} }) => Object.entries(pages))),
    sections: (parts) => inStatus.flatMap(({ sections }) => sections?.(parts) ?? []),
    families: (parts) => all.flatMap(({ families }) => families?.(parts) ?? []),
    open(server) {
      const opened = all.flatMap(({ open }) => open?.(server) ?? [])
      return {
        routesOf: (parts) => opened.flatMap(({ routesOf }) => routesOf(parts)),
        async [Symbol.asyncDispose]() {
          for (const one of opened) await one[Symbol.asyncDispose]?.()
        },
      }
    },
  }
}
