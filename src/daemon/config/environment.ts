import { isAbsolute, join } from 'node:path'

/** What the daemon takes from the environment of its process. `process-environment.ts` alone reads that. */
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
  /** Where agents keep what is theirs, where they can be told to keep it elsewhere. */
  readonly agents: { readonly claude: string; readonly codex: string; readonly gemini: string }
  /** Where programs are looked up. */
  readonly path: string
  /** Nothing says that the user, or the terminal, wants no colours. */
  readonly colours: boolean
  /** The stream that leads to the journal, as the service manager names it: device and inode. */
  readonly journalStream: string | undefined
  /** What the service manager that started this process wants of it. */
  readonly manager: ManagerVariables
  /** A variable as it is now. For credentials, proxies and the PATH of programs: everything else has a name above. */
  readonly variable: (name: string) => string | undefined
}

/** The protocol of systemd; nothing of it holds where another process was meant. */
export interface ManagerVariables {
  /** Where it is told how we stand; undefined where nobody wants to know. */
  readonly notify: string | undefined
  /** It takes us for stuck when it hears nothing for so long; undefined where it does not watch. */
  readonly watchdogMs: number | undefined
  /** The names of the sockets that it listens on for us, in the order of their descriptors. */
  readonly sockets: readonly string[]
}

/** Reads what the variables say. A folder that is not absolute is taken for not set, as the XDG specification asks. */
export function environmentOf(variables: Variables, userHome: string, pid = process.pid): Environment {
  const folder = (name: string) => absolute(variables[name])
  const home = folder('HOME') ?? userHome
  return {
    home,
    configHome: folder('XDG_CONFIG_HOME') ?? join(home, '.config'),
    state: stateOf(variables, home),
    // That of the service first: of the user's, only this part may be writable.
    runtime: absolute(variables['RUNTIME_DIRECTORY']?.split(':')[0]) ?? folder('XDG_RUNTIME_DIR'),
    credentials: folder('CREDENTIALS_DIRECTORY'),
    agents: {
      claude: folder('CLAUDE_CONFIG_DIR') ?? join(home, '.claude'),
      codex: folder('CODEX_HOME') ?? join(home, '.codex'),
      gemini: join(folder('GEMINI_CLI_HOME') ?? home, '.gemini'),
    },
    path: variables['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    colours: (variables['NO_COLOR'] ?? '') === '' && variables['TERM'] !== 'dumb',
    journalStream: variables['JOURNAL_STREAM'],
    manager: managerOf(variables, pid),
    variable: (name) => variables[name],
  }
}

type Variables = Readonly<Record<string, string | undefined>>

function managerOf(variables: Variables, pid: number): ManagerVariables {
  const watched = variables['WATCHDOG_PID'] ?? String(pid)
  const watchdogMs = countIn(variables['WATCHDOG_USEC']) / 1_000
  const handed = variables['LISTEN_PID'] === String(pid) ? countIn(variables['LISTEN_FDS']) : 0
  const names = variables['LISTEN_FDNAMES']?.split(':') ?? []
  return {
    notify: variables['NOTIFY_SOCKET'] === '' ? undefined : variables['NOTIFY_SOCKET'],
    watchdogMs: watched === String(pid) && watchdogMs > 0 ? watchdogMs : undefined,
    sockets: Array.from({ length: Math.min(handed, MOST_SOCKETS) }, (_, index) => names[index] ?? ''),
  }
}

/** More than anybody has a use for. */
const MOST_SOCKETS = 64

function countIn(text: string | undefined): number {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : 0
}

/** The service manager's folder first: it alone may be writable there. It can name several, parted by colons. */
function stateOf(variables: Variables, home: string): string {
  const ofService = absolute(variables['STATE_DIRECTORY']?.split(':')[0])
  const ofUser = absolute(variables['XDG_STATE_HOME']) ?? join(home, '.local', 'state')
  return ofService ?? join(ofUser, 'skillsyncd')
}

function absolute(folder: string | undefined): string | undefined {
  return folder !== undefined && isAbsolute(folder) ? folder : undefined
}
