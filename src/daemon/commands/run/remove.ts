import { isObject } from '../../../base/json-object.ts'
import { itemsAt, withoutItems } from '../../../base/settings/yaml-edit.ts'
import type { YamlRemoval } from '../../../base/settings/yaml-edit.ts'
import { configFor, printJson, printLines } from '../../cli/command.ts'
import type { Command } from '../../cli/command.ts'
import { editConfiguration, reloadDaemon, sourceNotes } from '../../cli/edit-configuration.ts'
import { idsOf } from '../../config/config.ts'
import { isSourceComment } from '../../config/init-template.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { UsageError } from '../../runtime/usage-error.ts'

export const remove: Command = {
  name: 'remove',
  operands: { text: 'SOURCE…', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  details: `
  The running daemon applies it at once. The skills of the source are out of service at once, and its links go from the
  folders that links names; the others are named. Every other byte of the file stays. An entry in skills.lock stays too, for the day on which
  the source comes back.
`,
  examples: ['skillsyncd remove team'],
  async run(context) {
    const config = await configFor(context)
    const { file, state } = config
    if (file === undefined) throw new UsageError('"remove" edits a configuration file; name it with --config')
    if (context.operands.length === 0)
      throw new UsageError(`"remove" wants the id of a source: ${idsOf(config).join(', ')}`)
    const ids = [...new Set(context.operands)]
    const edit = (text: string): string => {
      expectRemovable(ids, itemsAt(text, 'sources').flatMap(idIn))
      return withoutItems(text, removal(ids))
    }
    const next = await editConfiguration({ file, state, command: 'remove', edit }, context)
    if (!context.json) printLines(context, [...ids.map((id) => `removed ${id}`), `wrote ${printableLine(file)}`])
    const absent = 'the next start applies it'
    const { isReloaded, text } = await reloadDaemon(next, absent, context.signal)
    if (context.json) printJson(context, { config: file, removed: ids, reloaded: isReloaded })
    else printLines(context, [text, ...(await sourceNotes(context, next))])
    return 0
  },
}

/** The file names the disabled sources too, which the configuration does not have. */
function expectRemovable(ids: readonly string[], all: readonly string[]): void {
  const unknown = ids.find((id) => !all.includes(id))
  if (unknown !== undefined)
    throw new UsageError(`No source is called "${printableLine(unknown)}"; there are ${all.join(', ')}`)
  if (all.every((id) => ids.includes(id)))
    throw new UsageError(
      'Cannot remove every source: a configuration has one at least; skillsyncd stop ends the daemon',
    )
}

function idIn(value: unknown): string[] {
  return isObject(value) && typeof value['id'] === 'string' ? [value['id']] : []
}

function removal(ids: readonly string[]): YamlRemoval {
  return {
    key: 'sources',
    isRemoved: (value) => idIn(value).some((id) => ids.includes(id)),
    isOwnComment: isSourceComment,
  }
}
