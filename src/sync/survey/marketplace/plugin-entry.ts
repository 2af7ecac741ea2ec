import { isMapping } from '../../../base/json-value.ts'
import type { JsonObject, JsonValue } from '../../../base/json-value.ts'
import { joinPath } from '../../../base/paths.ts'
import type { Carried } from '../../model/marketplace.ts'
import { countedPaths, declaredIn, namesOver, sumOf } from './declared.ts'
import { MOST_PATH, safePath } from './plugin-path.ts'
import { quoted } from './strict-json.ts'

/** One entry of a marketplace file. */
export interface PluginEntry {
  readonly name: string
  readonly place: PluginPlace
  readonly version?: string
  /** The paths of skills in the entry, relative to the plugin. */
  readonly skills: readonly string[]
  /** True if it names further skills in a way that is refused. */
  readonly isUncertain: boolean
  readonly carried: Carried
  /** Paths in the entry that leave the plugin. */
  readonly outside: readonly string[]
}

/** The place of a plugin's files. */
export type PluginPlace =
  | { readonly kind: 'local'; readonly path: string }
  | { readonly kind: 'git'; readonly url: string; readonly ref?: string; readonly sha?: string; readonly path?: string }
  | { readonly kind: 'unsupported'; readonly as: string }

/** The entry, or the reason for its refusal. */
export type ReadEntry =
  | { readonly ok: true; readonly entry: PluginEntry }
  | { readonly ok: false; readonly why: string }

/** Reads one entry. `base` is the folder that bare names are relative to, `mostPaths` a limit on the named paths. */
export function readEntry(value: JsonValue, base: string, mostPaths: number): ReadEntry {
  if (!isMapping(value)) return refused('an entry is not an object')
  const { name, source } = value
  if (typeof name !== 'string') return refused('an entry has no name')
  if (!isPluginName(name)) return refused(`the name ${quoted(name)} is not valid`)
  const place = placeOf(source, base)
  if (typeof place === 'string') return refused(`the plugin "${name}" is refused: ${place}`)
  const tooMany = namesOver(mostPaths, value)
  if (tooMany !== undefined) return refused(`the plugin "${name}" is refused: ${tooMany}`)
  const { skills, isUncertain, files, inline, outside } = declaredIn(value)
  const version = labelIn(value)
  const carried = sumOf([inline, countedPaths(files)])
  const entry = { name, place, skills, isUncertain, carried, outside, ...(version !== undefined && { version }) }
  return { ok: true, entry }
}

/** True for a name that clients accept: it becomes part of commands, ids and folder names. */
export function isPluginName(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(text)
}

/** The version of an entry or a manifest, if it is usable as a label. */
export function labelIn({ version }: JsonObject): string | undefined {
  return typeof version === 'string' && /^[\w.+-]{1,64}$/.test(version) ? version : undefined
}

function placeOf(source: JsonValue | undefined, base: string): PluginPlace | string {
  if (typeof source === 'string') return localPlace(source, base)
  if (!isMapping(source)) return 'it has no source'
  const { source: kind, path } = source
  switch (kind) {
    case 'local':
      return typeof path === 'string' ? localPlace(path, base) : 'its source has no path'
    case 'github':
    case 'git':
    case 'url':
    case 'git-subdir':
      return gitPlace(source)
    default:
      return typeof kind === 'string'
        ? { kind: 'unsupported', as: isPluginName(kind) ? kind : 'unknown' }
        : 'its source has no kind'
  }
}

/** A bare name is one without a slash. */
function localPlace(text: string, base: string): PluginPlace | string {
  const path = safePath(text)
  if (path === undefined) return `its path ${quoted(text)} is not one in the repository`
  return { kind: 'local', path: text.includes('/') || text === '.' ? path : joinPath(base, path) }
}

function gitPlace({ source: kind, url, repo, ref, sha, path }: JsonObject): PluginPlace | string {
  const address = addressOf(url ?? repo)
  // It is not quoted: it may have a password.
  if (address === undefined) return 'its address is not one of a git repository'
  // Without its path, the plugin would be the whole repository.
  if (path === undefined && kind === 'git-subdir') return 'its source has no path'
  const folder = path === undefined ? '' : safePath(path)
  if (folder === undefined) return `its path ${quoted(path)} is not one in its repository`
  // Without a pin that is valid, the newest commit would be taken in its place.
  if (sha !== undefined && !isCommitId(sha)) return `its commit ${quoted(sha)} is not a full commit id`
  if (ref !== undefined && !isRefName(ref)) return `its ref ${quoted(ref)} is not valid`
  return {
    kind: 'git',
    url: address,
    ...(ref !== undefined && { ref }),
    ...(sha !== undefined && { sha }),
    ...(folder !== '' && { path: folder }),
  }
}

/** The address with its scheme. `owner/name` is a repository of GitHub, as in the clients. */
function addressOf(value: JsonValue | undefined): string | undefined {
  if (typeof value !== 'string' || value.length > MOST_PATH) return undefined
  // A client that parses it as a URL reaches another repository.
  if (value.split(/[/:]/).some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))) return undefined
  if (/^[\w.-]+\/[\w.-]+$/.test(value)) return `https://github.com/${value}${value.endsWith('.git') ? '' : '.git'}`
  return ADDRESS.test(value) ? value : undefined
}

/**
 * The addresses that may be suggested. `file:` and the helpers of git (`ext::`) read this machine or run programs, and
 * an address with a password would be printed and stored.
 */
const ADDRESS =
  /^(?:https?:\/\/[A-Za-z0-9[][\w.:[\]-]*\/[\w.~%/+-]+|ssh:\/\/(?:[\w.-]+@)?[A-Za-z0-9[][\w.:[\]-]*\/[\w.~%/+-]+|[\w.]+@[A-Za-z0-9][\w.-]*:[\w.~][\w.~/+-]*)$/

function isCommitId(value: JsonValue): value is string {
  return typeof value === 'string' && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(value)
}

function isRefName(value: JsonValue): value is string {
  return typeof value === 'string' && /^(?!.*\.\.)[\w][\w./+@-]{0,254}$/.test(value)
}

function refused(why: string): ReadEntry {
  return { ok: false, why }
}
