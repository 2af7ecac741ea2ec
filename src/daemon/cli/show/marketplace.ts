import { Document, isMap } from 'yaml'
import { countOf } from '../../../base/text/plural.ts'
import type { PluginGroup, SuggestedSource } from '../../../sync/marketplace/marketplace.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { currentCatalog } from '../../../sync/pull/generation-catalog.ts'
import { Store } from '../../../sync/store/store.ts'
import { printableLine } from '../../base/log-line.ts'
import { OperatorError } from '../../base/operator-error.ts'
import { UsageError } from '../../base/usage-error.ts'
import { configuredIn, idsOf } from '../../config/config.ts'
import type { Config } from '../../config/config.ts'
import { agreeWithDaemon, sourcesOf } from '../../control/requests.ts'
import { carriedText, marketplaceRowOf } from '../../status/marketplace-rows.ts'
import type { MarketplaceRow } from '../../status/marketplace-rows.ts'
import { admissionOf } from '../../trust/serving-policy.ts'
import { configFor, printJson, printLines } from '../command.ts'
import type { Command, Context } from '../command.ts'

export const marketplaceCommand: Command = {
  name: 'marketplace',
  summary: 'The plugins in the repository of a source, and the sources that it suggests',
  operands: { text: 'SOURCE [PLUGIN…]', most: Number.POSITIVE_INFINITY, offers: ['sources', []] },
  details: `
  Without PLUGIN, all plugins are shown. It reads the served commit alone: no suggested source is fetched, and no
  configuration is written. --packs and --sources print what you may add to it.
`,
  options: {
    packs: { type: 'boolean', help: 'a pack for each plugin that has skills, as configuration' },
    sources: {
      type: 'boolean',
      help: 'the suggested sources, as configuration, each at its commit if the marketplace has one',
    },
  },
  async run(context) {
    const [named, ...plugins] = context.operands
    if (named === undefined)
      throw new UsageError('"marketplace" wants the id of a source; skillsyncd status shows them')
    const config = await configFor(context)
    const [source] = sourcesOf([named], config)
    if (source === undefined) throw new TypeError('A source that was named has an id')
    expectRead(config, source)
    await agreeWithDaemon(config, context.signal)
    print(context, onlyNamed(await readRow(config, source), plugins), config)
    return 0
  },
}

function expectRead(config: Config, id: SourceId): void {
  if (configuredIn(config, id).source.marketplace) return
  throw new OperatorError(
    'bad-request',
    `The marketplace of "${id}" is not read; \`marketplace: true\` of the source switches it on`,
  )
}

async function readRow(config: Config, id: SourceId): Promise<MarketplaceRow> {
  using store = await Store.openExisting(config.state)
  await store?.decisions.read()
  const catalog = store && (await currentCatalog(store, idsOf(config), admissionOf(config)))
  const snapshot = catalog?.snapshots.find(({ source }) => source === id)
  if (snapshot === undefined)
    throw new OperatorError('nothing-served', `Nothing of "${id}" is served yet; skillsyncd sync ${id} pulls it`)
  if (snapshot.marketplace === undefined)
    throw new OperatorError(
      'nothing-served',
      `The marketplace of "${id}" was not read in the served commit; skillsyncd sync ${id} tries it, and skillsyncd why ${id} has the findings`,
    )
  return marketplaceRowOf(snapshot)
}

function onlyNamed(row: MarketplaceRow, plugins: readonly string[]): MarketplaceRow {
  if (plugins.length === 0) return row
  const { groups, suggested, unsupported } = row
  const known = new Set([groups, suggested, unsupported].flat().map(({ name }) => name))
  const unknown = plugins.find((name) => !known.has(name))
  if (unknown !== undefined)
    throw new OperatorError(
      'unknown-plugin',
      `The marketplace of "${row.source}" has no plugin "${unknown}"; skillsyncd marketplace ${row.source} shows them`,
    )
  const isNamed = ({ name }: { readonly name: string }): boolean => plugins.includes(name)
  return {
    ...row,
    groups: groups.filter(isNamed),
    suggested: suggested.filter(isNamed),
    unsupported: unsupported.filter(isNamed),
  }
}

