import { Document, isMap } from 'yaml'
import { countOf } from '../../base/text/plural.ts'
import { configFor, printJson, printJsonAsIs, printLines } from '../../daemon/cli/command.ts'
import type { Context, ExitStatus } from '../../daemon/cli/command.ts'
import { FreeIds, marketplaceOf, sourceEntries } from '../../daemon/cli/free-ids.ts'
import { idsOf } from '../../daemon/config/config.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { carriedText } from '../../daemon/status/marketplace-rows.ts'
import type { MarketplaceRow } from '../../daemon/status/marketplace-rows.ts'
import type { PluginGroup, SuggestedSource } from '../../sync/model/marketplace.ts'

/** Prints the plugins in the repository of a source, or entries for the configuration that are made of them. */
export async function printPlugins(context: Context): Promise<ExitStatus> {
  const config = await configFor(context)
  const { plugins: source, as } = context.values
  if (as !== undefined && as !== 'packs' && as !== 'sources') throw new UsageError('--as is packs or sources')
  const asked = { source: String(source), plugins: context.operands }
  const row = await marketplaceOf(config, asked, context.signal)
  const taken = config.packs.map(({ id }) => id)
  const added = as === 'packs' ? { packs: packEntries(row, taken) } : { sources: sourceEntries(row, idsOf(config)) }
  // The redactor would take the user name out of `ssh://git@…`. No address of a marketplace has a password.
  if (as !== undefined && context.json) printJsonAsIs(context, added)
  else if (as !== undefined) context.streams.stdout.write(yamlOf(added, row))
  else if (context.json) printJson(context, row)
  else printLines(context, linesOf(row))
  return 0
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
