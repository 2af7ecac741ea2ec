import { join } from 'node:path'
import { EditRefused } from '../../../base/settings/edit-refused.ts'
import { withMembers } from '../../../base/settings/jsonc-edit.ts'
import { withNetrcToken } from '../../../base/settings/netrc-edit.ts'
import type { SettingsEdit } from '../../../base/settings/settings-edit.ts'
import { withTables } from '../../../base/settings/toml-edit.ts'
import { shellWord } from '../../../base/text/shell-word.ts'
import type { Environment } from '../../../daemon/config/environment.ts'
import { readForeign } from '../../../daemon/runtime/foreign-file.ts'
import type { ForeignFile, ForeignFilePlace } from '../../../daemon/runtime/foreign-file.ts'
import { OperatorError } from '../../../daemon/runtime/operator-error.ts'
import type { EnrolledAgent, EnrolledSettings, MarketplaceAddress } from './enrollment.ts'

/** A file that enrolls an agent, or gives git the token. */
export interface EnrolledFile {
  readonly title: string
  /** The command that writes it. */
  readonly command: string
  readonly place: ForeignFilePlace
  /** The mode of a new file. */
  readonly mode: number
  /** Throws `EditRefused`. */
  readonly edit: (text: string) => SettingsEdit
}

/** The machine and its user. `root`: the folder of an image, for the files of an organization. */
export interface EnrolledMachine {
  readonly environment: Environment
  readonly platform: NodeJS.Platform
  readonly root: string | undefined
}

/** The user's file of an agent; `undefined` if none is known to work on this system. */
export function personFile(
  { id, title, settings }: EnrolledAgent,
  marketplace: MarketplaceAddress,
  machine: EnrolledMachine,
): EnrolledFile | undefined {
  const path = PERSON_PATHS.get(id)?.(machine)
  if (settings === undefined || path === undefined) return undefined
  return {
    title,
    command: `skillsyncd hub enroll ${id} --write`,
    place: { path },
    mode: 0o600,
    edit: editOf(settings(marketplace)),
  }
}

const PERSON_PATHS: ReadonlyMap<string, (machine: EnrolledMachine) => string | undefined> = new Map([
  ['claude-code', ({ environment }) => join(environment.agents.claude, 'settings.json')],
  ['codex', ({ environment }) => join(environment.agents.codex, 'config.toml')],
  ['vscode', ({ environment, platform }) => vscodePath(environment, platform)],
])

function vscodePath({ home, configHome }: Environment, platform: NodeJS.Platform): string | undefined {
  const file = join('Code', 'User', 'settings.json')
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', file)
  return platform === 'linux' ? join(configHome, file) : undefined
}

/** The files of an agent for all users of a Linux machine. */
export function organizationFiles(
  { id, title, organization }: EnrolledAgent,
  marketplace: MarketplaceAddress,
  { root }: EnrolledMachine,
): readonly EnrolledFile[] {
  return (organization?.(marketplace) ?? []).map(({ path, settings }) => ({
    title,
    command: [
      'skillsyncd hub enroll',
      id,
      '--organization --write',
      ...(root === undefined ? [] : ['--root', shellWord(root)]),
    ].join(' '),
    place: root === undefined ? { path } : { path: join(root, path), within: root },
    mode: 0o644,
    edit: editOf(settings),
  }))
}

/** The file from which git takes the token. */
export function netrcFile({ url }: MarketplaceAddress, token: string, { home }: Environment): EnrolledFile {
  const { hostname } = new URL(url)
  return {
    title: 'git',
    command: 'skillsyncd hub enroll AGENT --write --token-file FILE',
    place: netrcPlace(home),
    mode: 0o600,
    edit: (text) => withNetrcToken(text, hostname, token),
  }
}

export function netrcPlace(home: string): ForeignFilePlace {
  return { path: join(home, '.netrc'), isPrivate: true }
}

function editOf(settings: EnrolledSettings): EnrolledFile['edit'] {
  return settings.format === 'json'
    ? (text) => withMembers(text, settings.members)
    : (text) => withTables(text, settings.tables)
}

/** A file as it is, and as it is to be. */
export interface PlannedFile {
  readonly file: EnrolledFile
  readonly found: ForeignFile
  readonly edit: SettingsEdit
}

/** Reads a file and edits its text. Throws `file-refused` if one of the two is refused. */
export async function planFile(file: EnrolledFile): Promise<PlannedFile> {
  const found = await readForeign(file.place)
  try {
    return { file, found, edit: file.edit(found.content?.text ?? '') }
  } catch (error) {
    if (!(error instanceof EditRefused)) throw error
    throw new OperatorError('file-refused', `Cannot edit "${file.place.path}": ${error.message}`, { cause: error })
  }
}
