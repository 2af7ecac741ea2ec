import { Document, isMap } from 'yaml'
import { countOf } from '../../base/text/plural.ts'
import { configFor, printJson, printJsonAsIs, printLines } from '../../daemon/cli/command.ts'
import type { Command, Context } from '../../daemon/cli/command.ts'
import { idsOf } from '../../daemon/config/config.ts'
import type { Config } from '../../daemon/config/config.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { carriedText } from '../../daemon/status/marketplace-rows.ts'
import type { MarketplaceRow } from '../../daemon/status/marketplace-rows.ts'
import type { PluginGroup, SuggestedSource } from '../../sync/model/marketplace.ts'
import { FreeIds, marketplaceOf, sourceEntries } from './free-ids.ts'

export const marketplaceCommand: Command = {
  name: 'marketplace',
  summary: 'Show the plugins in the repository of a source',
  operands: { text: 'SOURCE [PLUGIN…]', most: Number.POSITIVE_INFINITY, offers: ['sources', []] },
  details: `
  The sources that they suggest are shown too. Without PLUGIN, all plugins are shown. Only the served commit is read:
  no suggested source is fetched, and no configuration is written. --packs and --sources print entries for the
  configuration.
`,
  examples: ['skillsyncd marketplace team', 'skillsyncd marketplace team --sources'],
  options: {
    packs: { type: 'boolean', help: 'print a pack for each plugin with skills, as configuration' },
    sources: {
      type: 'boolean',
      help: 'print the suggested sources as configuration, each at its commit if the marketplace names one',
    },
  },
  async run(context) {
    const [named, ...plugins] = context.operands
    if (named === undefined)
      throw new UsageError('"marketplace" wants the id of a source; skillsyncd status shows them')
    const config = await configFor(context)
    print(context, await marketplaceOf(config, { source: named, plugins }, context.signal), config)
    return 0
  },
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
  if (context.json) printJsonAsIs(context, added)
  else context.streams.stdout.write(yamlOf(added, row))
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

function packEntries({ source, groups }: MarketplaceRow, taken: readonly string[]): readonly object[] {
  const ids = new FreeIds(source, taken)
  return groups
    .filter(({ skills }) => skills.length > 0)
    .map(({ name }) => ({ id: ids.idFor(name), include: [{ source, plugin: name }] }))
}

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
