import type { FeaturePage } from '../../serve/page/page-view.ts'
import type { Family } from '../status/metrics/family.ts'
import type { Command } from './command.ts'

/**
 * A feature as the core sees it: its part of each surface. The value is light, since every run of the program has the
 * list of them: the code of a surface is loaded when the surface is used. `Parts`: the parts of a daemon that it needs.
 */
export interface Feature<Parts> {
  readonly commands?: CommandLoaders
  /** Its pages, by their paths. */
  readonly pages?: Readonly<Record<string, FeaturePage>>
  /** Collects its metrics for one answer. */
  readonly families?: (parts: Parts) => Promise<readonly Family[]>
}

/** Commands by their names, loaded on demand: loading takes most of the time of a short run. */
export type CommandLoaders = Readonly<Record<string, () => Promise<Command>>>
