import type { Webhook, Webhooks } from '../../serve/http/routes/webhook.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { secretOf } from '../config/auth.ts'
import type { Environment } from '../config/environment.ts'
import type { Config, ConfiguredSource } from '../config/config.ts'
import type { Log } from '../base/log.ts'
import type { Redactor } from '../base/redactor.ts'

export interface WebhookParts {
  readonly environment: Environment
  readonly redactor: Redactor
  readonly log: Log
  /** Has the source looked at soon. */
  readonly nudge: (id: SourceId) => void
}

/** The webhooks of all sources that have one. What is logged of them does not grow with what is sent to them. */
export function webhooksOf({ sources }: Config, parts: WebhookParts): Webhooks {
  return new Map(
    sources.flatMap(({ source, webhook }) =>
      webhook === undefined ? [] : [[source.id, webhookOf(source.id, webhook, parts)] as const],
    ),
  )
}

function webhookOf(
  source: SourceId,
  { provider, secret }: NonNullable<ConfiguredSource['webhook']>,
  { environment, redactor, log, nudge }: WebhookParts,
): Webhook {
  const fail = (code: string, message: string): void =>
    log.failure('warn', 'webhook-refused', { source, code, message })
  return {
    provider,
    secret: shared(() => readable(secretOf(secret, environment, redactor), fail)),
    look: () => nudge(source),
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

/** Requests that come at once share a read: thousands of them would keep the disk from those who fetch. */
function shared<Result>(read: () => Promise<Result>): () => Promise<Result> {
  let reading: Promise<Result> | undefined
  return () => {
    reading ??= read().finally(() => (reading = undefined))
    return reading
  }
}
