import { basename, join, relative, resolve } from 'node:path'
import { shellWord } from '../../base/text/shell-word.ts'
import { printJson, printLines } from '../../daemon/cli/command.ts'
import type { Command } from '../../daemon/cli/command.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { isThere, writeNew } from '../../daemon/runtime/new-file.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { isSkillName } from '../../sync/skill/skill-name.ts'
import { PLACEHOLDER, skeleton } from './lint/skeleton.ts'

export const newSkill: Command = {
  name: 'skill new',
  operands: { text: 'SKILL', most: 1, offers: ['folders'] },
  needsConfiguration: false,
  details: `
  SKILL is the name of the skill, or the path of its folder, which ends with the name. The folder gets a SKILL.md, in
  which skillsyncd skill validate warns of what is still to be written. An existing folder is refused.
`,
  examples: [
    'skillsyncd skill new skills/incident-report',
    'skillsyncd skill new incident-report --description "Writes …. Use when …."',
  ],
  options: {
    description: { type: 'string', value: 'TEXT', help: 'what the skill does, and when an agent uses it' },
  },
  async run(context) {
    const [path] = context.operands
    if (path === undefined || path === '')
      throw new UsageError('"skill new" wants a name, for example: skillsyncd skill new skills/incident-report')
    const folder = resolve(path)
    const name = basename(folder)
    if (!isSkillName(name))
      throw new UsageError(
        `Cannot name a skill "${printableLine(name)}": a name has 1 to 64 of a-z, 0-9 and single hyphens between them`,
      )
    if (await isThere(folder, 'choose another folder')) throw alreadyThere(folder)
    const description = descriptionIn(context.values)
    const file = join(folder, 'SKILL.md')
    if (!(await writeNew(file, skeleton(name, description ?? PLACEHOLDER)))) throw alreadyThere(folder)
    if (context.json) printJson(context, { name, file })
    else {
      const shown = printableLine(relative('', file))
      const edit = description === undefined ? 'its description and its text' : 'its text'
      printLines(context, [
        `wrote ${shown}`,
        '',
        'Next:',
        `  edit ${edit}: agents choose a skill by its description`,
        `  skillsyncd skill validate ${shellWord(relative('', folder))}`,
      ])
    }
    return 0
  },
}

function descriptionIn({ description }: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof description !== 'string') return undefined
  const text = description.trim()
  if (text === '') throw new UsageError('--description is empty; say what the skill does, and when an agent uses it')
  return text
}

function alreadyThere(folder: string): UsageError {
  return new UsageError(`Cannot write "${printableLine(folder)}": it is there already; choose another name`)
}
