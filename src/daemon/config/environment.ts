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
  /** Started by a service manager. */
  readonly service: boolean
  /** What is written to stderr goes to the journal. */
  readonly journal: boolean
  /** The socket on which the service manager wants to be told how we are. */
  readonly notifySocket: string | undefined
  /** How often it wants to hear that we live, if at all. */
  readonly watchdogMs: number | undefined
  readonly color: boolean
  /** Run by a build, where nobody watches. */
  readonly build: boolean
  /** A variable as it is now. For credentials alone: everything else has a name above. */
  readonly variable: (name: string) => string | undefined
}

/** Reads what the variables say. A folder that is not absolute is taken for not set, as the XDG specification asks. */
export function environmentOf(variables: Readonly<Record<string, string | undefined>>, userHome: string): Environment {
  const folder = (name: string) => absolute(variables[name])
  const isSet = (name: string) => (variables[name] ?? '') !== ''
  const home = folder('HOME') ?? userHome
  const watchdogUs = Number(variables['WATCHDOG_USEC'])
  return {
    home,
    configHome: folder('XDG_CONFIG_HOME') ?? join(home, '.config'),
    state: stateOf(variables, home),
    runtime: folder('XDG_RUNTIME_DIR'),
    credentials: folder('CREDENTIALS_DIRECTORY'),
    service: isSet('INVOCATION_ID'),
    journal: isSet('JOURNAL_STREAM'),
    notifySocket: isSet('NOTIFY_SOCKET') ? variables['NOTIFY_SOCKET'] : undefined,
    watchdogMs: watchdogUs > 0 ? watchdogUs / 1000 : undefined,
    color: !isSet('NO_COLOR') && variables['TERM'] !== 'dumb',
    build: isSet('CI'),
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
