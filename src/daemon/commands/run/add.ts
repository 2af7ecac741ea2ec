import { pathToFileURL } from 'node:url'
import type { JsonObject } from '../../../base/json-value.ts'
import { withItems } from '../../../base/settings/yaml-edit.ts'
import type { YamlItem } from '../../../base/settings/yaml-edit.ts'
import { countOf } from '../../../base/text/plural.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { configFor, printJson, printLines, progressOf } from '../../cli/command.ts'
import type { Command, Context, ExitStatus } from '../../cli/command.ts'
import { editConfiguration, reloadDaemon, sourceNotes } from '../../cli/edit-configuration.ts'
import { FreeIds, marketplaceOf, sourceEntries } from '../../cli/free-ids.ts'
import { failureIn } from '../../cli/store-reader.ts'
import type { SourceFailure } from '../../cli/store-reader.ts'
import { sourceIdFor } from '../../config/command-line-config.ts'
import { idsOf } from '../../config/config.ts'
import { commentOn } from '../../config/init-template.ts'
import type { StartingSource } from '../../config/init-template.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { askedSources, firstFileOf, writeFirst } from './first-file.ts'
import {
  placeNotes,
  failureLines,
  probeSource,
  serverAt,
  sourceCandidateOf,
  unreadSource,
  withoutSkills,
} from './source-probe.ts'
import type { FoundSource } from './source-probe.ts'

export const add: Command = {
  name: 'add',
  operands: { text: '[URL… | PLUGIN…]', most: Number.POSITIVE_INFINITY, offers: ['folders'] },
  details: `
  URL is the address of a git repository, owner/repo on GitHub, the address of a page that shows a folder of it, or the
  path of a repository or of a plain folder. #BRANCH or #BRANCH:FOLDER behind an address chooses. Each is fetched
  first, to find its default branch and its skills; one without any SKILL.md is not added.

  The entries come to the end of sources, every other byte of the file stays, and the running daemon applies it at once.
  If there is no configuration, the first is written: --config FILE, or the user's. Without URL, add asks for the
  addresses then, on a terminal. The file has no secret: for a private repository, name the credential there under auth.

  With --mcp, each URL is the address of another MCP server that publishes skills; it is contacted at the first pull. A
  server that is a program is an entry to write: mcp: { command: acme-skills, args: [--stdio] }.

  With --from-marketplace, add the sources that the plugins in the repository of a source suggest, each at its commit if
  the marketplace names one: those of the named plugins, or all.
`,
  examples: [
    'skillsyncd add anthropics/skills obra/superpowers',
    'skillsyncd add https://git.example.com/team/skills.git#main:agents',
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
    const first = await firstFileOf(context)
    if (first !== undefined) return addToFirst(context, first)
    const config = await configFor(context)
    const { file, state } = config
    if (file === undefined) throw new UsageError('"add" writes to a configuration file; name it with --config')
    const found = await itemsFor(context, config)
    if (typeof found === 'number') return found
    const { items, notes } = found
    if (items.length === 0) return printNothing(context)
    const edit = (text: string): string => withItems(text, 'sources', items)
    const next = await editConfiguration({ file, state, command: 'add', edit }, context)
    // The file is written, whatever the daemon says of it.
    if (!context.json) printLines(context, [...linesOf(file, items), ...notes])
    const absent = 'skillsyncd start serves it'
    const { isReloaded, text } = await reloadDaemon(next, absent, context.signal)
    if (context.json) {
      printJson(context, { config: file, added: items.map(({ value }) => value), reloaded: isReloaded })
      return 0
    }
    printLines(context, [text, ...(await sourceNotes(context, next))])
    return 0
  },
}

/** Writes the first configuration. */
async function addToFirst(context: Context, file: string): Promise<ExitStatus> {
  if (context.values['from-marketplace'] !== undefined)
    throw new UsageError(`--from-marketplace names a source of a configuration, and there is none at "${file}"`)
  const sources = await sourcesAt(context, [])
  if (typeof sources === 'number') return sources
  return writeFirst(context, file, sources)
}

/** An entry of `sources`, and its comment. */
interface SourceItem extends YamlItem {
  readonly value: JsonObject
}

/** The entries to add, and what a person should know of them. */
interface Items {
  readonly items: readonly SourceItem[]
  readonly notes: readonly string[]
}

