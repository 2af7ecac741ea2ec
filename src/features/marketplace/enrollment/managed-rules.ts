import { join } from 'node:path'
import { isObject } from '../../../base/json-object.ts'
import { EditRefused } from '../../../base/settings/edit-refused.ts'
import { parseJsonc } from '../../../base/settings/jsonc-tree.ts'
import { parseToml } from '../../../base/settings/toml-edit.ts'
import { OperatorError } from '../../../daemon/runtime/operator-error.ts'
import type { MarketplaceAddress } from './enrollment.ts'
import { readForeign } from './foreign-file.ts'
import type { ForeignFilePlace } from './foreign-file.ts'

/** A managed file that keeps an agent from the marketplace, or that cannot be read. */
export interface ManagedRule {
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
