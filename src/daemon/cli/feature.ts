import type { FeaturePage, FeatureSection } from '../../serve/page/page-view.ts'
import type { Registry } from '../../serve/registry.ts'
import type { FeatureRoutes } from '../../serve/site/server.ts'
import type { Config } from '../config/config.ts'
import type { ControlRequest } from '../control/request.ts'
import type { ItemsOf } from '../status/items.ts'
import type { Family } from '../status/metrics/family.ts'
import type { Command } from './command.ts'

/**
 * A feature as the core sees it: its part of each surface. The value is light, since every run of the program has the
 * list of them. `Parts`: the parts of a daemon that it needs.
 */
export interface Feature<Parts> {
  readonly commands?: CommandLoaders
  /** Loads the items that it adds to a status. */
  readonly items?: () => Promise<ItemsOf>
  /** Loads the requests that it adds to those of the daemon. */
  readonly requests?: () => Promise<readonly ControlRequest<Parts & { readonly config: Config }>[]>
  /** Loads its part of what is served, before anything is: an upgrade may replace the files of a program that runs. */
  readonly surfaces?: () => Promise<FeatureSurfaces<Parts & { readonly config: Config }>>
}

/** The part of a feature in what is served over HTTP. */
export interface FeatureSurfaces<Parts> {
  /** Its pages, by their paths. */
  readonly pages?: Readonly<Record<string, FeaturePage>>
  /** Its parts of the page with the setup of clients. */
  readonly sections?: (parts: Parts) => readonly FeatureSection[]
  /** Collects its metrics. */
  readonly families?: (parts: Parts) => readonly Family[]
  /** Opens its part of an HTTP server. */
  readonly open?: (server: ServerParts) => FeatureServer<Parts>
}

/** An HTTP server, as a feature sees it. */
export interface ServerParts {
  readonly registry: Pick<Registry, 'watch'>
  /** A monotonic clock in milliseconds. */
  readonly now: () => number
  /** Receives an unexpected error that no request waits for. */
  readonly onError: (error: unknown) => void
}

/** The part of a feature in an HTTP server. It outlives a reload. */
export interface FeatureServer<Parts> extends Partial<AsyncDisposable> {
  /** Returns its routes by the parts of the daemon that serves from now on. */
  readonly routesOf: (parts: Parts) => readonly FeatureRoutes[]
}

/** Commands by their names, loaded on demand: loading takes most of the time of a short run. */
export type CommandLoaders = Readonly<Record<string, () => Promise<Command>>>