/** The exit status if a place is not to be added; the reasons are printed. */
async function itemsFor(context: Context, config: ServedConfig): Promise<Items | ExitStatus> {
  const { operands, values } = context
  const from = values['from-marketplace']
  if (typeof from !== 'string') return itemsAt(context, config)
  if (values['id'] !== undefined) throw new UsageError('--id goes with one address, not with --from-marketplace')
  const row = await marketplaceOf(config, { source: from, plugins: operands }, context.signal)
  const entries = sourceEntries(row, idsOf(config))
  const items = entries.flatMap((value, at) => {
    if (isConfigured(value, config)) return []
    const { name = '', sha } = row.suggested[at] ?? {}
    return [{ value, comment: `plugin ${name} of ${row.source}${sha === undefined ? ': no commit pins it' : ''}` }]
  })
  return { items, notes: [] }
}

async function itemsAt(context: Context, config: ServedConfig): Promise<Items | ExitStatus> {
  if (context.operands.length === 0) throw wantsAddress(context)
  const sources = await sourcesAt(context, idsOf(config))
  if (typeof sources === 'number') return sources
  const items = sources.map((source) => {
    const value = { id: source.id, ...source.place }
    expectNew(value, config)
    const comment = commentOn(source)
    return comment === undefined ? { value } : { value, comment }
  })
  return { items, notes: sources.flatMap(placeNotes) }
}

/** The sources that the command line names, or a person on a terminal, each once. */
async function sourcesAt(context: Context, taken: readonly string[]): Promise<readonly StartingSource[] | ExitStatus> {
  const { operands, values } = context
  const { id } = values
  if (id !== undefined && operands.length > 1) throw new UsageError('--id goes with one address')
  if (typeof id === 'string' && taken.includes(id))
    throw new UsageError(`There is a source "${id}" already; give another --id`)
  const found = operands.length > 0 ? await probeAll(operands, context) : await askedSources(context)
  if (found === undefined) throw wantsAddress(context)
  if (typeof found === 'number') return found
  if (found.length === 0) {
    context.streams.stderr.write('nothing was written\n')
    return 1
  }
  const ids = new FreeIds('', taken)
  const distinct = new Map(found.map((one) => [JSON.stringify(one.place), one]))
  return [...distinct.values()].map((one) =>
    Object.assign(one, { id: typeof id === 'string' ? id : ids.idFor(sourceIdFor(one.place)) }),
  )
}

function wantsAddress({ values }: Context): UsageError {
  const example =
    values['mcp'] === true
      ? '"add --mcp" wants the address of a server: skillsyncd add --mcp https://skills.example.com/mcp'
      : '"add" wants an address: skillsyncd add https://git.example.com/team/skills'
  return new UsageError(example)
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

function linesOf(file: string, items: readonly SourceItem[]): readonly string[] {
  const added = items.map(({ value: { id }, comment }) =>
    printableLine(`added ${typeof id === 'string' ? id : ''}${comment === undefined ? '' : `: ${comment}`}`),
  )
  return [...added, `wrote ${printableLine(file)}`]
}

/**
 * Reads each place that the command line names, but none with `--offline` or `--mcp`. If one cannot be read, or has no
 * skill, prints all such reasons and returns the exit status.
 */
async function probeAll(texts: readonly string[], context: Context): Promise<readonly FoundSource[] | ExitStatus> {
  if (context.values['mcp'] === true)
    return usable(await Promise.all(texts.map(async (text) => serverAt(text, context)))).map((place) => ({
      place,
      seen: undefined,
    }))
  const candidates = usable(await Promise.all(texts.map(async (text) => sourceCandidateOf(text, context))))
  if (context.values['offline'] === true) return Promise.all(candidates.map(unreadSource))
  using progress = progressOf(context)
  const found: FoundSource[] = []
  const failed: SourceFailure[] = []
  for (const [index, candidate] of candidates.entries()) {
    progress.count(index, candidates.length, `reading ${index + 1} of ${countOf(candidates.length, 'place')}`)
    const probed = await probeSource(candidate, context)
    if (probed instanceof SyncError) failed.push(failureIn(probed))
    else found.push(probed)
  }
  progress.show('')
  const problems = [...failed, ...found.flatMap((one) => withoutSkills(one) ?? [])]
  if (problems.length === 0) return found
  if (context.json) printJson(context, { added: [], problems })
  const lines = [...problems.flatMap(failureLines), 'Nothing was written; --offline writes without reading']
  context.streams.stderr.write(`skillsyncd: ${context.redactor.clean(lines.join('\n'))}\n`)
  return failed.length > 0 ? 1 : 3
}

/** Throws for the first address with a fault. */
function usable<Place extends object>(places: readonly (Place | string)[]): readonly Place[] {
  return places.map((place, index) => {
    if (typeof place === 'object') return place
    throw new UsageError(`Cannot use ${places.length > 1 ? `address ${index + 1}` : 'the address'}: it ${place}`)
  })
}
