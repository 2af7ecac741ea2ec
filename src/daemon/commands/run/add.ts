import { pathToFileURL } from 'node:url'
import type { JsonObject } from '../../../base/json-value.ts'
import { withItems } from '../../../base/settings/yaml-edit.ts'
import type { YamlItem } from '../../../base/settings/yaml-edit.ts'
import { FreeIds, marketplaceOf, sourceEntries } from '../../../features/marketplace/free-ids.ts'
import { configFor, printJson, printLines } from '../../cli/command.ts'
import type { Command, Context, ExitStatus } from '../../cli/command.ts'
import { editConfiguration } from '../../cli/edit-configuration.ts'
import { reloadDaemon } from '../../cli/reload-daemon.ts'
import { sourceIdFor } from '../../config/command-line-config.ts'
import { idsOf } from '../../config/config.ts'
import { commentOn } from '../../config/init-template.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { probeAll } from './probe-all.ts'

export const add: Command = {
  name: 'add',
  summary: 'Add sources to the configuration',
  operands: { text: 'URL… | PLUGIN…', most: Number.POSITIVE_INFINITY, offers: ['folders'] },
  details: `
  The running daemon applies it at once. URL is the address of a git repository, owner/repo on GitHub, or the path of
  a repository or of a plain folder. Each is fetched first, as init does. The entries come to the end of sources;
  every other byte of the file stays.

  With --mcp, each URL is the address of another MCP server that publishes skills; it is contacted at the first pull. A
  server that is a program is an entry to write: mcp: { command: acme-skills, args: [--stdio] }.

  With --from-marketplace, add the sources that the plugins in the repository of a source suggest, each at its commit if
  the marketplace names one: those of the named plugins, or all.
`,
  examples: [
    'skillsyncd add obra/superpowers',
    'skillsyncd add --mcp https://skills.example.com/mcp',
    'skillsyncd add ~/my-skills --id mine',
  ],
  options: {
    id: {
      type: 'string',
      value: 'ID',
      help: 'the id of the source; default: the name of the repository, or of its owner if that is skills or agent-skills',
    },
    'from-marketplace': {
      type: 'string',
      value: 'SOURCE',
      help: 'add the sources that the marketplace of this source suggests',
      offers: 'sources',
    },
    mcp: { type: 'boolean', help: 'the addresses are those of MCP servers' },
    offline: { type: 'boolean', help: 'add the addresses without fetching anything' },
  },
  async run(context) {
    const config = await configFor(context)
    if (config.file === undefined) throw new UsageError('"add" writes to a configuration file; name it with --config')
    const items = await itemsFor(context, config)
    if (items === undefined) return 1
    if (items.length === 0) return printNothing(context)
    const edit = (text: string): string => withItems(text, 'sources', items)
    const { state } = config
    const next = await editConfiguration({ file: config.file, state, command: 'add', edit }, context)
    // The file is written, whatever the daemon says of it.
    if (!context.json) printLines(context, linesOf(config.file, items))
    const absent = 'skillsyncd start serves it'
    const { isReloaded, text } = await reloadDaemon(next, absent, context.signal)
    if (context.json) {
      printJson(context, { config: config.file, added: items.map(({ value }) => value), reloaded: isReloaded })
      return 0
    }
    printLines(context, [text])
    return 0
  },
}

/** `undefined` if a place cannot be read; the failures are printed. */
async function itemsFor(context: Context, config: ServedConfig): Promise<readonly YamlItem[] | undefined> {
  const { operands, values } = context
  const from = values['from-marketplace']
  if (typeof from !== 'string') return itemsAt(operands, context, config)
  if (values['id'] !== undefined) throw new UsageError('--id goes with one address, not with --from-marketplace')
  const row = await marketplaceOf(config, { source: from, plugins: operands }, context.signal)
  const entries = sourceEntries(row, idsOf(config))
  return entries.flatMap((value, at) => {
    if (isConfigured(value, config)) return []
    const { name = '', sha } = row.suggested[at] ?? {}
    return [{ value, comment: `plugin ${name} of ${row.source}${sha === undefined ? ': no commit pins it' : ''}` }]
  })
}

async function itemsAt(
  texts: readonly string[],
  context: Context,
  config: ServedConfig,
): Promise<readonly YamlItem[] | undefined> {
  const { id } = context.values
  if (texts.length === 0)
    throw new UsageError('"add" wants an address: skillsyncd add https://git.example.com/team/skills')
  if (id !== undefined && texts.length > 1) throw new UsageError('--id goes with one address')
  const taken = idsOf(config)
  if (typeof id === 'string' && taken.some((one) => one === id))
    throw new UsageError(`There is a source "${id}" already; give another --id`)
  const ids = new FreeIds('', taken)
  const idOf = (proposed: string): string => (typeof id === 'string' ? id : ids.idFor(proposed))
  const found = await probeAll(texts, context)
  return found?.map((one) => {
    const value = { id: idOf(sourceIdFor(one.place)), ...one.place }
    expectNew(value, config)
    const comment = commentOn({ id: value.id, ...one })
    return comment === undefined ? { value } : { value, comment }
  })
}

function expectNew(value: JsonObject, config: ServedConfig): void {
  const there = sourceAt(value, config)
  if (there !== undefined)
    throw new UsageError(`"${there}" has this address already; skillsyncd sync ${there} pulls it`)
}

function isConfigured(entry: JsonObject, config: ServedConfig): boolean {
  return sourceAt(entry, config) !== undefined
}

/** The source that has this address, root and branch, if there is one. */
function sourceAt({ url, mcp, path, ref, root = '' }: JsonObject, { sources }: ServedConfig): string | undefined {
  const address = typeof path === 'string' ? pathToFileURL(path).href : (url ?? mcp)
  return sources.find(({ source }) => {
    const isOther = ref !== undefined && 'ref' in source && source.ref !== undefined && source.ref !== ref
    return source.root === root && source.url === address && !isOther
  })?.source.id
}

function printNothing(context: Context): ExitStatus {
  if (context.json) printJson(context, { added: [] })
  else printLines(context, ['nothing to add: the configuration has these sources'])
  return 0
}

function linesOf(file: string, items: readonly YamlItem[]): readonly string[] {
  const added = items.map(({ value: { id }, comment }) =>
    printableLine(`added ${typeof id === 'string' ? id : ''}${comment === undefined ? '' : `: ${comment}`}`),
  )
  return [...added, `wrote ${printableLine(file)}`]
}
