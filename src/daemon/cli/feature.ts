import type { FeaturePage, FeatureSection } from '../../serve/page/page-view.ts'
import type { Registry } from '../../serve/registry.ts'
import type { FeatureRoutes } from '../../serve/site/server.ts'
import type { Item } from '../../sync/model/item.ts'
import type { Store } from '../../sync/store/store.ts'
import type { HostAuth, ProgramValue } from '../config/auth.ts'
import type { Config } from '../config/config.ts'
import type { Environment, UserFolders } from '../config/environment.ts'
import type { ControlRequest } from '../control/request.ts'
import type { ProofEnd } from '../pull/trust/lock-proof.ts'
import type { ServedConfig } from '../pull/trust/serving-policy.ts'
import type { ItemsOf } from '../status/items.ts'
import type { Family } from '../status/metrics/family.ts'
import type { Status } from '../status/status.ts'
import type { CheckName } from './check-names.ts'
import type { Check, Ground } from './check.ts'
import type { Paint } from './colors.ts'
import type { Command, Context, ExitStatus } from './command.ts'
import type { AskWriter } from './daemon-client.ts'

/**
 * A feature as the core sees it: its part of each surface. The value is light, since every run of the program has the
 * list of them. `Parts`: the parts of a daemon that it needs; `Whole`: the configuration that its part of commands needs.
 */
export interface Feature<Parts, Whole extends ServedConfig = ServedConfig> {
  readonly commands?: CommandLoaders
  /** Loads what commands of the core do behind options of it. */
  readonly variants?: Readonly<Partial<Record<VariantName, () => Promise<RunVariant<Whole>>>>>
  /** Loads its checks for `doctor`. */
  readonly checks?: () => Promise<FeatureChecks<Whole>>
  /** Its record in the state folder, for `verify`. */
  readonly stateRecord?: StateRecord
  /** Loads its part of what `status` prints, beside its items. */
  readonly status?: () => Promise<FeatureStatus<Whole>>
  readonly writeLockProofs?: WriteLockProofs
  /** Loads the folders beside the state folder that the daemon writes for it. */
  readonly folders?: () => Promise<FeatureFolders<Whole>>
  /** Loads what it has to say when sources were added or removed. */
  readonly sourceNotes?: () => Promise<FeatureSourceNotes<Whole>>
  /** Loads the items that it adds to a status. */
  readonly items?: () => Promise<ItemsOf>
  /** Loads the requests that it adds to those of the daemon. */
  readonly requests?: () => Promise<readonly ControlRequest<Parts & { readonly config: Config }>[]>
  /** Loads its part of what is served, before anything is: an upgrade may replace the files of a program that runs. */
  readonly surfaces?: () => Promise<FeatureSurfaces<Parts & { readonly config: Config }>>
}

/** A command of the core, with the option that has a feature answer in its place. */
export type VariantName =
  | 'hub export --proof'
  | 'list --plugins'
  | 'list --usage'
  | 'status --rings'
  | 'verify --log'
  | 'verify --proof'
  | 'verify --scan'

export type RunVariant<Whole extends ServedConfig> = (context: Context<Whole>) => Promise<ExitStatus>

/** The checks of a feature, by what they need. */
export interface FeatureChecks<Whole extends ServedConfig> {
  ofMachine?(ground: Ground<Whole>): readonly Check[]
  ofNetwork?(ground: Ground<Whole>): readonly Check[]
  /** The programs and addresses that its keys name: the core checks that they are found, and that their secrets can be read. */
  asked?(config: Whole): readonly AskedParty[]
}

/** A file in the state folder, with the check that fails if it cannot be read. */
export interface StateRecord {
  readonly check: CheckName
  readonly read: (config: Config) => Promise<unknown>
}

export interface FeatureFolders<Whole extends ServedConfig> {
  of(config: Whole, user: UserFolders): readonly WrittenFolder[]
}

export interface WrittenFolder {
  readonly path: string
  /** The agent whose folder it is, in the home of its user; absent if the configuration has the path. */
  readonly agent?: string
}

/** Brings the proofs beside the lock to what it has. */
export type WriteLockProofs = (config: Config, file: string, ask: AskWriter) => Promise<readonly ProofEnd[]>

export interface FeatureSourceNotes<Whole extends ServedConfig> {
  /** Lines about what does not follow the new sources by itself. */
  lines(config: Whole, environment: Environment): Promise<readonly string[]>
}

/** A program, or an address, that the configuration names beside the sources. */
export type AskedParty = { readonly use: string } & (
  | { readonly kind: 'address'; readonly url: string; readonly access: HostAuth }
  | { readonly kind: 'program'; readonly command: string; readonly env: Readonly<Record<string, ProgramValue>> }
)

/** The part of a feature in `status`. */
export interface FeatureStatus<Whole extends ServedConfig> {
  /** Its lines, below those of the daemon. */
  lines?(status: Status, now: Date, paint: Paint): readonly string[]
  /** Its part of the status if no daemon gives it. */
  stored?(config: Whole, store: Store | undefined, now: Date): Promise<StoredStatus>
  /** The findings of the command itself on this machine: the daemon does not look there. */
  found?(config: Whole, environment: Environment): Promise<FoundStatus>
}

/** The parts of features in a status by the state folder alone. */
export type StoredStatus = Pick<Status, 'rings'>

/** The findings of a command for its status. */
export interface FoundStatus {
  readonly items: readonly Item[]
  readonly lines: readonly string[]
  /** Its members of the JSON. */
  readonly json: object
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

/** The parts of all features in commands of the core, each loaded on demand. */
export interface CommandFeatures<Whole extends ServedConfig> {
  /** Makes the items of a status. */
  readonly items: () => Promise<ItemsOf>
  readonly checks: () => Promise<readonly FeatureChecks<Whole>[]>
  readonly stateRecords: readonly StateRecord[]
  readonly statuses: () => Promise<readonly FeatureStatus<Whole>[]>
  readonly writeLockProofs: WriteLockProofs
  readonly folders: () => Promise<readonly FeatureFolders<Whole>[]>
  readonly sourceNotes: () => Promise<readonly FeatureSourceNotes<Whole>[]>
}
