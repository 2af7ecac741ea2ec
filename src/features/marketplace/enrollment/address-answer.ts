import { EditRefused } from '../../../base/settings/edit-refused.ts'
import { netrcToken } from '../../../base/settings/netrc-edit.ts'
import { readAuthorities } from '../../../daemon/access/ca-file.ts'
import { proxyTo } from '../../../daemon/access/proxy.ts'
import type { Environment } from '../../../daemon/config/environment.ts'
import type { Redactor } from '../../../daemon/runtime/log/redactor.ts'
import { OperatorError } from '../../../daemon/runtime/operator-error.ts'
import { SyncError, mendOf } from '../../../sync/model/sync-error.ts'
import { exchange } from '../../../sync/upstream/http/http-exchange.ts'
import { connectionFailure, gitFailureOf } from '../../../sync/upstream/http/http-failure.ts'
import { netrcPlace } from './enrolled-files.ts'
import { readForeign } from './foreign-file.ts'

/** The answer of a marketplace to git, with the token of netrc. */
export interface AddressAnswer {
  readonly isGood: boolean
  readonly message: string
  /** A remedy; present unless the answer is good. */
  readonly mend?: string
}

export interface AddressQuestion {
  readonly url: string
  readonly environment: Environment
  readonly redactor: Redactor
  readonly signal: AbortSignal
}

/** Sends the first request of a clone, as git does: through the proxy and with the authorities of the environment. */
export async function answerOfAddress(question: AddressQuestion): Promise<AddressAnswer> {
  const { url } = question
  try {
    const token = await tokenOf(question)
    const failure = await failureFor(question, token)
    if (failure !== undefined) return { isGood: false, message: failure.message, mend: mendFor(failure, token) }
    return { isGood: true, message: `${url} answers git${token === undefined ? '' : ', with the token of ~/.netrc'}` }
  } catch (error) {
    if (error instanceof OperatorError) return { isGood: false, message: error.message, mend: 'Mend ~/.netrc' }
    if (error instanceof SyncError) return { isGood: false, message: error.message, mend: mendOf(error) }
    throw error
  }
}

async function tokenOf({ url, environment, redactor }: AddressQuestion): Promise<string | undefined> {
  const { content, path } = await readForeign(netrcPlace(environment.home))
  try {
    const token = content && netrcToken(content.text, new URL(url).hostname)
    if (token !== undefined) redactor.add(token)
    return token
  } catch (error) {
    if (!(error instanceof EditRefused)) throw error
    throw new OperatorError('file-refused', `Cannot use "${path}": ${error.message}`, { cause: error })
  }
}

async function failureFor(
  { url, environment, redactor, signal }: AddressQuestion,
  token: string | undefined,
): Promise<SyncError | undefined> {
  const authorities = environment.variable('GIT_SSL_CAINFO')
  const proxy = await proxyTo(new URL(url), { kind: 'variables' }, environment, redactor)
  const ca = authorities === undefined ? undefined : await readAuthorities(authorities)
  const what = `Cannot clone "${url}"`
  const over = AbortSignal.any([signal, AbortSignal.timeout(MOST_MS)])
  const basic = `Basic ${Buffer.from(`token:${token}`).toString('base64')}`
  const headers = { 'user-agent': 'git/2 skillsyncd', ...(token !== undefined && { authorization: basic }) }
  try {
    const asked = { method: 'GET', headers, route: { ca, proxy }, signal: over }
    const answer = await exchange(`${url}/info/refs?service=git-upload-pack`, asked)
    answer.giveUp()
    const { status } = answer
    const head = { method: 'GET', status, header: (name: string) => answer.header(name) }
    return gitFailureOf(head, what, token !== undefined)
  } catch (error) {
    signal.throwIfAborted()
    if (over.aborted) return new SyncError('source-unreachable', `${what}: no answer within ${MOST_MS / 1_000} seconds`)
    return error instanceof SyncError ? error : connectionFailure(error, what)
  }
}

const MOST_MS = 10_000

/** The remedies for this address; the general ones are for sources. */
function mendFor(failure: SyncError, token: string | undefined): string {
  const { code, message } = failure
  if (code === 'repository-not-found')
    return 'Give the daemon serve.marketplace, or the address of the hub with --url; a proxy has to keep the path'
  if (code !== 'credentials-rejected') return mendOf(failure)
  if (token === undefined)
    return 'Make a token with skillsyncd token add NAME --scope marketplace, and give it with --token-file'
  return / 403 /.test(message)
    ? 'The token lacks the scope marketplace: make another one with skillsyncd token add NAME --scope marketplace'
    : 'The token is not valid there: skillsyncd token list shows the valid ones; give a new one with --token-file'
}
