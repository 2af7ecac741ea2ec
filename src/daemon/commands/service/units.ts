import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { userUnitFolder, SERVICE_UNIT } from '../../cli/user-service.ts'
import type { ListenAddress } from '../../config/config.ts'
import type { ProgramFiles } from '../../program-files.ts'

/** A file for a service manager, and the path where the manager expects it. */
export interface ServiceFile {
  readonly path: string
  readonly text: string
}

/** The program to run as a service, with its options. */
export interface Service {
  readonly program: ProgramFiles
  /** Absolute. */
  readonly config: string
  readonly state: string
  readonly http: ListenAddress
  /** The folders of agents that it keeps up to date with the catalog, absolute. */
  readonly folders: readonly string[]
}

/** The state folder of the system service: its own user can write no other folder. */
export const SYSTEM_STATE = '/var/lib/skillsyncd'

/** The folder of the units that the administrator of a system installs. */
export const SYSTEM_UNITS = '/etc/systemd/system'

/** The paths of all units that may be installed in a folder. */
export function unitPaths(folder: string): readonly string[] {
  return [SOCKET_UNIT, SERVICE_UNIT].map((name) => join(folder, name))
}

const SOCKET_UNIT = 'skillsyncd.socket'

/** The units of the system, made from the templates in `systemd/`. */
export async function systemUnits(service: Service): Promise<readonly ServiceFile[]> {
  const values = valuesOf({ ...service, state: SYSTEM_STATE })
  return unitsIn(SYSTEM_UNITS, 'skillsyncd.service', values, service)
}

/** The units of a user. The service can write only its state folder, wherever that is, and the folders that it keeps. */
export async function userUnits(service: Service, configHome: string): Promise<readonly ServiceFile[]> {
  const values = { ...valuesOf(service), ReadWritePaths: writablePaths(service) }
  return unitsIn(userUnitFolder(configHome), 'user/skillsyncd.service', values, service)
}

/** A folder that was removed must not keep the service from its start: `-` has systemd pass over it. */
function writablePaths({ state, folders }: Service): string {
  return [unitPath(state), ...folders.map((folder) => unitPath(`-${folder}`))].join(' ')
}

async function unitsIn(
  folder: string,
  template: string,
  values: Readonly<Record<string, string>>,
  { program, http }: Service,
): Promise<readonly ServiceFile[]> {
  const read = async (name: string): Promise<string> => readFile(join(program.folder, 'systemd', name), 'utf8')
  const service = { path: join(folder, SERVICE_UNIT), text: MARK + withValues(await read(template), values) }
  const address = addressText(http)
  if (address === undefined) return [service]
  const socket = withValues(await read('skillsyncd.socket'), { ListenStream: address })
  return [service, { path: join(folder, SOCKET_UNIT), text: MARK + socket }]
}

/** The comment that identifies a file as ours, so that it can be overwritten. */
export const MARK =
  '# Written by skillsyncd service install, which writes it anew: keep changes in a drop-in (systemctl edit).\n'

function valuesOf({ program, config, state }: Service): Readonly<Record<string, string>> {
  const line = (command: string): string =>
    commandLine([program.node, program.main, command, '--config', config, '--state', state])
  return {
    Documentation: `file:${encodeURI(join(program.folder, 'systemd', 'README.md')).replaceAll('%', '%%')}`,
    ExecStart: line('start'),
    ExecReload: line('reload'),
  }
}

/**
 * The address in the syntax of a socket unit; `undefined` for a host name, which systemd does not resolve, and for port
 * 0, because clients could not know the chosen port.
 */
function addressText({ host, port }: ListenAddress): string | undefined {
  const address = host === 'localhost' ? '127.0.0.1' : host
  if (port === 0 || isIP(address) === 0) return undefined
  return isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`
}

/** The text of a unit with new values for these keys. Each key must appear in it exactly once. */
function withValues(unit: string, values: Readonly<Record<string, string>>): string {
  return Object.entries(values).reduce((text, [key, value]) => {
    const line = new RegExp(`^${key}=.*$`, 'm')
    if (!line.test(text)) throw new TypeError(`The template has no ${key}=`)
    return text.replace(line, () => `${key}=${value}`)
  }, unit)
}

/** A command line of a unit. Specifiers and variables in it are escaped, so systemd does not expand them. */
export function commandLine([program = '', ...args]: readonly string[]): string {
  return [unitPath(program), ...args.map((arg) => unitPath(arg).replaceAll('$', '$$$$'))].join(' ')
}

/** A path or another word in the syntax of units. Its specifiers are escaped, and it stays one word. */
function unitPath(text: string): string {
  const plain = text.replaceAll('%', '%%')
  return /^[\w/.,:=@%+-]+$/.test(plain) ? plain : `"${plain.replaceAll(/["\\]/g, String.raw`\$&`)}"`
}
