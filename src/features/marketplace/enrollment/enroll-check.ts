import { join } from 'node:path'
import { isObject } from '../../../base/json-object.ts'
import { EditRefused } from '../../../base/settings/edit-refused.ts'
import { parseJsonc } from '../../../base/settings/jsonc-tree.ts'
import { netrcToken } from '../../../base/settings/netrc-edit.ts'
import { parseToml } from '../../../base/settings/toml-edit.ts'
import { readAuthorities } from '../../../daemon/access/ca-file.ts'
import { proxyTo } from '../../../daemon/access/proxy.ts'
import { failedCheck, verdicts } from '../../../daemon/cli/check.ts'
import type { CheckResult } from '../../../daemon/cli/check.ts'
import type { Context } from '../../../daemon/cli/command.ts'
import type { Environment } from '../../../daemon/config/environment.ts'
import { readForeign } from '../../../daemon/runtime/foreign-file.ts'
import type { ForeignFilePlace } from '../../../daemon/runtime/foreign-file.ts'
import type { Redactor } from '../../../daemon/runtime/log/redactor.ts'
import { OperatorError } from '../../../daemon/runtime/operator-error.ts'
import { mendOf, SyncError } from '../../../sync/model/sync-error.ts'
import { exchange } from '../../../sync/upstream/http/http-exchange.ts'
import { connectionFailure, gitFailureOf } from '../../../sync/upstream/http/http-failure.ts'
import type { EnrolledFile } from './enrolled-files.ts'
import { netrcPlace } from './enrolled-files.ts'
import { enrolledFiles, machineOf } from './enrolled-machine.ts'
import type { Enrollment } from './enrolled-machine.ts'
import type { MarketplaceAddress } from './enrollment.ts'

/** Checks the files of the agents, the rules of the organization, and the address. An agent that was not named may be absent. */
export async function enrollmentChecks(context: Context, enrollment: Enrollment): Promise<readonly CheckResult[]> {
  const { environment, redactor, signal, operands } = context
  const { marketplace, agents } = enrollment
  const isNamed = operands.length > 0
  const files = enrolledFiles(context, enrollment).map(async (file) => resultOfFile(file, isNamed))
  const ids = agents.map(({ id }) => id)
  const rules = await forbiddingRules(ids, marketplace, machineOf(context).root)
  const address = await resultOfAddress({ url: marketplace.url, environment, redactor, signal })
  return [...(await Promise.all(files)), ...rules, address]
}

/** Compares the file with the settings that enroll the agent, and writes nothing. */
async function resultOfFile({ title, command, place, edit }: EnrolledFile, isNamed: boolean): Promise<CheckResult> {
  const { ok, fail } = verdicts('agent-file', `${title}: ${place.path}`)
  try {
    const { content } = await readForeign(place)
    if (content === undefined)
      return isNamed ? fail('absent', command) : ok('absent: this agent is not enrolled by it, and was not named')
    const { changed } = edit(content.text)
    return changed.length === 0 ? ok('as expected') : fail(`differs: ${changed.join(', ')}`, command)
  } catch (error) {
    if (error instanceof EditRefused && error.kind === 'differs') return fail(`differs: ${error.message}`)
    if (error instanceof OperatorError || error instanceof EditRefused)
      return fail(`unreadable: ${error.message}`, 'Correct the file, or give it to this user; then check again')
    throw error
  }
}

/** Finds the rules of the organization that forbid the marketplace to these agents. */
export async function forbiddingRules(
  agents: readonly string[],
  { url }: Pick<MarketplaceAddress, 'url'>,
  root?: string,
): Promise<readonly CheckResult[]> {
  const found = await Promise.all(
    RULES.filter(({ agent }) => agents.includes(agent)).map(async ({ agent, file, judge }) => {
      const path = join(root ?? '/', file)
      const place = { path, ...(root !== undefined && { within: root }) }
      const why = await whyForbidden(place, (text) => judge(text, new URL(url)))
      return why === undefined ? [] : [verdicts('managed-rule', `${agent}: ${path}`).fail(why)]
    }),
  )
  return found.flat()
}

type Judge = (text: string, url: URL) => string | undefined

const COPILOT_FILE = '/etc/github-copilot/managed-settings.json'

