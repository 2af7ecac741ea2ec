import type { JsonValue } from '../../base/json-value.ts'
import { withItems, withoutItems } from '../../base/settings/yaml-edit.ts'
import type { Context } from '../../daemon/cli/command.ts'
import { prepareEdit } from '../../daemon/cli/edit-configuration.ts'
import type { PreparedEdit } from '../../daemon/cli/edit-configuration.ts'
import { userService } from '../../daemon/cli/user-service.ts'
import { ifHomeIsKnown } from '../../daemon/config/environment.ts'
import type { Environment } from '../../daemon/config/environment.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { futurePath } from '../../daemon/runtime/resolve-path.ts'
import { whyNot } from './apply-plan.ts'
import { pathOfKept } from './link-config.ts'
import type { KeptFolder, LinkingConfig, LinkSettings } from './link-config.ts'
import { namedFolderOf } from './link-record.ts'
import type { LinkPlace } from './link-target.ts'

/** A configuration that was read from a file. */
export type FileConfig = LinkingConfig & { readonly file: string }

/** True for a configuration that has a file. */
export function hasFile(config: LinkingConfig): config is FileConfig {
  return config.file !== undefined
}

/** Prepares to name these folders in `links`. `undefined` if all are named there, in this form. */
export async function withKept(
  places: readonly LinkPlace[],
  copies: boolean,
  config: FileConfig,
  context: Context<LinkingConfig>,
): Promise<PreparedEdit<LinkingConfig> | undefined> {
  const there = await Promise.all(places.map(async (place) => indexesOf(place, config, context.environment)))
  const isAsWanted = (at: number): boolean => config.links[at]?.copies === copies
  const missing = places.filter((_, at) => !there[at]?.some(isAsWanted))
  if (missing.length === 0) return undefined
  const outdated = there.flat().filter((at) => !isAsWanted(at))
  const items = missing.map((place) => ({ value: entryOf(place, copies) }))
  const edit = (text: string): string => withItems(withoutEntries(text, outdated), 'links', items)
  const { file, state } = config
  return prepareEdit({ file, state, command: 'link', edit }, context).catch(withOnce)
}

/** The error with the way that writes no configuration. */
function withOnce(cause: unknown): never {
  if (!(cause instanceof OperatorError)) throw cause
  throw new OperatorError(cause.code, `${cause.message}; skillsyncd link --once installs without it`, { cause })
}

/** Prepares to take these folders out of `links`, or all. `undefined` if none is named there. */
export async function withoutKept(
  places: readonly LinkPlace[] | 'all',
  config: FileConfig,
  context: Context<LinkingConfig>,
): Promise<PreparedEdit<LinkingConfig> | undefined> {
  const { links, file, state } = config
  const found =
    places === 'all'
      ? [...links.keys()]
      : (await Promise.all(places.map(async (place) => indexesOf(place, config, context.environment)))).flat()
  if (found.length === 0) return undefined
  return prepareEdit({ file, state, command: 'link', edit: (text) => withoutEntries(text, found) }, context)
}

function withoutEntries(text: string, gone: readonly number[]): string {
  if (gone.length === 0) return text
  return withoutItems(text, {
    key: 'links',
    isRemoved: (_, index) => gone.includes(index),
    isOwnComment: () => false,
  })
}

/** True if `links` names one of these folders. */
export async function isNamedInLinks(
  places: readonly LinkPlace[],
  config: LinkSettings,
  environment: Environment,
): Promise<boolean> {
  const there = await Promise.all(places.map(async (place) => indexesOf(place, config, environment)))
  return there.flat().length > 0
}

/** The entries of `links` for a place, by their order in the file. */
async function indexesOf(
  place: LinkPlace,
  { links }: LinkSettings,
  environment: Environment,
): Promise<readonly number[]> {
  const matches = await Promise.all(links.map(async (kept) => isKeptAt(kept, place, environment)))
  return [...links.keys()].filter((at) => matches[at])
}

/** A folder that is named by its path is meant whatever agent reads it. */
async function isKeptAt(kept: KeptFolder, { use, path }: LinkPlace, environment: Environment): Promise<boolean> {
  if (namedFolderOf(use) === undefined) return 'agent' in kept && kept.agent === use.agent && use.project === undefined
  const folder = ifHomeIsKnown(() => pathOfKept(kept, environment))
  return folder !== undefined && (await futurePath(folder).catch(whyNot)) === path
}

function entryOf({ use, path }: LinkPlace, copies: boolean): JsonValue {
  const copy = copies && { copy: true }
  if (namedFolderOf(use) !== undefined) return { to: path, ...copy }
  return copies ? { agent: use.agent, copy: true } : use.agent
}

/** The sentence about folders that the sandbox of the installed service of this user does not let it write. */
export async function sandboxText({ links }: LinkSettings, environment: Environment): Promise<string | undefined> {
  const unit = process.platform === 'darwin' ? undefined : await userService(environment)
  const isClosed = links.some((kept) => unit?.includes(pathOfKept(kept, environment)) === false)
  return isClosed
    ? 'The installed service may not write there yet: skillsyncd service install --user --now lets it'
    : undefined
}
