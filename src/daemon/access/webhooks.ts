import type { Log } from '../../base/log.ts'
import type { Webhook, Webhooks } from '../../serve/http/webhook-endpoint.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { secretOf } from '../config/auth.ts'
import type { Config, ConfiguredSource } from '../config/config.ts'
import type { Environment } from '../config/environment.ts'
import type { Redactor } from '../runtime/log/redactor.ts'

export interface WebhookParts {
  readonly environment: Environment
  readonly redactor: Redactor
  readonly log: Log
  /** Schedules a check of the source. */
  readonly nudge: (id: SourceId) => void
  /** Schedules a check of the repository of the lock. */
  readonly nudgeLock: () => void
}

/**
 * The webhooks of all sources that have one, and of the repository of the lock. The volume of their log does not grow with
 * the requests that arrive.
 */
export function webhooksOf({ sources, lockFrom }: Config, parts: WebhookParts): Webhooks {
  const { nudge, nudgeLock } = parts
  const reported = [
    ...sources.map((configured) => ({ configured, look: () => nudge(configured.source.id) })),
    ...(lockFrom === undefined ? [] : [{ configured: lockFrom.repository, look: nudgeLock }]),
  ]
  return new Map(
    reported.flatMap(({ configured: { source, webhook }, look }) =>
      webhook === undefined ? [] : [[source.id, webhookOf(source.id, webhook, look, parts)] as const],
    ),
  )
}

function webhookOf(
  source: SourceId,
  { provider, secret }: NonNullable<ConfiguredSource['webhook']>,
  look: () => void,
  { environment, redactor, log }: WebhookParts,
): Webhook {
  const fail = (code: string, message: string): void =>
    log.failure('warn', 'webhook-refused', { source, code, message })
  return {
    provider,
    secret: share(() => readable(secretOf(secret, environment, redactor), fail)),
    look,
    refused: () => fail('signature-wrong', 'A request proves nothing: its signature is missing, or of another secret'),
  }
}

async function readable(
  read: () => Promise<string>,
  fail: (code: string, message: string) => void,
): Promise<string | undefined> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    fail(error.code, error.message)
    return undefined
  }
}

/** Simultaneous requests share one read: thousands of reads would keep pulls from the disk. */
function share<Result>(read: () => Promise<Result>): () => Promise<Result> {
  let reading: Promise<Result> | undefined
  return () => {
    reading ??= read().finally(() => (reading = undefined))
    return reading
  }
}
