import { countOf } from '../../../base/text/plural.ts'
import { hitsWithin, tokensIn } from '../../../serve/mcp/tools/search/hits.ts'
import type { Hit } from '../../../serve/mcp/tools/search/hits.ts'
import { DEFAULT_HITS, LEAST_TOKENS, MOST_CHARACTERS, MOST_HITS } from '../../../serve/mcp/tools/search/query.ts'
import { headingsOf, searchedOf } from '../../../serve/mcp/tools/search/search-documents.ts'
import { SkillIndex } from '../../../serve/mcp/tools/search/skill-index.ts'
import type { Offered, OfferedSkills } from '../../../sync/catalog/tool-catalog.ts'
import { isLockable } from '../../../sync/model/skill.ts'
import { currentCatalog } from '../../../sync/pull/generation-catalog.ts'
import { Store } from '../../../sync/store/store.ts'
import { printRows } from '../../cli/columns.ts'
import { printJson, printLines } from '../../cli/command.ts'
import type { Context } from '../../cli/command.ts'
import { idsOf } from '../../config/config.ts'
import { admissionOf } from '../../pull/trust/serving-policy.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { leftSkills } from '../../status/changes/history.ts'
import type { LeftSkill } from '../../status/changes/history.ts'
import { verdictLines } from '../../status/verdict-lines.ts'

/** The words of a search, and how much of what is found is shown. */
export interface ListQuery {
  readonly text: string
  readonly limit: number
  readonly maxTokens: number | undefined
}

/** The search that the operands and options are; `undefined` without operands. */
export function listQueryOf(context: Context): ListQuery | undefined {
  const limit = numberIn(context, 'limit', 1, MOST_HITS)
  const maxTokens = numberIn(context, 'max-tokens', LEAST_TOKENS, Number.MAX_SAFE_INTEGER)
  const text = context.operands.join(' ')
  if (text.length > MOST_CHARACTERS)
    throw new UsageError(`The text has ${text.length} characters, and at most ${MOST_CHARACTERS} are read`)
  if (text !== '' && context.values['prompt'] === true) throw new UsageError('--prompt has all skills: leave out WORDS')
  if (text.trim() !== '') return { text, limit: limit ?? DEFAULT_HITS, maxTokens }
  const isWrong = context.operands.length > 0 || limit !== undefined || maxTokens !== undefined
  if (isWrong) throw new UsageError('Say what to search for: skillsyncd list WORDS')
  return undefined
}

/** The skills to search: those of these sources that tools offer. */
export interface SkillsToSearch {
  readonly config: ServedConfig
  readonly offered: OfferedSkills
  readonly sources: readonly string[]
  /** True for a source whose skills that left are searched too. */
  readonly isLeftWanted: (source: string) => boolean
}

/** Searches with or without a running daemon, and prints the skills that fit, the best first. */
export async function printFound(
  context: Context,
  { text, limit, maxTokens = Number.POSITIVE_INFINITY }: ListQuery,
  { config, offered, sources, isLeftWanted }: SkillsToSearch,
): Promise<void> {
  using store = await Store.openExisting(config.state)
  const isWanted = (one: Offered): boolean => offered.placesOf(one).some(({ source }) => sources.includes(source))
  const byId = new Map(offered.once.filter(isWanted).map((one) => [one.id, one]))
  const index = new SkillIndex()
  for (const one of byId.values()) {
    const { text: searchable, document } = searchedOf(one)
    const headings = store && document && (await headingsOf(store, document))
    index.set({ ...searchable, headings: headings ?? '' })
  }
  const found = index.find(text, limit).flatMap((id) => byId.get(id) ?? [])
  const fitting = store === undefined ? [] : await leftThatFit(text, store, config, isLeftWanted)
  const { skills, omitted = 0 } = hitsWithin(found, maxTokens, (skill) => offered.placesOf(skill), fitting.length)
  const told = (count: number) => ({
    skills,
    ...(omitted > count && { omitted: omitted - count }),
    ...(count > 0 && { left: fitting.slice(0, count) }),
  })
  const { length } = fitting.filter((_, at) => tokensIn(JSON.stringify(told(at + 1))) <= maxTokens)
  if (context.json) return printJson(context, told(length))
  if (skills.length > 0) printRows(context, ['ID', 'SOURCE', 'DESCRIPTION'], skills.map(cellsOf))
  else if (omitted === 0) printLines(context, ['Nothing was found; try fewer or other words'])
  if (omitted > length) printLines(context, [`${omitted - length} more left out`])
  const left = fitting.slice(0, length)
  if (left.length > 0) printLines(context, ['not there any more:', ...left.flatMap((one) => verdictLines(one.verdict))])
}

/** The skills that left and are not served again, the best first. */
async function leftThatFit(
  text: string,
  store: Store,
  config: ServedConfig,
  isWanted: SkillsToSearch['isLeftWanted'],
): Promise<readonly LeftSkill[]> {
  const { snapshots } = await currentCatalog(store, idsOf(config), admissionOf(config))
  const there = new Set(
    snapshots.flatMap(({ source, skills }) => skills.filter(isLockable).map(({ path }) => `${source}/${path}`)),
  )
  const left = new Map<string, LeftSkill>()
  for await (const one of leftSkills(store)) {
    const id = `${one.source}/${one.path}`
    if (isWanted(one.source) && !there.has(id) && !left.has(id)) left.set(id, one)
  }
  const index = SkillIndex.of(
    [...left].map(([id, { name }]) => ({ id, name, description: '', whenToUse: '', tags: '', headings: '' })),
  )
  return index.find(text, MOST_LEFT).flatMap((id) => left.get(id) ?? [])
}

const MOST_LEFT = 5

function cellsOf({ id, source, places = [], description }: Hit): readonly string[] {
  const more = places.length > 1 ? `, ${countOf(places.length - 1, 'more place')}` : ''
  return [id, `${source}${more}`, description.replaceAll(/\s+/g, ' ')]
}

function numberIn({ values }: Context, name: string, least: number, most: number): number | undefined {
  const value = values[name]
  if (value === undefined) return undefined
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
  if (number >= least && number <= most) return number
  throw new UsageError(`--${name} is a number from ${least}${most < 1e9 ? ` to ${most}` : ' on'}`)
}
