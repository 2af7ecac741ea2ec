import type { SyncError } from '../sync/model/sync-error.ts'
import type { Store } from '../sync/store/store.ts'
import type { OpenUpstream } from '../sync/upstream/open.ts'
import type { Clock } from '../base/clock.ts'
import type { Environment } from './config/environment.ts'
import type { Log } from './base/log.ts'
import type { Redactor } from './base/redactor.ts'

/** What the daemon is given to work with. */
export interface Parts {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly environment: Environment
  /** Is told of every secret that is read. */
  readonly redactor: Redactor
  /** Why the state folder is only read at this moment; undefined where it is written. */
  readonly readOnly?: () => SyncError | undefined
  /** How sources are reached; tests hand in their own. */
  readonly open?: OpenUpstream
}
