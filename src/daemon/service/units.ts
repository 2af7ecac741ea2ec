import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { ListenAddress } from '../config/config.ts'
import type { ProgramFiles } from '../program-files.ts'
import { commandLine, unitPath, withValues } from './unit-text.ts'

/** A file for a service manager, and where that looks for it. */
export interface ServiceFile {
  readonly path: string
  readonly text: string
}

/** What is to run as a service, and how. */
export interface Service {
  readonly program: ProgramFiles
  /** Absolute. */
  readonly config: string
  readonly state: string
  readonly http: ListenAddress
}

/** The state of the system's service: a user of its own has no other place. */
export const SYSTEM_STATE = '/var/lib/skillsyncd'

/** The units of the system, made from the templates in `systemd/`. */
export async function systemUnits(service: Service): Promise<readonly ServiceFile[]> {
  const values = valuesOf({ ...service, state: SYSTEM_STATE })
  return unitsIn('/etc/systemd/system', 'skillsyncd.service', values, service)
}

/** Those of a user. What the service may write is its state alone, wherever that is. */
export async function userUnits(service: Service, configHome: string): Promise<readonly ServiceFile[]> {
  const values = { ...valuesOf(service), ReadWritePaths: unitPath(service.state) }
  return unitsIn(join(configHome, 'systemd', 'user'), 'user/skillsyncd.service', values, service)
}

async function unitsIn(
  folder: string,
  template: string,
  values: Readonly<Record<string, string>>,
  { program, http }: Service,
): Promise<readonly ServiceFile[]> {
  const read = async (name: string): Promise<string> => readFile(join(program.folder, 'systemd', name), 'utf8')
  const service = { path: join(folder, 'skillsyncd.service'), text: MARK + withValues(await read(template), values) }
  const address = addressText(http)
  if (address === undefined) return [service]
  const socket = withValues(await read('skillsyncd.socket'), { ListenStream: address })
  return [service, { path: join(folder, 'skillsyncd.socket'), text: MARK + socket }]
}

/** By which a file is known to be ours, and may be written again. */
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

/** As a socket unit has it; undefined for a name, which it cannot look up, and for any free port, which nobody could know. */
function addressText({ host, port }: ListenAddress): string | undefined {
  const address = host === 'localhost' ? '127.0.0.1' : host
  if (port === 0 || isIP(address) === 0) return undefined
  return isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`
}
