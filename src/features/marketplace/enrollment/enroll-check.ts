import { join } from 'node:path'
import { isObject } from '../../../base/json-object.ts'
import { EditRefused } from '../../../base/settings/edit-refused.ts'
import { parseJsonc } from '../../../base/settings/jsonc-tree.ts'
import { netrcToken } from '../../../base/settings/netrc-edit.ts'
import { parseToml } from '../../../base/settings/toml-edit.ts'
import { readAuthorities } from '../../../daemon/access/ca-file.ts'
import { proxyTo } from '../../../daemon/access/proxy.ts'
import { printJson, printLines } from '../../../daemon/cli/command.ts'
import type { Context, ExitStatus } from '../../../daemon/cli/command.ts'
import type { Environment } from '../../../daemon/config/environment.ts'
import { readForeign } from '../../../daemon/runtime/foreign-file.ts'
import type { ForeignFilePlace } from '../../../daemon/runtime/foreign-file.ts'
import { printableLine } from '../../../daemon/runtime/log/log-line.ts'
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

/** The result of `enroll --check`, and the end of that of `--write`. */
export interface EnrollmentCheck {
  readonly ok: boolean
  readonly files: readonly (FileState & { readonly for: string; readonly path: string })[]
  readonly rules: readonly ManagedRule[]
  readonly address: AddressAnswer
}

export async function checkEnrollment(context: Context, enrollment: Enrollment): Promise<ExitStatus> {
  const check = await enrollmentCheck(context, enrollment)
  if (context.json) printJson(context, check)
  else printLines(context, checkLines(check))
  return check.ok ? 0 : 3
}

/** An agent that was not named may be absent. */
export async function enrollmentCheck(context: Context, enrollment: Enrollment): Promise<EnrollmentCheck> {
  const { environment, redactor, signal, operands } = context
  const { marketplace, agents } = enrollment
  const files = await Promise.all(
    enrolledFiles(context, enrollment).map(async (file) =>
      Object.assign(await stateOfFile(file), { for: file.title, path: file.place.path }),
    ),
  )
  const ids = agents.map(({ id }) => id)
  const rules = await forbiddingRules(ids, marketplace, machineOf(context).root)
  const address = await answerOfAddress({ url: marketplace.url, environment, redactor, signal })
  const isGood = ({ state }: FileState) => state === 'as-expected' || (state === 'absent' && operands.length === 0)
  return { ok: files.every(isGood) && rules.length === 0 && address.isGood, files, rules, address }
}

/** The check as lines, each with its verdict first. */
export function checkLines({ files, rules, address }: EnrollmentCheck): readonly string[] {
  return [
    ...files.map((file) => `${file.state === 'as-expected' ? 'ok  ' : 'fail'}  ${printableLine(sentenceOf(file))}`),
    ...rules.map(({ agent, path, why }) => `fail  ${agent}: ${printableLine(path)}: ${printableLine(why)}`),
    `${address.isGood ? 'ok  ' : 'fail'}  ${printableLine(address.message)}`,
    ...(address.mend === undefined ? [] : [`        → ${printableLine(address.mend)}`]),
  ]
}

function sentenceOf(file: EnrollmentCheck['files'][number]): string {
  const about = `${file.for}: ${file.path}`
  switch (file.state) {
    case 'as-expected':
      return `${about}: as expected`
    case 'absent':
      return `${about}: absent`
    case 'differs':
      return `${about}: differs: ${file.what.join(', ')}`
    case 'unreadable':
      return `${about}: unreadable: ${file.why}`
    default:
      return file satisfies never
  }
}

/** A file of an agent, compared with the settings that enroll the agent. */
type FileState =
  | { readonly state: 'absent' | 'as-expected' }
  /** `what`: the settings that are missing or have another value. */
  | { readonly state: 'differs'; readonly what: readonly string[] }
  | { readonly state: 'unreadable'; readonly why: string }

/** Compares the file, and writes nothing. */
async function stateOfFile({ place, edit }: EnrolledFile): Promise<FileState> {
  try {
    const { content } = await readForeign(place)
    if (content === undefined) return { state: 'absent' }
    const { changed } = edit(content.text)
    return changed.length === 0 ? { state: 'as-expected' } : { state: 'differs', what: changed }
  } catch (error) {
    if (error instanceof OperatorError) return { state: 'unreadable', why: error.message }
    if (!(error instanceof EditRefused)) throw error
    return error.kind === 'differs'
      ? { state: 'differs', what: [error.message] }
      : { state: 'unreadable', why: error.message }
  }
}

/** A managed file that keeps an agent from the marketplace, or that cannot be read. */
interface ManagedRule {
  readonly agent: string
  readonly path: string
  readonly why: string
}

/** Finds the rules of the organization that forbid the marketplace to these agents. */
export async function forbiddingRules(
  agents: readonly string[],
  { url }: Pick<MarketplaceAddress, 'url'>,
  root?: string,
): Promise<readonly ManagedRule[]> {
  const found = await Promise.all(
    RULES.filter(({ agent }) => agents.includes(agent)).map(async ({ agent, file, judge }) => {
      const path = join(root ?? '/', file)
      const place = { path, ...(root !== undefined && { within: root }) }
      const why = await whyForbidden(place, (text) => judge(text, new URL(url)))
      return why === undefined ? [] : [{ agent, path, why }]
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

/** The answer of a marketplace to git, with the token of netrc. */
interface AddressAnswer {
  readonly isGood: boolean
  readonly message: string
  /** A remedy; present unless the answer is good. */
  readonly mend?: string
}

interface AddressQuestion {
  readonly url: string
  readonly environment: Environment
  readonly redactor: Redactor
  readonly signal: AbortSignal
}

/** Sends the first request of a clone, as git does: through the proxy and with the authorities of the environment. */
async function answerOfAddress(question: AddressQuestion): Promise<AddressAnswer> {
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
