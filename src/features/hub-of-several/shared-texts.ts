import type { Log } from '../../base/log.ts'
import type { Tokens } from '../../daemon/access/tokens.ts'
import type { DaemonContext } from '../../daemon/runtime/context.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { documentText } from '../../sync/postgres/document-text.ts'

type Parts = Pick<DaemonContext, 'shared' | 'store' | 'log'>

/**
 * Keeps the decisions in the database of a hub of several processes from now on, and takes those in it over. If it is
 * away, the files of this process count until `refreshDecisions` reaches it.
 */
export async function shareDecisions(parts: Parts): Promise<void> {
  const { shared, store } = parts
  if (shared === undefined) return
  store.decisions.shareWith(documentText(shared.documents, 'decisions'))
  await refreshDecisions(parts)
}

/** Keeps the tokens in the database of a hub of several processes from now on, as `shareDecisions` does the decisions. */
export async function shareTokens(tokens: Tokens, parts: Parts): Promise<void> {
  const { shared } = parts
  if (shared === undefined) return
  tokens.shareWith(documentText(shared.documents, 'tokens'))
  await refreshTokens(tokens, parts)
}

/**
 * The result of taking over what other processes of the hub have changed: the value differs from that of the last call,
 * it is the same, or it could not be read, which is logged.
 */
export type Refreshed = 'changed' | 'same' | 'failed'

/** Takes over what other processes of the hub decided. The served catalog depends on it. */
export async function refreshDecisions({ shared, store, log }: Parts): Promise<Refreshed> {
  return refresh(store.decisions, shared, (failure) => tell(log, 'decisions-not-shared', failure))
}

/** Takes over the tokens that other processes of the hub added and revoked. Sessions of revoked ones end. */
export async function refreshTokens(tokens: Tokens, { shared, log }: Parts): Promise<Refreshed> {
  return refresh(tokens, shared, (failure) => tell(log, 'tokens-not-shared', failure))
}

interface SharedPart {
  readonly unwritten: SyncError | undefined
  refresh(): Promise<boolean>
}

async function refresh(
  value: SharedPart,
  shared: DaemonContext['shared'],
  report: (failure: SyncError | undefined) => void,
): Promise<Refreshed> {
  if (shared === undefined) return 'same'
  try {
    // At the first contact, the database may have no schema yet.
    await shared.open()
    const isNew = await value.refresh()
    report(value.unwritten)
    return isNew ? 'changed' : 'same'
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    report(error)
    return 'failed'
  }
}

function tell(log: Log, event: string, failure: SyncError | undefined): void {
  if (failure === undefined) log.recovery(event, '')
  else log.failure('error', event, { source: '', code: failure.code, message: failure.message }, failure.message)
}
