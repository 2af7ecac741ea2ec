import { catalogText } from '../../../serve/mcp/tools/catalog-text.ts'
import { printRows } from '../../cli/columns.ts'
import { configFor, printJson } from '../../cli/command.ts'
import type { Command } from '../../cli/command.ts'
import { packsNamed } from '../../cli/pack-option.ts'
import { sourcesNamed } from '../../config/named-sources.ts'
import { agreeWithDaemon } from '../../control/running-daemon.ts'
import { outWord } from '../../status/decision-text.ts'
import { readOffered, readRows } from '../../status/skill-rows.ts'
import type { SkillRow } from '../../status/skill-rows.ts'
import { verifiedCount } from '../../status/verified-files.ts'

export const list: Command = {
  name: 'list',
  summary: 'List every skill, and its state',
  operands: { text: '[SOURCE…]', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  details: `
  Each place of a skill is a line of its own. The state copy marks a skill that another place has too, with the same
  name and content; --json names the places.
`,
  examples: ['skillsyncd list', 'skillsyncd list team --served'],
  options: {
    served: { type: 'boolean', help: 'only served skills' },
    pack: { type: 'string', value: 'P,…', multiple: true, help: 'only skills of these packs', offers: 'packs' },
    prompt: { type: 'boolean', help: 'as text for the prompt of a model; empty if there is no skill' },
  },
  async run(context) {
    const config = await configFor(context)
    const sources: readonly string[] = sourcesNamed(context.operands, config)
    const packs = packsNamed(context.values['pack'], config)
    await agreeWithDaemon(config, context.signal)
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
      ? wanted.filter(({ uri, disabled, pending }) => uri !== undefined && !disabled && !pending)
      : wanted
    if (context.json) printJson(context, { skills: shown })
    else printRows(context, ['SKILL', 'STATE', 'DESCRIPTION'], shown.map(cellsOf))
    if (shown.length === 0 && !context.json && !context.quiet)
      context.streams.stderr.write('no skills; skillsyncd status shows the sources, skillsyncd sync fetches them\n')
    return 0
  },
}

function cellsOf(row: SkillRow): readonly string[] {
  const { name, description, source, path, uri } = row
  const skill = uri === undefined ? `${source}/${path}` : uri.replace(/\/SKILL\.md$/, '')
  return [skill, stateCell(row), description?.replaceAll(/\s+/g, ' ') ?? name ?? '']
}

/** The state of a skill in a few words, the operator's decisions first. */
function stateCell({
  standing,
  disabled,
  disabledBy,
  pending,
  kept,
  lifecycle,
  verified,
  places = [],
}: SkillRow): string {
  const words = [
    ...(disabled ? [outWord(disabledBy)] : []),
    ...(pending ? ['waits for approval'] : []),
    ...(standing === 'served' && (disabled || pending) ? [] : [standing === 'tools' ? 'tools-only' : standing]),
    ...(kept === undefined ? [] : ['earlier version']),
    ...(lifecycle?.deprecated === undefined ? [] : ['deprecated']),
    ...(places.length > 1 ? ['copy'] : []),
    ...(verified === undefined ? [] : [`${verifiedCount(verified)} checked`]),
  ]
  return words.join(', ')
}
