import { OMITTED } from '../../../skill-md/entry-faults.ts'
import { isMapping } from '../../../../base/json-value.ts'
import type { McpConnection } from './connection.ts'

/** The extension's name in the capabilities of a server. */
const EXTENSION = 'io.modelcontextprotocol/skills'

export function declaresSkills(connection: McpConnection): boolean {
  return settingsOf(connection) !== undefined
}

/** Whether folders can be listed. The specification has it inline, and some servers below `config`. */
export function declaresFolders(connection: McpConnection): boolean {
  const settings = settingsOf(connection)
  if (!isMapping(settings)) return false
  const { directoryRead, config } = settings
  return directoryRead === true || (isMapping(config) && config['directoryRead'] === true)
}

/** True of a server that lists, by a method of ours, what its `skills/list` leaves out. */
export function declaresOmitted({ greeting }: McpConnection): boolean {
  const { extensions } = greeting.capabilities
  return isMapping(extensions) && Object.hasOwn(extensions, OMITTED)
}

/** PHP writes an empty object as a list: what it is says nothing. */
function settingsOf({ greeting }: McpConnection): unknown {
  const { extensions } = greeting.capabilities
  return isMapping(extensions) && Object.hasOwn(extensions, EXTENSION) ? extensions[EXTENSION] : undefined
}
