import { inspect, parseArgs } from 'node:util'
import { isAbortError } from '../../base/abort-error.ts'
import { VERSION } from '../../serve/version.ts'
import { SyncError, mendOf, unwrapSuppressed } from '../../sync/model/sync-error.ts'
import { printableLine } from '../base/log-line.ts'
import { isLogLevel } from '../base/log.ts'
import { OperatorError } from '../base/operator-error.ts'
import { Redactor } from '../base/redactor.ts'
import { UsageError } from '../base/usage-error.ts'
import { ConfigError } from '../config/config-error.ts'
import { processEnvironment } from '../config/process-environment.ts'
import type { Command, Commands, Context, ExitStatus, Streams } from './command.ts'
import { helpOf, helpOfCommand, optionsOf } from './help/help.ts'

/**
 * All commands, in the order of the help. Each is loaded on demand, because loading takes most of the time of a short
 * run.
 */
export const COMMANDS: Commands = new Map([
  ['init', async () => (await import('./run/init.ts')).init],
  ['add', async () => (await import('./run/add.ts')).add],
  ['start', async () => (await import('./run/start.ts')).start],
  ['reload', async () => (await import('./run/reload.ts')).reload],
  ['mcp', async () => (await import('./run/mcp.ts')).mcp],
  ['sync', async () => (await import('./change/sync.ts')).sync],
  ['status', async () => (await import('./show/status.ts')).status],
  ['list', async () => (await import('./show/list.ts')).list],
  ['show', async () => (await import('./show/show.ts')).show],
  ['search', async () => (await import('./show/search.ts')).searchCommand],
  ['marketplace', async () => (await import('./show/marketplace.ts')).marketplaceCommand],
  ['publish', async () => (await import('./change/publish.ts')).publish],
  ['why', async () => (await import('./show/why.ts')).why],
  ['lock', async () => (await import('./change/lock.ts')).lock],
  ['update', async () => (await import('./change/update.ts')).update],
  ['outdated', async () => (await import('./change/outdated.ts')).outdated],
  ['diff', async () => (await import('./change/diff.ts')).diffCommand],
  ['verify', async () => (await import('./verify/verify.ts')).verify],
  ['log', async () => (await import('./change/log.ts')).log],
  ['rollback', async () => (await import('./change/rollback.ts')).rollback],
  ['release', async () => (await import('./change/decide.ts')).release],
  ['pin', async () => (await import('./change/decide.ts')).pin],
  ['unpin', async () => (await import('./change/decide.ts')).unpin],
  ['pause', async () => (await import('./change/decide.ts')).pause],
  ['resume', async () => (await import('./change/decide.ts')).resume],
  ['approve', async () => (await import('./change/approve.ts')).approve],
  ['reject', async () => (await import('./change/approve.ts')).reject],
  ['disable', async () => (await import('./change/disable.ts')).disable],
  ['enable', async () => (await import('./change/disable.ts')).enable],
  ['preview', async () => (await import('./mcp-sources/preview.ts')).preview],
  ['inspect', async () => (await import('./mcp-sources/preview.ts')).inspectCommand],
  ['mirror', async () => (await import('./mcp-sources/mirror.ts')).mirror],
  ['link', async () => (await import('./agent-folders/link.ts')).link],
  ['unlink', async () => (await import('./agent-folders/unlink.ts')).unlink],
  ['templates', async () => (await import('./mcp-sources/templates.ts')).templates],
  ['resolve', async () => (await import('./mcp-sources/resolve.ts')).resolve],
  ['add-uri', async () => (await import('./mcp-sources/add-uri.ts')).addUri],
  ['export', async () => (await import('./sbom/export.ts')).exportBill],
  ['doctor', async () => (await import('./doctor/doctor.ts')).doctor],
  ['validate', async () => (await import('./author/validate.ts')).validateCommand],
  ['token', async () => (await import('./run/token.ts')).token],
  ['enroll', async () => (await import('./run/enroll.ts')).enroll],
  ['service', async () => (await import('./run/service.ts')).service],
  ['project', async () => (await import('./author/project.ts')).projectCommand],
  ['backup', async () => (await import('./run/backup.ts')).backupCommand],
  ['restore', async () => (await import('./run/backup.ts')).restoreCommand],
  ['completion', async () => (await import('./help/completion.ts')).completion],
  ['instructions', async () => (await import('./show/instructions.ts')).instructions],
])

