import { isAbsolute, join } from 'node:path'
import { OperatorError } from '../runtime/operator-error.ts'

/**
 * The parts of the process environment that the daemon uses. Only `process-environment.ts` reads them. A folder below
 * the home throws an `OperatorError` where no home is known, so that only a command that needs one fails.
 */
export interface Environment extends UserFolders {
  /** The variable HOME of programs that this one starts; no variable where no home is known. */
  readonly homeVariable: { readonly HOME?: string }
  /** The default state folder. */
  readonly state: string
  /** The user's folder for sockets, if there is one. */
  readonly runtime: string | undefined
  /** The folder of the credentials that the service manager passes. */
  readonly credentials: string | undefined
  /** The search path for programs. */
  readonly path: string
  /** False if the user or the terminal wants no colors. */
  readonly colours: boolean
  /** The stream of the journal, as the service manager names it: device and inode. */
  readonly journalStream: string | undefined
  /** The settings of the service manager that started this process. */
  readonly manager: ManagerVariables
  /**
   * Reads the current value of a variable. Only for credentials, proxies and the PATH of programs: all other variables
   * have a field above.
   */
  readonly variable: (name: string) => string | undefined
}

/** The folders of the user that those of agents lie in. */
export interface UserFolders {
  readonly home: string
  /** The folder of all configurations of the user. */
  readonly configHome: string
  /** The folders of agents that let the user choose them. */
  readonly agents: { readonly claude: string; readonly codex: string; readonly gemini: string }
}

/** The protocol of systemd; values that are meant for another process are ignored. */
export interface ManagerVariables {
  /** The socket that receives state changes; `undefined` if the manager does not want them. */
  readonly notify: string | undefined
  /** The manager regards the process as hung if it hears nothing for this time; `undefined` if it does not watch. */
  readonly watchdogMs: number | undefined
  /** The names of the sockets that the manager listens on for us, in the order of their descriptors. */
  readonly sockets: readonly string[]
}

/**
 * Reads the variables. A folder that is not absolute counts as unset, as the XDG specification requires. `userHome`: the
 * home in the user database, `undefined` for a user without an entry there.
 */
export function environmentOf(variables: Variables, userHome: string | undefined, pid = process.pid): Environment {
  const folder = (name: string) => absolute(variables[name])
  const known = folder('HOME') ?? userHome
  const belowHome = (other: string, ...names: readonly string[]): string => {
    if (known === undefined) throw new OperatorError('no-home', `${noHomeText(variables)}; set HOME, or ${other}`)
    return join(known, ...names)
  }
  const below = (...names: readonly string[]): string => belowHome('name the folder by its absolute path', ...names)
  return {
    get home() {
      return below()
    },
    homeVariable: known === undefined ? {} : { HOME: known },
    get configHome() {
      return folder('XDG_CONFIG_HOME') ?? belowHome('name the file with --config', '.config')
    },
    get state() {
      return stateFolderOf(variables, () => belowHome('name the state folder with --state', '.local', 'state'))
    },
    // The service's folder has priority: in the user's folder, only this part may be writable.
    runtime: absolute(variables['RUNTIME_DIRECTORY']?.split(':')[0]) ?? folder('XDG_RUNTIME_DIR'),
    credentials: folder('CREDENTIALS_DIRECTORY'),
    agents: {
      get claude() {
        return folder('CLAUDE_CONFIG_DIR') ?? below('.claude')
      },
      get codex() {
        return folder('CODEX_HOME') ?? below('.codex')
      },
      get gemini() {
        return join(folder('GEMINI_CLI_HOME') ?? below(), '.gemini')
      },
    },
    path: variables['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    colours: (variables['NO_COLOR'] ?? '') === '' && variables['TERM'] !== 'dumb',
    journalStream: variables['JOURNAL_STREAM'],
    manager: managerOf(variables, pid),
    variable: (name) => variables[name],
  }
}

/** Begins the message of a folder that cannot be found. */
export const UNKNOWN_HOME = 'it is in the home folder, which neither HOME nor the user database names'

/** The result of the function; `undefined` where it needs a home and none is known. */
export function ifHomeIsKnown<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof OperatorError && error.code === 'no-home') return undefined
    throw error
  }
}

/** The reason why no home is known. */
function noHomeText({ HOME = '' }: Variables): string {
  const why = HOME === '' ? 'HOME is not set' : 'HOME is not an absolute path'
  return `Cannot find the home folder: ${why}, and this user has no entry in the user database`
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

/** More than any setup needs. */
const MOST_SOCKETS = 64

function countIn(text: string | undefined): number {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : 0
}

/**
 * The service manager's folder has priority: it may be the only writable one. The variable can list several, separated
 * by colons.
 */
function stateFolderOf(variables: Variables, below: () => string): string {
  const ofService = absolute(variables['STATE_DIRECTORY']?.split(':')[0])
  return ofService ?? join(absolute(variables['XDG_STATE_HOME']) ?? below(), 'skillsyncd')
}

function absolute(folder: string | undefined): string | undefined {
  return folder !== undefined && isAbsolute(folder) ? folder : undefined
}
