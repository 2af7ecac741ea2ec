import { isAbsolute, join } from 'node:path'

/** What the daemon takes from the environment of its process. `config.ts` alone reads that. */
export interface Environment {
  readonly home: string
  /** The folder of all of the user's configurations. */
  readonly configHome: string
  /** Where the state lies if nothing else is said. */
  readonly state: string
  /** The user's folder for sockets, if there is one. */
  readonly runtime: string | undefined
  /** The folder of the credentials that the service manager hands over. */
  readonly credentials: string | undefined
  /** Where programs are looked up. */
  readonly path: string
  /** What is written to stderr goes to the journal. */
  readonly journal: boolean
  /** A variable as it is now. For credentials, proxies and the PATH of programs: everything else has a name above. */
  readonly variable: (name: string) => string | undefined
}

/** Reads what the variables say. A folder that is not absolute is taken for not set, as the XDG specification asks. */
export function environmentOf(variables: Readonly<Record<string, string | undefined>>, userHome: string): Environment {
  const folder = (name: string) => absolute(variables[name])
  const home = folder('HOME') ?? userHome
  return {
    home,
    configHome: folder('XDG_CONFIG_HOME') ?? join(home, '.config'),
    state: stateOf(variables, home),
    runtime: folder('XDG_RUNTIME_DIR'),
    credentials: folder('CREDENTIALS_DIRECTORY'),
    path: variables['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    journal: (variables['JOURNAL_STREAM'] ?? '') !== '',
    variable: (name) => variables[name],
  }
}

/** The service manager's folder first: it alone may be writable there. It can name several, parted by colons. */
function stateOf(variables: Readonly<Record<string, string | undefined>>, home: string): string {
  const ofService = absolute(variables['STATE_DIRECTORY']?.split(':')[0])
  const ofUser = absolute(variables['XDG_STATE_HOME']) ?? join(home, '.local', 'state')
  return ofService ?? join(ofUser, 'skillsyncd')
}

function absolute(folder: string | undefined): string | undefined {
  return folder !== undefined && isAbsolute(folder) ? folder : undefined
}