const RULES: readonly { readonly agent: string; readonly file: string; readonly judge: Judge }[] = [
  { agent: 'claude-code', file: '/etc/claude-code/managed-settings.json', judge: judgeJson },
  { agent: 'codex', file: '/etc/codex/requirements.toml', judge: judgeToml },
  { agent: 'copilot', file: COPILOT_FILE, judge: judgeJson },
  { agent: 'vscode', file: COPILOT_FILE, judge: judgeJson },
]

async function whyForbidden(
  place: ForeignFilePlace,
  judge: (text: string) => string | undefined,
): Promise<string | undefined> {
  try {
    const { content } = await readForeign(place)
    return content === undefined ? undefined : judge(content.text)
  } catch (error) {
    if (error instanceof OperatorError) return error.message
    if (error instanceof EditRefused) return `it is not valid: ${error.message}`
    throw error
  }
}

function judgeJson(text: string, url: URL): string | undefined {
  const settings = parseJsonc(text)?.value
  if (!isObject(settings)) return undefined
  const { strictKnownMarketplaces: allowed, blockedMarketplaces: blocked } = settings
  if (Array.isArray(blocked) && blocked.some((each) => isMatch(each, url))) return 'blockedMarketplaces names this one'
  if (Array.isArray(allowed) && !allowed.some((each) => isMatch(each, url)))
    return 'strictKnownMarketplaces does not name this one'
  return undefined
}

function judgeToml(text: string, url: URL): string | undefined {
  const { marketplaces } = parseToml(text)
  if (!isObject(marketplaces) || marketplaces['restrict_to_allowed_sources'] !== true) return undefined
  const { allowed_sources: allowed } = marketplaces
  const isAllowed = isObject(allowed) && Object.values(allowed).some((each) => isMatch(each, url))
  return isAllowed ? undefined : 'restrict_to_allowed_sources is set, and allowed_sources does not name this one'
}

/** True for an address that is this one, or for a pattern of its host. Kinds for other places match no hub. */
function isMatch(entry: unknown, url: URL): boolean {
  if (!isObject(entry)) return false
  const pattern = entry['hostPattern'] ?? entry['host_pattern']
  if (typeof pattern === 'string') return isPatternOf(pattern, url.hostname)
  return entry['url'] === url.href
}

function isPatternOf(pattern: string, host: string): boolean {
  try {
    return new RegExp(pattern).test(host)
  } catch (error) {
    if (error instanceof SyntaxError) return false
    throw error
  }
}

interface AddressQuestion {
  readonly url: string
  readonly environment: Environment
  readonly redactor: Redactor
  readonly signal: AbortSignal
}

/** Sends the first request of a clone, as git does: through the proxy and with the authorities of the environment. */
async function resultOfAddress(question: AddressQuestion): Promise<CheckResult> {
  const { url } = question
  const { ok, fail } = verdicts('marketplace', url)
  try {
    const token = await tokenOf(question)
    const failure = await failureFor(question, token)
    if (failure !== undefined) return fail(failure.message, fixFor(failure, token))
    return ok(`answers git${token === undefined ? '' : ', with the token of ~/.netrc'}`)
  } catch (error) {
    return failedCheck(error, url, 'marketplace')
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
    throw new OperatorError('file-refused', `Cannot use "${path}": ${error.message}`, {
      cause: error,
      fix: 'Correct ~/.netrc',
    })
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
function fixFor(failure: SyncError, token: string | undefined): string {
  const { code, message } = failure
  if (code === 'repository-not-found')
    return 'Give the daemon serve.marketplace, or the address of the hub with --url; a proxy has to keep the path'
  if (code === 'tls-failed')
    return 'Name an authority of your own for git: GIT_SSL_CAINFO=FILE here, and git config http.sslCAInfo FILE for agents'
  if (code !== 'credentials-rejected') return mendOf(failure)
  if (token === undefined)
    return 'Make a token with skillsyncd hub token add NAME --scope marketplace, and give it with --token-file'
  return / 403 /.test(message)
    ? 'The token lacks the scope marketplace: make another one with skillsyncd hub token add NAME --scope marketplace'
    : 'The token is not valid there: skillsyncd hub token list shows the valid ones; give a new one with --token-file'
}
