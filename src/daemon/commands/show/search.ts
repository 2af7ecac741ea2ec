import { countOf } from '../../../base/text/plural.ts'
import { hitsWithin } from '../../../serve/mcp/tools/search/hits.ts'
import type { Hit } from '../../../serve/mcp/tools/search/hits.ts'
import { DEFAULT_HITS, LEAST_TOKENS, MOST_CHARACTERS, MOST_HITS } from '../../../serve/mcp/tools/search/query.ts'
import { headingsOf, searchedOf } from '../../../serve/mcp/tools/search/search-documents.ts'
import { SkillIndex } from '../../../serve/mcp/tools/search/skill-index.ts'
import type { Offered } from '../../../sync/catalog/tool-catalog.ts'
import { Store } from '../../../sync/store/store.ts'
import { printRows } from '../../cli/columns.ts'
import { configFor, printJson, printLines } from '../../cli/command.ts'
import type { Command, Context } from '../../cli/command.ts'
import { packsNamed } from '../../cli/pack-option.ts'
import type { Config } from '../../config/config.ts'
import { agreeWithDaemon } from '../../control/running-daemon.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { readOffered } from '../../status/skill-rows.ts'

export const searchCommand: Command = {
  name: 'search',
  summary: 'Search the skills',
  operands: { text: 'TEXT…', most: Number.POSITIVE_INFINITY, offers: [[]] },
  details: `
  The words are searched in names, descriptions, when_to_use, tags and headings, and typing errors are tolerated. The
  result is that of the tool search_skills, with the skills that only people call. A skill with several places is found
  once; --json names its places. --max-tokens counts the JSON without its indentation.
`,
  examples: ['skillsyncd search fill in a pdf form'],
  options: {
    limit: {
      type: 'string',
      value: 'N',
      help: `the largest number of results, up to ${MOST_HITS}; default: ${DEFAULT_HITS}`,
    },
    'max-tokens': {
      type: 'string',
      value: 'N',
      help: 'shorten the result to this many tokens, counted as four bytes of JSON each',
    },
    pack: {
      type: 'string',
      value: 'P,…',
      multiple: true,
      help: 'search only these packs, as their clients do',
      offers: 'packs',
    },
  },
  async run(context) {
    const text = context.operands.join(' ')
    if (text.trim() === '') throw new UsageError('Say what to search for: skillsyncd search TEXT')
    if (text.length > MOST_CHARACTERS)
      throw new UsageError(`The text has ${text.length} characters, and at most ${MOST_CHARACTERS} are read`)
    const limit = numberIn(context, 'limit', 1, MOST_HITS) ?? DEFAULT_HITS
    const maxTokens = numberIn(context, 'max-tokens', LEAST_TOKENS, Number.MAX_SAFE_INTEGER)
    const config = await configFor(context)
    const packs = packsNamed(context.values['pack'], config)
    await agreeWithDaemon(config, context.signal)
    const offered = await readOffered(config, packs)
    const skills = await found(config, offered.once, { text, limit })
    const hits = hitsWithin(skills, maxTokens, (skill) => offered.placesOf(skill))
    if (context.json) printJson(context, hits)
    else if (hits.skills.length === 0) printLines(context, ['Nothing was found; try fewer or other words'])
    else {
      printRows(context, ['ID', 'SOURCE', 'DESCRIPTION'], hits.skills.map(cellsOf))
      if (hits.omitted !== undefined) printLines(context, [`${hits.omitted} more left out`])
    }
    return 0
  },
}

function cellsOf({ id, source, places = [], description }: Hit): readonly string[] {
  const more = places.length > 1 ? `, ${countOf(places.length - 1, 'more place')}` : ''
  return [id, `${source}${more}`, description.replaceAll(/\s+/g, ' ')]
}

/** Searches the skills in the state folder, with or without a running daemon. */
async function found(
  { state }: Config,
  skills: readonly Offered[],
  { text, limit }: { readonly text: string; readonly limit: number },
): Promise<readonly Offered[]> {
  using store = await Store.openExisting(state)
  const byId = new Map(skills.map((offered) => [offered.id, offered]))
  const index = new SkillIndex()
  for (const offered of skills) {
    const { text: searchable, document } = searchedOf(offered)
    const headings = store && document && (await headingsOf(store, document))
    index.set({ ...searchable, headings: headings ?? '' })
  }
  return index.find(text, limit).flatMap((id) => byId.get(id) ?? [])
}

function numberIn({ values }: Context, name: string, least: number, most: number): number | undefined {
  const value = values[name]
  if (value === undefined) return undefined
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
  if (number >= least && number <= most) return number
  throw new UsageError(`--${name} is a number from ${least}${most < 1e9 ? ` to ${most}` : ' on'}`)
}
