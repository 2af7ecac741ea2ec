import { isMapping } from '../../../base/json-value.ts'
import type { JsonObject, JsonValue } from '../../../base/json-value.ts'
import { isBelow } from '../../../base/paths.ts'
import { CARRIED_KINDS } from '../../model/marketplace.ts'
import type { Carried, CarriedKind } from '../../model/marketplace.ts'
import { isPathTexts, pathTexts, safePath } from './plugin-path.ts'

/** The parts that a manifest or an entry of a marketplace declares. All paths are relative to the plugin. */
export interface Declared {
  readonly skills: readonly string[]
  /** True if it names further skills in a way that is refused. */
  readonly isUncertain: boolean
  /** Files and folders outside of the usual places, by kind. */
  readonly files: { readonly [Kind in CarriedKind]?: readonly string[] }
  /** The numbers of parts that are written into the manifest itself. */
  readonly inline: Carried
  /** Paths that leave the plugin. */
  readonly outside: readonly string[]
}

/** Reads the declarations of a manifest or an entry. */
export function declaredIn(manifest: JsonObject): Declared {
  const outside: string[] = []
  const safe = (value: JsonValue | undefined): readonly string[] =>
    pathTexts(value).flatMap((text) => {
      const path = safePath(text)
      if (path === undefined) outside.push(text)
      return path ?? []
    })
  const files = Object.entries(USUAL_PLACES).map(([kind, usual]) => [
    kind,
    safe(manifest[kind]).filter((path) => !usual.some((place) => path === place || isBelow(path, place))),
  ])
  const { skills, hooks, mcpServers, lspServers, userConfig, experimental } = manifest
  const { monitors } = isMapping(experimental) ? experimental : manifest
  const places = safe(skills)
  return {
    skills: places,
    isUncertain: skills !== undefined && (!isPathTexts(skills) || places.length < pathTexts(skills).length),
    files: Object.fromEntries(files),
    inline: compact({
      hooks: isMapping(hooks) ? hooksIn(hooks) : 0,
      mcpServers: isMapping(mcpServers) ? serversIn(mcpServers, 'mcpServers') : 0,
      lspServers: isMapping(lspServers) ? serversIn(lspServers, 'lspServers') : 0,
      monitors: Array.isArray(monitors) ? monitors.length : 0,
      settings: isMapping(userConfig) ? Object.keys(userConfig).length : 0,
    }),
    outside,
  }
}

/** The reason why a manifest or an entry is refused that names more paths; `undefined` for all others. */
export function namesOver(most: number, manifest: JsonObject): string | undefined {
  const named = ['skills', ...Object.keys(USUAL_PLACES)].map((key) => manifest[key])
  const count = named.reduce<number>((sum, value) => sum + (Array.isArray(value) ? value.length : 0), 0)
  return count > most ? `it names ${count} paths, and at most ${most} are read` : undefined
}

/** The places that clients read without a declaration. */
export const USUAL_PLACES = {
  hooks: ['hooks/hooks.json'],
  commands: ['commands'],
  agents: ['agents'],
  mcpServers: ['.mcp.json', 'mcp.json'],
  lspServers: ['.lsp.json'],
} as const satisfies { readonly [Kind in CarriedKind]?: readonly string[] }

/** The number of hooks in a hooks file: by event, a list of hooks or of groups of hooks. */
export function hooksIn(file: JsonObject): number {
  const events = isMapping(file['hooks']) ? file['hooks'] : file
  return Object.values(events).reduce<number>((sum, event) => {
    const groups = Array.isArray(event) ? event : []
    return sum + groups.reduce<number>((hooks, group) => hooks + hooksOfGroup(group), 0)
  }, 0)
}

function hooksOfGroup(group: unknown): number {
  return isMapping(group) && Array.isArray(group['hooks']) ? group['hooks'].length : 1
}

/** The number of servers in a file: below the key, or at its top. */
export function serversIn(file: JsonObject, key: string): number {
  const below = file[key]
  return Object.values(isMapping(below) ? below : file).filter(isMapping).length
}

/** Counts each path as one part. */
export function countedPaths(files: Declared['files']): Carried {
  return compact(Object.fromEntries(Object.entries(files).map(([kind, paths]) => [kind, paths.length])))
}

/** The sums by kind. */
export function sumOf(parts: readonly Carried[]): Carried {
  return compact(
    Object.fromEntries(CARRIED_KINDS.map((kind) => [kind, parts.reduce((sum, part) => sum + (part[kind] ?? 0), 0)])),
  )
}

/** Leaves out the kinds of which there is nothing. */
function compact(carried: Carried): Carried {
  return Object.fromEntries(Object.entries(carried).filter(([, count]) => count > 0))
}
