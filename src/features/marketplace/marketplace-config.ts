import { z } from 'zod'
import { matcher } from '../../base/globs.ts'
import { isObject } from '../../base/json-object.ts'
import { isWindowsDevice } from '../../base/paths.ts'
import { hasMatch } from '../../daemon/config/rules/auth-rules.ts'
import type { Fault, KeyPath } from '../../daemon/config/rules/config-error.ts'
import { withDefaults } from '../../daemon/config/rules/defaults.ts'
import { entriesAt, idsAt, valueAt } from '../../daemon/config/rules/entries.ts'
import { line, mapping } from '../../daemon/config/schema/scalars.ts'

/** The marketplace in the configuration. */
export interface MarketplaceSettings {
  readonly serve: { readonly marketplace: MarketplaceConfig | undefined }
}

/** The operator's configuration of the plugin marketplace. */
export interface MarketplaceConfig {
  /** The name by which clients know the marketplace: they refuse another one later. */
  readonly name: string
  /** The name of the organization. */
  readonly owner: string
  readonly description: string
  /** The name of the plugin with the skills that are in no pack. */
  readonly plugin: string
  /** The names of earlier plugins: each is served without skills, because clients keep a plugin that vanishes. */
  readonly retired: readonly string[]
  /** The old names of plugins, with the new ones. */
  readonly renames: Readonly<Record<string, string>>
}

function pluginName(): z.ZodString {
  return z
    .string()
    .max(64)
    .refine(
      isServedPluginName,
      'must be 1 to 64 of a-z, 0-9 and single inner hyphens, and not the name of a Windows device',
    )
}

/** The key of the marketplace in `serve`. */
export const MARKETPLACE_KEYS = {
  marketplace: mapping(() => ({
    name: pluginName()
      .refine((name) => !isReservedName(name), 'is a name that Claude Code refuses; use one of your organization')
      .describe('Its name. It is permanent: clients refuse a changed name.'),
    owner: line(200).optional().describe('The name of your organization. Default: that of the marketplace.'),
    description: line(1_024).optional().describe('The description that clients show. Default: Agent Skills.'),
    plugin: pluginName().default('skills').describe('The plugin with the skills that are in no pack.'),
    retired: z.array(pluginName()).optional().describe('Removed packs, whose skills some clients keep otherwise.'),
    renames: z
      .record(pluginName(), pluginName())
      .optional()
      .describe('The former names of packs, each with the current name.'),
  }))
    .transform(({ owner, description = 'Agent Skills', retired = [], renames = {}, ...entry }): MarketplaceConfig => ({
      ...entry,
      owner: owner ?? entry.name,
      description,
      retired,
      renames,
    }))
    .optional()
    .describe('/marketplace.git, a git remote with a plugin for each pack.'),
}

/** Each plugin has one name that clients take, and each old name leads to a plugin that is served. */
export function marketplaceFaults(value: unknown): Fault[] {
  const entry = valueAt(valueAt(value, 'serve'), 'marketplace')
  if (!isObject(entry)) return []
  const path = ['serve', 'marketplace']
  const packs = idsAt(value, 'packs')
  const { plugin = 'skills' } = entry
  const served = new Set([...packs, ...(typeof plugin === 'string' ? [plugin] : [])])
  return [
    ...(packs.some((id) => id === plugin)
      ? [{ path: [...path, 'plugin'], message: 'is also the id of a pack; they must differ' }]
      : []),
    ...packNameFaults(entry['name'], packs, [...path, 'name']),
    ...retiredFaults(entriesAt(entry, 'retired'), served, [...path, 'retired']),
    ...renameFaults(entry['renames'], served, [...path, 'renames']),
  ]
}

/** The marketplace of one pack is named after both. */
function packNameFaults(name: unknown, packs: readonly string[], path: KeyPath): Fault[] {
  if (typeof name !== 'string') return []
  return packs.flatMap((id): Fault[] => {
    const whole = `${name}-${id}`
    if (!isServedPluginName(id)) return [{ path, message: `cannot have the pack "${id}": it is a device of Windows` }]
    if (whole.length > MOST_NAME)
      return [{ path, message: `makes a name of over ${MOST_NAME} characters with the pack "${id}"` }]
    return isReservedName(whole)
      ? [{ path, message: `makes "${whole}" with the pack "${id}", a name that Claude Code refuses` }]
      : []
  })
}

