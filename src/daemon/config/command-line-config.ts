import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { comparePaths } from '../../sync/model/digest.ts'
import { ConfigError } from './rules/config-error.ts'
import { pastedPlace } from './schema/pasted-address.ts'
import type { RepositoryPlace } from './schema/pasted-address.ts'

/** The sources that the command line names; `state`: a state folder in place of their own. */
export interface NamedSources {
  readonly urls?: readonly string[]
  readonly folders?: readonly string[]
  readonly forms?: readonly string[]
  readonly state?: string | undefined
}

/** The named sources, with ids. */
export function sourcesNamedBy({ urls = [], folders = [] }: NamedSources): readonly NamedSource[] {
  const wanted = [
    ...urls.map(namedRepository).map((place) => [sourceIdFor(place), place] as const),
    ...folders.map((path) => [sourceIdFor({ path }), { path, links: 'follow' }] as const),
  ]
  return withUniqueIds<Place>(wanted).map(({ id, place }) => Object.assign({ id }, place))
}

/** The file that would have them, served in these forms besides the default ones. */
export function fileOfSources(sources: readonly NamedSource[], forms: readonly string[] = []): object {
  return { sources, serve: { forms: ['default', ...forms] } }
}

/** Identifies the address by its number, because the address itself may contain a secret. */
export function refusalOfSources(
  fault: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined,
  { urls: { length: count } = [] }: NamedSources,
): ConfigError {
  const index = fault?.path[1]
  if (typeof index === 'number' && index >= count)
    return new ConfigError(`Cannot use --skills-dir: folder ${index - count + 1} ${fault?.message}`)
  const which = count > 1 && typeof index === 'number' ? `address ${index + 1} of ${count}` : 'the address'
  return new ConfigError(`Cannot use --source: ${which} ${fault?.message}`)
}

/**
 * The git repository that a text on the command line names. A path on this disk has the precedence, and becomes a
 * `file:` URL.
 */
export function namedRepository(text: string): RepositoryPlace {
  if (isAbsolute(text) || /^\.\.?(?:\/|$)/.test(text) || existsSync(text))
    return { url: pathToFileURL(resolve(text)).href }
  const address = text.trim()
  return pastedPlace(address) ?? { url: address }
}

/** A folder that is named on the command line includes the skills that an installer linked there. */
type Place = RepositoryPlace | { readonly path: string; readonly links: 'follow' }
type NamedSource = { readonly id: string } & Place

/** Gives each place an id; the second place with the same id gets the suffix -2. */
function withUniqueIds<Where>(
  wanted: readonly (readonly [id: string, place: Where])[],
): { readonly id: string; readonly place: Where }[] {
  const taken = new Set<string>()
  return wanted.map(([first, place]) => {
    let id = first
    for (let number = 2; taken.has(id); number += 1) id = `${first}-${number}`
    taken.add(id)
    return { id, place }
  })
}

/**
 * The id of a source that is given none: the name of its repository or folder. A name that many have (`skills`,
 * `agent-skills`, or one with a dot first) tells nothing, so it is that of the owner or of a parent. A server is named after
 * its host.
 */
export function sourceIdFor(
  place: { readonly url: string } | { readonly path: string } | { readonly mcp: string },
): string {
  if ('mcp' in place) return idFrom(URL.parse(place.mcp)?.hostname ?? place.mcp)
  const address = 'url' in place ? place.url.replace(/^[a-z][a-z\d+.-]*:\/\//i, '') : place.path
  const names = address.split(/[/\\:]/).filter((name) => name !== '')
  return idFrom(names.findLast((name) => !COMMON_NAME.test(name)) ?? names.at(-1) ?? '')
}

const COMMON_NAME = /^(?:\..*|(?:agent-)?skills(?:\.git)?)$/i

function idFrom(name: string): string {
  const id = name
    .replace(/\.git$/i, '')
    .replaceAll(/%[0-9a-f]{2}/gi, '-')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    // Leaves room for a numeric suffix.
    .slice(0, 56)
    .replaceAll(/^-|-$/g, '')
  return id === '' ? 'source' : id
}

/** The name of the state folder of these sources. */
export function stateNameOf(sources: readonly NamedSource[]): string {
  const lines = sources
    .map((source) => `${source.id} ${'url' in source ? placeText(source) : `path ${source.path}`}\n`)
    .toSorted(comparePaths)
  return createHash('sha256').update(lines.join('')).digest('hex').slice(0, 16)
}

function placeText({ url, ref, root }: RepositoryPlace): string {
  return [url, ...(ref === undefined ? [] : [`ref ${ref}`]), ...(root === undefined ? [] : [`root ${root}`])].join(' ')
}
