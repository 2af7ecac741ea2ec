import { EditRefused } from '../../base/settings/edit-refused.ts'
import type { Config } from '../config/config.ts'
import { readForeign, writeForeign } from '../runtime/foreign-file.ts'
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

/**
 * Writes the file, and returns the new configuration. Throws `file-refused` or `bad-config` if the file cannot be edited
 * safely, and `UsageError` if the result is not a valid configuration: nothing is written then.
 */
export async function editConfiguration(
  { file, state, command, edit }: ConfigurationEdit,
  { environment, configuration }: Context,
): Promise<Config> {
  const place = { path: file }
  const found = await readForeign(place)
  const text = edited(found.content?.text ?? '', file, edit)
  const { parseConfig } = await configuration()
  const config = parseConfig(text, file, environment, state)
  if (Array.isArray(config)) throw new UsageError(`Cannot ${command}: ${config[0]?.message ?? ''}`)
  await writeForeign(found, text, place, 0o644)
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
