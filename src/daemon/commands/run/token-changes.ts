import { systemClock } from '../../../base/async/clock.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { documentText } from '../../../sync/postgres/document-text.ts'
import { sharedStoreOf } from '../../access/open-shared.ts'
import { Tokens } from '../../access/tokens.ts'
import type { Token } from '../../access/tokens.ts'
import type { Context } from '../../cli/command.ts'
import { withWriter } from '../../cli/daemon-client.ts'
import { helloRequest } from '../../control/process-requests.ts'
import type { ControlRequest, RequestType } from '../../control/request.ts'
import { askRunning } from '../../control/running-daemon.ts'
import { aboutClient } from '../../control/same-config.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'

/** A request to change the tokens. */
type TokenRequest<Sent> = RequestType<Sent, void, unknown> &
  ControlRequest<{ readonly config: ServedConfig; readonly tokens: Tokens }>

/**
 * Changes the tokens, by the running daemon or, without one, by this process. In a hub of several processes it changes
 * them in the database then: the first process of a hub may need a token to start.
 */
export async function changeTokens<Sent extends object>(
  context: Context,
  config: ServedConfig,
  request: TokenRequest<Sent>,
  params: Sent,
): Promise<void> {
  if (!(await isWithoutDaemon(context, config))) return withWriter(context, config, async (ask) => ask(request, params))
  const sent = { ...params, ...aboutClient(config) }
  const { signal } = context
  await withSharedTokens(context, config, async (tokens) =>
    request.answerFrom({ config, tokens }, sent, { send: () => {}, signal }),
  )
}

/** Reads the tokens as a change would find them. */
export async function readTokens(context: Context, config: ServedConfig): Promise<readonly Token[]> {
  if (await isWithoutDaemon(context, config)) return withSharedTokens(context, config, async (all) => all.read())
  return new Tokens(config.state, () => systemClock.now()).read()
}

async function isWithoutDaemon({ signal }: Context, config: ServedConfig): Promise<boolean> {
  return config.postgres !== undefined && (await askRunning(config, helloRequest, {}, { signal })) === undefined
}

/** The files of the state folder stay as they are: a daemon that starts brings them to the state of the database. */
async function withSharedTokens<Result>(
  { environment, redactor }: Context,
  config: ServedConfig,
  work: (tokens: Tokens) => Promise<Result>,
): Promise<Result> {
  await using shared = await sharedStoreOf(config, environment, redactor)
  if (shared === undefined) throw new TypeError('The configuration has no database')
  await shared.open()
  const tokens = new Tokens(config.state, () => systemClock.now(), refuseWrite)
  tokens.shareWith(documentText(shared.documents, 'tokens'))
  await tokens.refresh()
  return await work(tokens)
}

async function refuseWrite(): Promise<never> {
  throw new SyncError('store-failed', 'Cannot write the tokens: only the daemon writes the state folder')
}
