import { systemClock } from '../../../base/async/clock.ts'
import { documentText } from '../../../features/hub-of-several/document-text.ts'
import { sharedStoreOf } from '../../../features/hub-of-several/open-shared.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { Tokens } from '../../access/tokens.ts'
import type { Token } from '../../access/tokens.ts'
import type { Context } from '../../cli/command.ts'
import { withWriter } from '../../cli/daemon-client.ts'
import type { Config } from '../../config/config.ts'
import { request } from '../../control/requests.ts'

/** A change of the tokens, as the daemon is asked for it. */
export type TokenChange =
  | { readonly method: 'token-add'; readonly params: { readonly token: Token } }
  | { readonly method: 'token-renew'; readonly params: { readonly name: string; readonly expires?: string } }
  | { readonly method: 'token-revoke'; readonly params: { readonly name: string } }

/**
 * Changes the tokens, by the running daemon or, without one, by this process. In a hub of several processes it changes
 * them in the database then: the first process of a hub may need a token to start.
 */
export async function changeTokens(context: Context, config: Config, change: TokenChange): Promise<void> {
  if (await isWithoutDaemon(context, config))
    return withSharedTokens(context, config, async (all) => apply(all, change))
  await withWriter(context, config, async (ask) => ask(change.method, change.params))
}

/** Reads the tokens as a change would find them. */
export async function readTokens(context: Context, config: Config): Promise<readonly Token[]> {
  if (await isWithoutDaemon(context, config)) return withSharedTokens(context, config, async (all) => all.read())
  return new Tokens(config.state, () => systemClock.now()).read()
}

async function isWithoutDaemon({ signal }: Context, config: Config): Promise<boolean> {
  return config.postgres !== undefined && (await request(config, 'hello', {}, { signal })) === undefined
}

async function apply(tokens: Tokens, { method, params }: TokenChange): Promise<void> {
  switch (method) {
    case 'token-add':
      return tokens.add(params.token)
    case 'token-renew':
      return tokens.renew(params.name, params.expires)
    case 'token-revoke':
      return tokens.revoke(params.name)
    default:
      return method satisfies never
  }
}

/** The files of the state folder stay as they are: a daemon that starts brings them to the state of the database. */
async function withSharedTokens<Result>(
  { environment, redactor }: Context,
  config: Config,
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
