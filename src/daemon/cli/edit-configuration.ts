import { EditRefused } from '../../base/settings/edit-refused.ts'
import type { Config } from '../config/config.ts'
import { lockHolderOf } from '../control/daemon-lock.ts'
import { reloadRequest } from '../control/process-requests.ts'
import { askRunning } from '../control/running-daemon.ts'
import { absenceText, silentHolderText } from '../control/write-lock.ts'
import type { ServedConfig } from '../pull/trust/serving-policy.ts'
import { expectOwn, readForeign, writeForeign } from '../runtime/foreign-file.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import { UsageError } from '../runtime/usage-error.ts'
import type { Context } from './command.ts'

/** A change of a configuration file as text. */
export interface ConfigurationEdit {
  readonly file: string
  /** The state folder that it is used with. */
  readonly state: string
  /** The name of the command, for its error message. */
  readonly command: string
  /** Returns the new text. Throws `EditRefused`. */
  readonly edit: (text: string) => string
}

/** A change that was checked, and is not written yet. */
export interface PreparedEdit<Whole extends ServedConfig> {
  readonly config: Whole
  readonly write: () => Promise<void>
}

/**
 * Checks a change of the file. Throws `file-refused` or `bad-config` if the file cannot be edited safely, and
 * `UsageError` if the result is not a valid configuration.
 */
export async function prepareEdit<Whole extends ServedConfig>(
  { file, state, command, edit }: ConfigurationEdit,
  { environment, configuration }: Pick<Context<Whole>, 'environment' | 'configuration'>,
): Promise<PreparedEdit<Whole>> {
  const place = { path: file }
  const found = await readForeign(place)
  expectOwn(found)
  const text = edited(found.content?.text ?? '', file, edit)
  const { parseConfig } = await configuration()
  const config = parseConfig(text, file, environment, state)
  if (Array.isArray(config)) throw new UsageError(`Cannot ${command}: ${config[0]?.message ?? ''}`)
  return { config, write: async () => writeForeign(found, text, place, 0o644) }
}

/** Checks and writes a change of the file, and returns the new configuration. */
export async function editConfiguration<Whole extends ServedConfig>(
  edit: ConfigurationEdit,
  context: Context<Whole>,
): Promise<Whole> {
  const { config, write } = await prepareEdit(edit, context)
  await write()
  return config
}

function edited(text: string, file: string, edit: ConfigurationEdit['edit']): string {
  try {
    return edit(text)
  } catch (error) {
    if (!(error instanceof EditRefused)) throw error
    throw new OperatorError('bad-config', `Cannot edit "${file}": ${error.message}`, { cause: error })
  }
}

/** The notes of features about the changed sources. */
export async function sourceNotes(
  { environment, features }: Pick<Context, 'environment' | 'features'>,
  config: ServedConfig,
): Promise<readonly string[]> {
  const notes = (await features.sourceNotes()).map(async (feature) => feature.lines(config, environment))
  return (await Promise.all(notes)).flat()
}

/** Has a running daemon apply the configuration. Returns the reason why none does, which `absent` completes. */
export async function reloadDaemon(
  config: Config,
  absent: string,
  signal: AbortSignal,
): Promise<{ readonly isReloaded: boolean; readonly text: string }> {
  const holder = await lockHolderOf(config.state)
  const none = { isReloaded: false, text: `${await absenceText(config.state)}; ${absent}` }
  if (holder !== undefined && holder.command !== 'start') return none
  const answer = await askRunning(config, reloadRequest, {}, { signal, timeoutMs: RELOAD_MS }).catch(undefinedIfUnknown)
  if (answer !== undefined) return { isReloaded: true, text: 'the daemon applies it' }
  const silent = await silentHolderText(
    holder,
    'skillsyncd reload applies it when it answers again; see skillsyncd doctor if it stays silent',
  )
  return { isReloaded: false, text: silent ?? none.text }
}

/** A process that a client started may have taken the lock meanwhile. It cannot reload. */
function undefinedIfUnknown(error: unknown): undefined {
  if (error instanceof OperatorError && error.code === 'unknown-method') return undefined
  throw error
}

/** Running pulls are stopped, and get time to end. */
export const RELOAD_MS = 120_000