function retiredFaults(retired: readonly unknown[], served: ReadonlySet<string>, path: KeyPath): Fault[] {
  return retired.flatMap((old, index): Fault[] => {
    if (typeof old !== 'string') return []
    if (served.has(old)) return [{ path: [...path, index], message: 'is served; a retired plugin is not' }]
    return retired.indexOf(old) === index ? [] : [{ path: [...path, index], message: 'is there twice' }]
  })
}

function renameFaults(renames: unknown, served: ReadonlySet<string>, path: KeyPath): Fault[] {
  if (!isObject(renames)) return []
  const after = new Map(Object.entries(renames))
  return [...after.keys()].flatMap((old): Fault[] => {
    if (served.has(old)) return [{ path: [...path, old], at: 'key', message: 'is served under this name' }]
    let now: unknown = old
    for (let steps = 0; typeof now === 'string' && after.has(now) && steps <= after.size; steps += 1)
      now = after.get(now)
    if (typeof now !== 'string' || served.has(now)) return []
    return [{ path: [...path, old], message: 'names no plugin: neither a pack nor `plugin`' }]
  })
}

/** Reports each choice by `plugin` that can match no source with `marketplace: true`: it would choose nothing. */
export function pluginFaults(value: unknown): Fault[] {
  const defaults = entriesAt(value, 'defaults').filter(hasMatch)
  const ids = entriesAt(value, 'sources').flatMap((source) => (hasMarketplace(source, defaults) ? [source['id']] : []))
  return entriesAt(value, 'packs').flatMap((pack, index) =>
    ['include', 'exclude'].flatMap((key) =>
      entriesAt(pack, key).flatMap((choice, at): Fault[] => {
        if (!isObject(choice) || typeof choice['plugin'] !== 'string') return []
        const { source = '**' } = choice
        // The schema reports any other glob.
        if (typeof source !== 'string' || source === '' || source.length > MOST_GLOB) return []
        const isMatch = matcher([source])
        if (ids.some((id) => typeof id === 'string' && isMatch(id))) return []
        const message = 'needs a source with `marketplace: true` that the entry can match'
        return [{ path: ['packs', index, key, at, 'plugin'], at: 'key', message }]
      }),
    ),
  )
}

function hasMarketplace(
  source: unknown,
  defaults: Parameters<typeof withDefaults>[2],
): source is Readonly<Record<string, unknown>> {
  if (!isObject(source) || source['enabled'] === false || Object.hasOwn(source, 'mcp')) return false
  const { url } = source
  const said: { readonly marketplace?: unknown } = withDefaults(source, typeof url === 'string' ? url : '', defaults)
  return said.marketplace === true
}

/** The limit of the schema on the glob. */
const MOST_GLOB = 200

/** True for a name that every client of marketplaces takes: with another one, Copilot refuses the whole marketplace. */
function isServedPluginName(name: string): boolean {
  return name.length <= MOST_NAME && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name) && !isWindowsDevice(name)
}

/** True for a name that Claude Code takes from its maker alone, or gives a meaning of its own. */
function isReservedName(name: string): boolean {
  return RESERVED.has(name) || name.startsWith('claudeai-')
}

/** The limit of the clients for the names of plugins and marketplaces. */
const MOST_NAME = 64

const RESERVED: ReadonlySet<string> = new Set([
  'agent-skills',
  'anthropic-agent-skills',
  'anthropic-marketplace',
  'anthropic-plugin-directory',
  'anthropic-plugins',
  'builtin',
  'claude-code-marketplace',
  'claude-code-plugins',
  'claude-community',
  'claude-for-financial-services',
  'claude-for-legal',
  'claude-plugin-directory',
  'claude-plugins-community',
  'claude-plugins-official',
  'claude-tag-plugins',
  'financial-services-plugins',
  'first-party-plugins',
  'github',
  'healthcare',
  'inline',
  'knowledge-work-plugins',
  'life-sciences',
  'npm',
  'skills-dir',
  'synced',
])
