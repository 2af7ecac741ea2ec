import type { Clock } from '../../base/async/clock.ts'
import type { Log } from '../../base/log.ts'
import type { SyncError } from '../../sync/model/sync-error.ts'
import type { SharedStore } from '../../sync/postgres/shared-store.ts'
import type { OpenUpstream } from '../../sync/pull/open-upstream.ts'
import type { Store } from '../../sync/store/store.ts'
import type { Config } from '../config/config.ts'
import type { Environment } from '../config/environment.ts'
import type { HubReplica } from './hub-replica.ts'
import type { Redactor } from './log/redactor.ts'

/** The parts that the daemon is built from. */
export interface DaemonContext {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly environment: Environment
  /** Receives every secret that is read. */
  readonly redactor: Redactor
  /** Returns why the state folder is read-only at this moment; `undefined` if it is writable. */
  readonly readOnly?: (() => SyncError | undefined) | undefined
  /** The store that this process shares with the other processes of the hub; `undefined` if it is the only one. */
  readonly shared?: SharedStore | undefined
  /** The part of this process in that hub. */
  readonly replica?: HubReplica | undefined
  /** Opens upstreams; tests pass their own function. */
  readonly open?: OpenUpstream | undefined
}

/** The parts that everything else in a daemon is built from: none is left out by accident. */
export interface DaemonCore<Settings extends Config = Config> extends Whole<Omit<DaemonContext, 'open'>> {
  readonly config: Settings
}

type Whole<Parts> = { readonly [Key in keyof Required<Parts>]: Parts[Key] }

/** True if this process may publish: the disk takes writes, and no other process of the hub leads. */
export function mayPublish({ readOnly, replica }: Pick<DaemonContext, 'readOnly' | 'replica'>): boolean {
  return readOnly?.() === undefined && replica?.isLeading !== false
}
