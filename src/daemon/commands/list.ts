import { catalogText } from '../../serve/catalog-text.ts'
import { isForModels } from '../../sync/model/model-invocation.ts'
import { agreeWithDaemon, sourcesOf } from '../requests.ts'
import { readOffered, readRows } from '../skill-rows.ts'
import type { SkillRow } from '../skill-rows.ts'
import { printRows } from './columns.ts'
import { configOf, printJson } from './command.ts'
import type { Command } from './command.ts'
import { packsNamed } from './packs-named.ts'

export const list: Command = {
  name: 'list',
  summary: 'Every skill that was seen, and what became of it',
  operands: { text: '[SOURCE…]', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  options: {
    served: { type: 'boolean', help: 'only those that are served' },
    pack: { type: 'string', value: 'P,…', multiple: true, help: 'only those of these packs', offers: 'packs' },
    prompt: { type: 'boolean', help: 'as text for the prompt of a model; nothing where there is no skill for it' },
  },
  async run(context) {
    const config = await configOf(context)
    const sources: readonly string[] = sourcesOf(context.operands, config)
    const packs = packsNamed(context.values['pack'], config)
    await agreeWithDaemon(config, context.signal)
    if (context.values['prompt'] === true) {
      const skills = (await readOffered(config, packs)).filter(
        ({ source, skill }) => sources.includes(source) && isForModels(skill),
      )
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
  return [what, description?.replaceAll(/\s+/g, ' ') ?? name ?? '']
}

function placeOf({ source, path, uri, standing }: SkillRow): string {
  if (uri === undefined) return `${source}/${path} (${standing})`
  return `${uri.replace(/\/SKILL\.md$/, '')}${standing === 'unlisted' ? ' (unlisted)' : ''}`
}