function print(context: Context, row: MarketplaceRow, config: Config): void {
  const { packs, sources } = context.values
  if (packs !== true && sources !== true) {
    if (context.json) printJson(context, row)
    else printLines(context, linesOf(row))
    return
  }
  const added = {
    ...(sources === true && { sources: sourceEntries(row, idsOf(config)) }),
    ...(packs === true && {
      packs: packEntries(
        row,
        config.packs.map(({ id }) => id),
      ),
    }),
  }
  // The redactor would take the user name out of `ssh://git@…`. No address of a marketplace has a password.
  const text = context.json ? `${JSON.stringify(added, null, 2)}\n` : yamlOf(added, row)
  context.streams.stdout.write(text)
}

/** The configuration, with a comment on each source that no commit pins. */
function yamlOf(added: { readonly sources?: readonly object[] }, { suggested }: MarketplaceRow): string {
  const document = new Document(added)
  for (const at of (added.sources ?? []).keys()) {
    const entry: unknown = document.getIn(['sources', at], true)
    if (isMap(entry) && suggested[at]?.sha === undefined)
      entry.commentBefore = ' no pin: the marketplace has no commit for it'
  }
  return document.toString()
}

/** The commit of the marketplace becomes the ref, so an added source stays at it. Without one, its ref is followed. */
function sourceEntries({ source, suggested }: MarketplaceRow, taken: readonly string[]): readonly object[] {
  const ids = new FreeIds(source, taken)
  return suggested.map(({ name, url, ref, sha, path }) => {
    const pin = sha ?? ref
    return {
      id: ids.idFor(name),
      url,
      ...(pin !== undefined && { ref: pin }),
      ...(path !== undefined && { root: path }),
    }
  })
}

function packEntries({ source, groups }: MarketplaceRow, taken: readonly string[]): readonly object[] {
  const ids = new FreeIds(source, taken)
  return groups
    .filter(({ skills }) => skills.length > 0)
    .map(({ name }) => ({ id: ids.idFor(name), include: [{ source, plugin: name }] }))
}

/** Ids with the source's id before the name of a plugin, each different from all others. */
class FreeIds {
  readonly #source: string
  readonly #taken: Set<string>

  constructor(source: string, taken: readonly string[]) {
    this.#source = source
    this.#taken = new Set(taken)
  }

  idFor(name: string): string {
    const words = [this.#source, ...name.toLowerCase().split(/[^a-z0-9]+/)].filter((word) => word !== '')
    const base = words.join('-').slice(0, MOST_ID).replace(/-$/, '')
    let id = base
    for (let next = 2; this.#taken.has(id); next += 1) id = `${base}-${next}`
    this.#taken.add(id)
    return id
  }
}

/** An id has at most 64 characters, a number at its end included. */
const MOST_ID = 58

function linesOf(row: MarketplaceRow): string[] {
  const { source, files, groups, suggested, unsupported, renames } = row
  if (files.length === 0) return [`${source} has no marketplace in the commit ${row.commit.slice(0, 12)}`]
  return [
    `${source} at ${row.commit.slice(0, 12)}: ${files.map(({ path }) => path).join(', ')}`,
    ...section('Plugins of this repository', groups.map(groupText)),
    ...section('Suggested sources, which are not fetched', suggested.map(suggestedText)),
    ...section(
      'Plugins that are not supported',
      unsupported.map(({ name, kind }) => `${name}: ${kind}`),
    ),
    ...section(
      'Renamed plugins',
      renames.map(({ from, to }) => `${from}: ${to ?? 'removed'}`),
    ),
  ]
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines.map((line) => `  ${printableLine(line)}`)]
}

function groupText({ name, version, path, skills, carried }: PluginGroup): string {
  const others = carriedText(carried)
  const notServed = others === '' ? '' : `; carries ${others}: not served`
  const label = version === undefined ? name : `${name} ${version}`
  return `${label} (${path === '' ? 'the root' : path}): ${countOf(skills.length, 'skill')}${notServed}`
}

function suggestedText({ name, url, ref, sha, path }: SuggestedSource): string {
  const parts = [url, ref, sha === undefined ? undefined : `at ${sha}`, path].filter((part) => part !== undefined)
  return `${name}: ${parts.join(', ')}`
}