/** Runs one command line. Results go to stdout, everything else to stderr. */
export async function run(
  args: readonly string[],
  process: Streams & Signals,
  environment = processEnvironment(),
): Promise<ExitStatus> {
  const redactor = new Redactor()
  // Node would print the error as it is, including any secret in it.
  process.on('uncaughtException', (error) => {
    process.stderr.write(`skillsyncd: ended by a fault of this program: ${redactor.clean(inspect(error))}\n`)
    process.exit(1)
  })
  try {
    const [name, ...rest] = args
    if (name === undefined || name === 'help' || name === '--help' || name === '-h')
      return print(process, helpOf(await Promise.all([...COMMANDS.values()].map((load) => load()))))
    if (name === '--version' || name === '-V') return print(process, `${VERSION}\n`)
    const load = COMMANDS.get(name)
    if (load === undefined) throw unknownCommand(name)
    return await runCommand(await load(), rest, { process, environment, redactor })
  } catch (error) {
    const failure = failureOf(error)
    if (failure === undefined) throw error
    process.stderr.write(`skillsyncd: ${redactor.clean(failure.text)}\n`)
    return failure.status
  }
}

/**
 * The programs of other servers have no commands, and client configurations are written in their form: `--skills-dir
 * DIR` alone.
 */
function unknownCommand(name: string): UsageError {
  const isOption = /^--(?:skills-dir|source|config|state|form|pack)(?:=|$)/.test(name)
  if (isOption)
    return new UsageError(`The command stands before its options: skillsyncd mcp ${name.split('=', 1)[0]} …`)
  return new UsageError(`There is no command "${name}"; skillsyncd --help lists them`)
}

interface Caller extends Pick<Context, 'environment' | 'redactor'> {
  readonly process: Streams & Signals
}

async function runCommand(
  command: Command,
  args: readonly string[],
  { process, environment, redactor }: Caller,
): Promise<ExitStatus> {
  const { values, positionals } = parseOptions(command, args)
  if (values['help'] === true) return print(process, helpOfCommand(command))
  if (positionals.length > (command.operands?.most ?? 0))
    throw new UsageError(`"${command.name}" takes no "${positionals.at(-1)}"; see skillsyncd ${command.name} --help`)
  const logLevel = values['log-level'] ?? 'info'
  if (typeof logLevel !== 'string' || !isLogLevel(logLevel))
    throw new UsageError('--log-level is one of error, warn, info, debug')
  const context: Context = {
    streams: process,
    environment,
    redactor,
    operands: positionals,
    values,
    json: values['json'] === true,
    quiet: values['quiet'] === true,
    logLevel: values['quiet'] === true ? 'error' : logLevel,
    signal: stopSignal(process, command.name),
    onHangUp: (listener) => void process.on('SIGHUP', listener),
    commands: COMMANDS,
  }
  return command.run(context)
}

function parseOptions(command: Command, args: readonly string[]): ReturnType<typeof parseArgs> {
  try {
    return parseArgs({
      args: [...args],
      options: optionsOf(command),
      allowPositionals: true,
      strict: true,
    })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    // Node's message continues with suggestions.
    const [fault = ''] = error.message.split('. To specify')
    throw new UsageError(`${fault}; see skillsyncd ${command.name} --help`, { cause: error })
  }
}

/** Covers our own errors only. Any other error is a fault of the program, and is shown as one. */
function failureOf(thrown: unknown): { readonly text: string; readonly status: ExitStatus } | undefined {
  const error = unwrapSuppressed(thrown)
  if (error instanceof UsageError || error instanceof ConfigError) return { text: error.message, status: 2 }
  if (isAbortError(error)) return { text: 'stopped', status: 1 }
  if (error instanceof SyncError) return { text: `${printableLine(error.message)}\n  ${mendOf(error.code)}`, status: 1 }
  if (error instanceof OperatorError) return { text: printableLine(error.message), status: error.exitStatus }
  return undefined
}

/** The parts of `process` that the CLI uses to stop, and to report a failure in its own words. */
export interface Signals {
  on(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP', listener: () => void): unknown
  on(event: 'uncaughtException', listener: (error: unknown) => void): unknown
  exit(status: number): never
}

/**
 * Aborted by the first signal. The second signal ends the process at once. A timeout also ends it, for example if a
 * call to a disk never returns.
 */
function stopSignal(process: Streams & Signals, command: string): AbortSignal {
  const controller = new AbortController()
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(1)
    controller.abort(new DOMException('The process was asked to stop', 'AbortError'))
    setTimeout(() => endHung(process), SERVERS.has(command) ? SERVER_MS : COMMAND_MS).unref()
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  return controller.signal
}

function endHung(process: Streams & Signals): never {
  process.stderr.write(
    'skillsyncd: stopped without waiting for what hangs: a disk, most likely that of the state folder\n',
  )
  process.exit(1)
}

/**
 * The commands that end the requests of clients and write their state. A service manager kills the process after half a
 * minute.
 */
const SERVERS: ReadonlySet<string> = new Set(['start', 'mcp'])
const SERVER_MS = 25_000
/** Pulls that a command began have five seconds of this time to end. */
const COMMAND_MS = 10_000

function print(process: Streams, text: string): ExitStatus {
  process.stdout.write(text)
  return 0
}
