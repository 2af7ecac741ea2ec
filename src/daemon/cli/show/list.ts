import { countOf } from '../../../base/text/plural.ts'
import { catalogText } from '../../../serve/mcp/tools/catalog-text.ts'
import { agreeWithDaemon, sourcesOf } from '../../control/requests.ts'
import { readOffered, readRows } from '../../status/skill-rows.ts'
import type { SkillRow } from '../../status/skill-rows.ts'
import { printRows } from '../columns.ts'
import { configFor, printJson } from '../command.ts'
import type { Command } from '../command.ts'
import { packsNamed } from '../pack-option.ts'

export const list: Command = {
  name: 'list',
  summary: 'List every skill, and its state',
  operands: { text: '[SOURCE…]', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  details: `
  Each place of a skill is a line of its own. (copy) marks a skill that another place has too, with the same name and
  content; --json names the places.
`,
  examples: ['skillsyncd list', 'skillsyncd list team --served'],
  options: {
    served: { type: 'boolean', help: 'only served skills' },
    pack: { type: 'string', value: 'P,…', multiple: true, help: 'only skills of these packs', offers: 'packs' },
    prompt: { type: 'boolean', help: 'as text for the prompt of a model; empty if there is no skill' },
  },
  async run(context) {
    const config = await configFor(context)
    const sources: readonly string[] = sourcesOf(context.operands, config)
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
    else printRows(context, shown.map(cellsOf))
    return 0
  },
}

function cellsOf(row: SkillRow): readonly string[] {
  const { name, description } = row
  const what = `${placeOf(row)}${row.disabled ? ' (disabled)' : ''}${row.pending ? ' (waits for approval)' : ''}`
  return [`${what}${checkedText(row)}`, description?.replaceAll(/\s+/g, ' ') ?? name ?? '']
}

function checkedText({ verified }: SkillRow): string {
  return verified === undefined ? '' : ` (${verified.files} of ${countOf(verified.of, 'file')} checked)`
}

function placeOf({ source, path, uri, standing, places = [] }: SkillRow): string {
  const copy = places.length > 1 ? ' (copy)' : ''
  if (uri === undefined) return `${source}/${path} (${standing})${copy}`
  return `${uri.replace(/\/SKILL\.md$/, '')}${standing === 'unlisted' ? ' (unlisted)' : ''}${copy}`
}
