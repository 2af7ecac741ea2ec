import { createHash } from 'node:crypto'
import { isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { comparePaths } from '../../sync/model/digest.ts'
import type { Environment } from './environment.ts'
import { READING } from './error-messages.ts'
import { ConfigError } from './config-error.ts'
import { ruleFaults } from './cross-key-rules.ts'
import { CONFIG } from './schema.ts'
import { configOf } from './normalize.ts'
import { processEnvironment } from './process-environment.ts'
import type { Config } from './config.ts'

/**
 * The configuration of `start --source URL` and `mcp --skills-dir DIR`: no file, ids made from addresses and paths, and a
 * state folder of its own, named by what the sources are, so that two sets of them never overwrite each other. The folders
 * are absolute.
 */
export function configOfSources(
  urls: readonly string[],
  environment: Environment = processEnvironment(),
  folders: readonly string[] = [],
  forms: readonly Form[] = [],
): Config {
  const repositories = urls.map(addressOf).map((url) => [idFrom(url), { url }] as const)
  const wanted = [...repositories, ...folders.map((path) => [idOfFolder(path), { path, links: 'follow' }] as const)]
  const sources = named<Place>(wanted).map(({ id, place }): NamedSource => Object.assign({ id }, place))
  const file = CONFIG.safeParse(
    { sources: sources.map((source) => ({ ...source, ...ofSource(forms) })), ...ofAll(forms) },
    READING,
  )
  const [fault] = [...(file.error?.issues ?? []), ...ruleFaults({ sources })]
  if (fault !== undefined || !file.success) throw new ConfigError(messageOf(fault, urls.length))
  const config = configOf(file.data, 'unused', environment)
  return {
    ...config,
    file: undefined,
    lock: undefined,
    state: join(environment.state, 'adhoc', nameOf(sources, forms)),
  }
}

/** Forms beside the usual ones in which sources of the command line can be served. */
export const FORMS = ['contract', 'archives', 'files', 'synthetic'] as const
export type Form = (typeof FORMS)[number]

export function isForm(text: string): text is Form {
  return FORMS.some((form) => form === text)
}

function ofSource(forms: readonly Form[]): object {
  return {
    ...(forms.includes('contract') && { contract: true }),
    ...(forms.includes('archives') && { archives: ['tar.gz', 'zip'] }),
  }
}

/** `files`: each file is in `resources/list`. `synthetic`: so is what is made by us, the index among it. */
function ofAll(forms: readonly Form[]): object {
  const resources = {
    ...(forms.includes('files') && { list: 'files' }),
    ...(forms.includes('synthetic') && { synthetic: 'list' }),
  }
  return Object.keys(resources).length === 0 ? {} : { serve: { resources } }
}

/** The address itself may hold a secret, so it is told by its number. */
function messageOf(
  fault: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined,
  count: number,
) {
  const index = fault?.path[1]
  if (typeof index === 'number' && index >= count)
    return `Cannot use --skills-dir: folder ${index - count + 1} ${fault?.message}`
  const which = count > 1 && typeof index === 'number' ? `address ${index + 1} of ${count}` : 'the address'
  return `Cannot use --source: ${which} ${fault?.message}`
}

/** A path of this disk is the address of the git repository there. */
export function addressOf(text: string): string {
  return isAbsolute(text) || /^\.\.?(?:\/|$)/.test(text) ? pathToFileURL(resolve(text)).href : text
}

/** A folder that is named on the command line includes the skills that an installer linked there. */
type Place = { readonly url: string } | { readonly path: string; readonly links: 'follow' }
type NamedSource = { readonly id: string } & Place

/** Each place with an id: the second that wants the same one gets -2. */
export function named<Where>(
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

/** By its name; of folders that are all called alike, such as `…/project/.claude/skills`, by that of the one they are in. */
function idOfFolder(path: string): string {
  const telling = path.split('/').filter((name) => name !== '' && !name.startsWith('.') && name !== 'skills')
  return idFrom(telling.at(-1) ?? 'skills')
}

/** From the last part of an address. */
export function idFrom(url: string): string {
  const last =
    url
      .replace(/[/\\]+$/, '')
      // The repository itself, as the folder of it has it.
      .replace(/[/\\]\.git$/i, '')
      .split(/[/\\:]/)
      .at(-1) ?? ''
  const id = last
    .replace(/\.git$/i, '')
    .replaceAll(/%[0-9a-f]{2}/gi, '-')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    // Room for a number behind it.
    .slice(0, 56)
    .replaceAll(/^-|-$/g, '')
  return id === '' ? 'source' : id
}

/** A source that is held to the contract is read otherwise: what was stored of it without the contract is not served first. */
function nameOf(sources: readonly NamedSource[], forms: readonly Form[]): string {
  const lines = sources
    .map((source) => `${source.id} ${'url' in source ? source.url : `path ${source.path}`}\n`)
    .toSorted(comparePaths)
  return createHash('sha256')
    .update([...lines, ...forms.filter((form) => form === 'contract')].join(''))
    .digest('hex')
    .slice(0, 16)
}
