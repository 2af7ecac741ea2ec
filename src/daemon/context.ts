import type { Clock } from '../base/clock.ts'
import type { SyncError } from '../sync/model/sync-error.ts'
import type { Store } from '../sync/store/store.ts'
import type { OpenUpstream } from '../sync/upstream/open.ts'
import type { Log } from './base/log.ts'
import type { Redactor } from './base/redactor.ts'
import type { Environment } from './config/environment.ts'

/** The parts that the daemon is built from. */
export interface DaemonContext {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly environment: Environment
  /** Receives every secret that is read. */
  readonly redactor: Redactor
  /** Returns why the state folder is read-only at this moment; `undefined` if it is writable. */
  readonly readOnly?: () => SyncError | undefined
  /** Opens upstreams; tests pass their own function. */
  readonly open?: OpenUpstream
}
