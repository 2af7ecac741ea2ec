import { catalogText } from '../../../serve/mcp/tools/catalog-text.ts'
import { DEFAULT_HITS, MOST_HITS } from '../../../serve/mcp/tools/search/query.ts'
import { stateText } from '../../../sync/model/verdict/verdict.ts'
import { printRows } from '../../cli/columns.ts'
import { printJson } from '../../cli/command.ts'
import type { Command } from '../../cli/command.ts'
import { configInUse } from '../../cli/config-in-use.ts'
import { packsNamed } from '../../cli/pack-option.ts'
import { variantIn } from '../../cli/variant.ts'
import { sourcesNamed } from '../../config/named-sources.ts'
import { agreeWithDaemon } from '../../control/running-daemon.ts'
import { readOffered, readRows } from '../../status/skill-rows.ts'
import type { SkillRow } from '../../status/skill-rows.ts'
import { verifiedCount } from '../../status/verified-files.ts'
import { printFound, listQueryOf } from './search.ts'

export const list: Command = {
  name: 'list',
  operands: { text: '[WORDS | PLUGIN…]', most: Number.POSITIVE_INFINITY, offers: [[]] },
  details: `
  Each place of a skill is a line of its own. The state copy marks a skill that another place has too, with the same
  name and content; --json names the places.

  WORDS are searched in names, descriptions, when_to_use, tags and headings, and typing errors are tolerated. The result
  is that of the tool search_skills, with the skills that only people call. A skill with several places is found once.
  Skills that left in the last 90 days follow; with --json they are in "left", each as skillsyncd show has it.
  --max-tokens counts the JSON without its indentation.

  --usage shows how often skills were listed, loaded and read: the answers to clients, by day in UTC, up to a minute old.
  A list shows all skills that its client sees, and is counted once. A load has the instructions of a skill, a read has
  another file of it. A failure should have been one of these, and its content or the store did not allow it. The names of
  clients are those that they give themselves. Nothing is sent anywhere.

  --plugins shows the plugins in the repository of a source, all or each PLUGIN, and the sources that they suggest. Only
  the served commit is read: no suggested source is fetched, and no configuration is written.
`,
  examples: [
    'skillsyncd list',
    'skillsyncd list --only team --served',
    'skillsyncd list fill in a pdf form',
    'skillsyncd list --usage --by client,day --since 7d',
    'skillsyncd list --unused 30d',
    'skillsyncd list --plugins team --as sources',
  ],
  options: {
    only: { type: 'string', value: 'SOURCE', multiple: true, help: 'only skills of this source', offers: 'sources' },
    served: { type: 'boolean', help: 'only served skills' },
    pack: { type: 'string', value: 'P,…', multiple: true, help: 'only skills of these packs', offers: 'packs' },
    limit: {
      type: 'string',
      value: 'N',
      help: `with WORDS: the largest number of results, up to ${MOST_HITS}; default: ${DEFAULT_HITS}`,
    },
    'max-tokens': {
      type: 'string',
      value: 'N',
      help: 'with WORDS: shorten the result to this many tokens, counted as four bytes of JSON each',
    },
    prompt: { type: 'boolean', help: 'as text for the prompt of a model; empty if there is no skill' },
    usage: { type: 'boolean', help: 'show how often skills were used' },
    by: {
      type: 'string',
      value: 'D,…',
      help: 'with --usage: add up by skill, pack, client, principal or day; default: skill',
      offers: ['skill', 'pack', 'client', 'principal', 'day'],
    },
    since: {
      type: 'string',
      value: 'TIME',
      help: 'with --usage: the first day, or a duration up to now; default: 30d',
    },
    unused: { type: 'string', value: 'TIME', help: 'the served skills without a load or a read for so long' },
    plugins: {
      type: 'string',
      value: 'SOURCE',
      help: 'the plugins in the repository of this source',
      offers: 'sources',
    },
    as: {
      type: 'string',
      value: 'WHAT',
      help: 'with --plugins: print configuration: packs, one for each plugin with skills, or the suggested sources, each at its commit if the marketplace names one',
      offers: ['packs', 'sources'],
    },
    csv: { type: 'boolean', help: 'with --usage and --unused: as comma-separated values' },
  },
  async run(context) {
    const variant = variantIn(context, {
      usage: ['by', 'since', 'csv'],
      unused: ['csv'],
      plugins: ['as'],
      '': OF_SKILLS,
    })
    if (variant !== '') return context.runVariant(variant === 'plugins' ? 'list --plugins' : 'list --usage')
    const query = listQueryOf(context)
    const config = await configInUse(context)
    const { only } = context.values
    const sources: readonly string[] = sourcesNamed(Array.isArray(only) ? only.map(String) : undefined, config)
    const packs = packsNamed(context.values['pack'], config)
    await agreeWithDaemon(config, context.signal)
    if (query !== undefined) {
      // Those that left are in no pack, and their sources need not be configured any more.
      const isLeftWanted = (source: string): boolean =>
        packs === undefined && (only === undefined || sources.includes(source))
      await printFound(context, query, { config, offered: await readOffered(config, packs), sources, isLeftWanted })
      return 0
    }
    if (context.values['prompt'] === true) {
      const { forModels } = await readOffered(config, packs)
      const skills = forModels.filter(({ source }) => sources.includes(source))
      const text = catalogText(skills)
      if (context.json) printJson(context, { prompt: text })
      else context.streams.stdout.write(context.redactor.clean(text))
      return 0
    }
    const onlyServed = context.values['served'] === true
    const isWanted = (row: SkillRow): boolean =>
      sources.includes(row.source) && (packs === undefined || packs.some((id) => row.packs.includes(id)))
    const wanted = (await readRows(config)).filter(isWanted)
    const shown = onlyServed
      ? wanted.filter(({ verdict: { state } }) => state === 'served' || state === 'partly')
      : wanted
    if (context.json) printJson(context, { skills: shown.map(({ files: _files, ...row }) => row) })
    else printRows(context, ['SKILL', 'STATE', 'DESCRIPTION'], shown.map(cellsOf))
    if (shown.length === 0 && !context.json && !context.quiet)
      context.streams.stderr.write('no skills; skillsyncd status shows the sources, skillsyncd sync fetches them\n')
    return 0
  },
}

/** The options of the list and of the search. */
const OF_SKILLS = ['only', 'served', 'pack', 'limit', 'max-tokens', 'prompt'] as const

function cellsOf(row: SkillRow): readonly string[] {
  const { name, description, source, path, uri } = row
  const skill = uri === undefined ? `${source}/${path}` : uri.replace(/\/SKILL\.md$/, '')
  return [skill, stateCell(row), description?.replaceAll(/\s+/g, ' ') ?? name ?? '']
}

/** The state of a skill, and what else a person should know of it. */
export function stateCell({ verdict, kept, lifecycle, verified, places = [] }: StateRow): string {
  const words = [
    stateText(verdict.state),
    ...(kept === undefined ? [] : ['earlier version']),
    ...(lifecycle?.deprecated === undefined ? [] : ['deprecated']),
    ...(places.length > 1 ? ['copy'] : []),
    ...(verified === undefined ? [] : [`${verifiedCount(verified)} checked`]),
  ]
  return words.join(', ')
}

type StateRow = Pick<SkillRow, 'verdict' | 'kept' | 'lifecycle' | 'verified' | 'places'>
