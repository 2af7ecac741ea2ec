import { isMapping } from '../../../base/json-value.ts'
import { OMITTED } from '../../../sync/skill/entry-faults.ts'
import type { McpConnection } from './mcp-connection.ts'

/** The name of the extension in a server's capabilities. */
const EXTENSION = 'io.modelcontextprotocol/skills'

export function declaresSkills(connection: McpConnection): boolean {
  return settingsOf(connection) !== undefined
}

/** True if the server can list folders. The specification puts the flag inline; some servers put it below `config`. */
export function declaresFolders(connection: McpConnection): boolean {
  const settings = settingsOf(connection)
  if (!isMapping(settings)) return false
  const { directoryRead, config } = settings
  return directoryRead === true || (isMapping(config) && config['directoryRead'] === true)
}

/** True if the server offers our own method that lists the skills which `skills/list` leaves out. */
export function declaresOmitted({ greeting }: McpConnection): boolean {
  const { extensions } = greeting.capabilities
  return isMapping(extensions) && Object.hasOwn(extensions, OMITTED)
}

/** Returns the settings as sent: PHP writes an empty object as a list, so the type says nothing. */
function settingsOf({ greeting }: McpConnection): unknown {
  const { extensions } = greeting.capabilities
  return isMapping(extensions) && Object.hasOwn(extensions, EXTENSION) ? extensions[EXTENSION] : undefined
}
