import { SyncError } from '../model/sync-error.ts'

/** The database of a hub could not be used, for a while or at all. */
export class DatabaseFailure extends SyncError {
  constructor(message: string, options?: ErrorOptions) {
    super('store-failed', message, { ...options, fix: FIX })
  }
}

const FIX = 'Check that the PostgreSQL server answers, and the address and the rights of its user'
