import type { JsonObject } from '../../../base/json-value.ts'
import { isMapping, isTexts } from '../../../base/json-value.ts'
import { printable } from '../../../base/text/printable.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import type { ConnectionOptions } from './address.ts'
import { Unanswered } from './channel.ts'
import type { JsonRpcConnection } from './json-rpc-connection.ts'
import type { Reply } from './message.ts'

/** The server's statements about itself. Never used as its identity. */
export interface ServerInfo {
  readonly era: 'modern' | 'legacy'
  readonly version: string
  readonly capabilities: JsonObject
  readonly instructions: string | undefined
}

/** The only supported version of the modern era. */
const MODERN = '2026-07-28'

/**
 * Detects a server of the modern era and returns its greeting. `older`: it speaks the legacy era. `mute`: it gave no
 * answer; a program cannot be used after that.
 */
export async function discoverServer(
  dialogue: JsonRpcConnection,
  { limits, version }: ConnectionOptions,
  signal: AbortSignal,
): Promise<ServerInfo | 'older' | 'mute'> {
  dialogue.wrap(envelope(version))
  try {
    const reply = await dialogue.ask('server/discover', {}, { totalMs: limits.connectMs }, signal)
    const greeting = reply.ok
      ? greetingIn(reply.result, dialogue.channel.name)
      : refusalIn(reply, dialogue.channel.name)
    if (greeting === 'older') dialogue.wrap(undefined)
    return greeting
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error
    dialogue.wrap(undefined)
    return 'mute'
  }
}

/** Opens a session with a server of the legacy era. */
export async function initialize(
  dialogue: JsonRpcConnection,
  { version: ours }: ConnectionOptions,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ServerInfo> {
  const { LATEST_PROTOCOL_VERSION, SUPPORTED_PROTOCOL_VERSIONS } = await import('@modelcontextprotocol/client')
  const params = {
    protocolVersion: LATEST_PROTOCOL_VERSION,
    capabilities: {},
    clientInfo: { name: NAME, version: ours },
  }
  const what = `Cannot open a session with "${dialogue.channel.name}"`
  const reply = await dialogue.ask('initialize', params, { totalMs: timeoutMs }, signal)
  if (!reply.ok) throw new SyncError('unsupported', `${what}: it answers ${printableReply(reply)}`)
  const offered = reply.result['protocolVersion']
  if (typeof offered !== 'string' || !SUPPORTED_PROTOCOL_VERSIONS.includes(offered)) {
    const version =
      typeof offered === 'string' ? `version ${printable(offered.slice(0, 80))}` : 'a version that is not text'
    throw new SyncError('unsupported', `${what}: it speaks ${version}`)
  }
  dialogue.channel.speak(offered)
  await dialogue.tell('notifications/initialized', {}, signal)
  return { era: 'legacy', version: offered, ...saidIn(reply.result) }
}

const NAME = 'skillsyncd'

/**
 * Returns the metadata of each request in the modern era. This client has no capabilities: no elicitation, no sampling,
 * no roots.
 */
function envelope(version: string): JsonObject {
  return {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: NAME, version },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
}

function greetingIn(result: JsonObject, name: string): ServerInfo | 'older' {
  const { supportedVersions, capabilities } = result
  // A server that answers any request gives no sign of its era.
  if (supportedVersions === undefined && capabilities === undefined) return 'older'
  const versions = isTexts(supportedVersions) ? supportedVersions : [MODERN]
  if (!versions.includes(MODERN)) return olderAmong(versions, name)
  return { era: 'modern', version: MODERN, ...saidIn(result) }
}

function refusalIn(reply: Reply & { readonly ok: false }, name: string): 'older' {
  const { code, data } = reply
  if (code === UNSUPPORTED_VERSION)
    return olderAmong(isMapping(data) && isTexts(data['supported']) ? data['supported'] : [], name)
  if (code !== HEADER_MISMATCH && code !== MISSING_CAPABILITY) return 'older'
  throw new SyncError(
    'unsupported',
    `Cannot reach "${name}": it speaks version ${MODERN}, and answers ${printableReply(reply)}`,
  )
}

const HEADER_MISMATCH = -32020
const MISSING_CAPABILITY = -32021
const UNSUPPORTED_VERSION = -32022

/**
 * Returns `older` if the server names only older versions. Throws if it names a newer one: such a server must not be
 * downgraded.
 */
function olderAmong(versions: readonly string[], name: string): 'older' {
  if (versions.length > 0 && versions.every((version) => version < MODERN)) return 'older'
  const offered = versions.length === 0 ? 'none' : printable(versions.join(', '))
  throw new SyncError('unsupported', `Cannot reach "${name}": it refuses version ${MODERN}, and offers ${offered}`)
}

function saidIn({ capabilities, instructions }: JsonObject): Pick<ServerInfo, 'capabilities' | 'instructions'> {
  return {
    // PHP writes an empty map as a list.
    capabilities: isMapping(capabilities) ? capabilities : {},
    instructions: typeof instructions === 'string' ? instructions : undefined,
  }
}

function printableReply({ code, message }: Reply & { readonly ok: false }): string {
  return message === '' ? String(code) : `${code} "${printable(message)}"`
}
