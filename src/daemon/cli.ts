import { inspect, parseArgs } from 'node:util'
import type { ParseArgsOptionsConfig } from 'node:util'
import { VERSION } from '../serve/version.ts'
import { SyncError, mendOf } from '../sync/model/sync-error.ts'
import { UsageError } from './usage-error.ts'
import type { Command, Context, ExitStatus, Streams } from './commands/command.ts'
import { isAbortError } from './abort-error.ts'
import { ConfigError } from './config/problem.ts'
import { processEnvironment } from './config.ts'
import { ControlError } from './control-client.ts'
import { isLogLevel } from './log.ts'
import { printable } from './log-line.ts'
import { Redactor } from './redactor.ts'

/** Every command, in the order of the help. Each is loaded when it is asked for: what it needs is most of a short run. */
const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ['start', async () => (await import('./commands/start.ts')).start],
  ['mcp', async () => (await import('./commands/mcp.ts')).mcp],
  ['sync', async () => (await import('./commands/sync.ts')).sync],
  ['status', async () => (await import('./commands/status.ts')).status],
  ['list', async () => (await import('./commands/list.ts')).list],
  ['show', async () => (await import('./commands/show.ts')).show],
  ['why', async () => (await import('./commands/why.ts')).why],
  ['lock', async () => (await import('./commands/lock.ts')).lock],
  ['update', async () => (await import('./commands/update.ts')).update],
  ['outdated', async () => (await import('./commands/outdated.ts')).outdated],
  ['diff', async () => (await import('./commands/diff.ts')).diff],
  ['verify', async () => (await import('./commands/verify.ts')).verify],
  ['log', async () => (await import('./commands/log.ts')).log],
  ['rollback', async () => (await import('./commands/rollback.ts')).rollback],
  ['release', async () => (await import('./commands/decisions.ts')).release],
  ['pin', async () => (await import('./commands/decisions.ts')).pin],
  ['unpin', async () => (await import('./commands/decisions.ts')).unpin],
  ['pause', async () => (await import('./commands/decisions.ts')).pause],
  ['resume', async () => (await import('./commands/decisions.ts')).resume],
  ['approve', async () => (await import('./commands/decisions.ts')).approve],
  ['reject', async () => (await import('./commands/decisions.ts')).reject],
  ['disable', async () => (await import('./commands/disabling.ts')).disable],
  ['enable', async () => (await import('./commands/disabling.ts')).enable],
  ['validate', async () => (await import('./commands/validate.ts')).validate],
  ['token', async () => (await import('./commands/token.ts')).token],
  ['project', async () => (await import('./commands/project.ts')).project],
  ['instructions', async () => (await import('./commands/instructions.ts')).instructions],
])

/** Runs one command line. Results go to stdout, everything else to stderr. */
export async function run(
  args: readonly string[],
  process: Streams & Signals,
  environment = processEnvironment(),
): Promise<ExitStatus> {
  const redactor = new Redactor()
  // Node would show it as it is, with whatever secret stands in it.
  process.on('uncaughtException', (error) => {
    process.stderr.write(`skillsyncd: ended by a fault of this program: ${redactor.clean(inspect(error))}\n`)
    process.exit(1)
  })
  try {
    const [name, ...rest] = args
    if (name === undefined || name === 'help' || name === '--help' || name === '-h')
      return print(process, await helpText())
    if (name === '--version' || name === '-V') return print(process, `${VERSION}\n`)
    const load = COMMANDS.get(name)
    if (load === undefined) throw new UsageError(`There is no command "${name}"; skillsyncd --help lists them`)
    return await runCommand(await load(), rest, { process, environment, redactor })
  } catch (error) {
    const failure = failureOf(error)
    if (failure === undefined) throw error
    process.stderr.write(`skillsyncd: ${redactor.clean(failure.text)}\n`)
    return failure.status
  }
}

interface Caller extends Pick<Context, 'environment' | 'redactor'> {
  readonly process: Streams & Signals
}

async function runCommand(
  command: Command,
  args: readonly string[],
  { process, environment, redactor }: Caller,
): Promise<ExitStatus> {
  const { values, positionals } = parsed(command, args)
  if (values['help'] === true) return print(process, commandHelp(command))
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
    signal: stopSignal(process),
  }
  return command.run(context)
}

const CONFIGURING: ParseArgsOptionsConfig = {
  config: { type: 'string', short: 'c' },
  state: { type: 'string' },
  source: { type: 'string', multiple: true },
  'skills-dir': { type: 'string', multiple: true },
}

const COMMON: ParseArgsOptionsConfig = {
  'log-level': { type: 'string' },
  quiet: { type: 'boolean', short: 'q' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
}

function parsed(command: Command, args: readonly string[]): ReturnType<typeof parseArgs> {
  try {
    return parseArgs({
      args: [...args],
      options: { ...(command.needsConfiguration === false ? {} : CONFIGURING), ...COMMON, ...command.options },
      allowPositionals: true,
      strict: true,
    })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    // Node goes on about what else could have been meant.
    const [fault = ''] = error.message.split('. To specify')
    throw new UsageError(`${fault}; see skillsyncd ${command.name} --help`, { cause: error })
  }
}

/** Ours alone: what stops the process without a name for it is a fault of the program, and is shown as one. */
function failureOf(error: unknown): { readonly text: string; readonly status: ExitStatus } | undefined {
  if (error instanceof UsageError || error instanceof ConfigError) return { text: error.message, status: 2 }
  if (isAbortError(error)) return { text: 'stopped', status: 1 }
  if (error instanceof SyncError) return { text: `${printable(error.message)}\n  ${mendOf(error.code)}`, status: 1 }
  if (error instanceof ControlError)
    return { text: printable(error.message), status: WRONG_USAGE.has(error.code) ? 2 : 1 }
  return undefined
}

/** What was asked for does not go with the configuration. */
const WRONG_USAGE: ReadonlySet<string> = new Set(['other-config', 'unknown-source'])

/** What of a process a command line needs to be stopped, and to end in its own words. */
export interface Signals {
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown
  on(event: 'uncaughtException', listener: (error: unknown) => void): unknown
  exit(status: number): never
}

/** Raised by the first signal; the second ends the process on the spot. */
function stopSignal(process: Signals): AbortSignal {
  const controller = new AbortController()
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(1)
    controller.abort(new DOMException('The process was asked to stop', 'AbortError'))
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  return controller.signal
}

function print(process: Streams, text: string): ExitStatus {
  process.stdout.write(text)
  return 0
}

async function helpText(): Promise<string> {
  const commands = await Promise.all([...COMMANDS.values()].map((load) => load()))
  const rows = commands.map(
    ({ name, operands, summary }) => `  ${`${name} ${operands?.text ?? ''}`.padEnd(24)} ${summary}`,
  )
  return `skillsyncd ${VERSION}: agent skills from git to every agent, pinned

Usage: skillsyncd COMMAND [options]

${rows.join('\n')}

Everywhere:
${CONFIGURING_HELP}
${COMMON_HELP}
      --version        the version of this program

Exit status: 0 done, 1 failed, 2 wrong usage or configuration, 3 a check found something
`
}

function commandHelp({ name, operands, summary, needsConfiguration, details = '' }: Command): string {
  const usage = ['skillsyncd', name, ...(operands === undefined ? [] : [operands.text]), '[options]'].join(' ')
  return `Usage: ${usage}

${summary}
${details}
${needsConfiguration === false ? '' : `${CONFIGURING_HELP}\n`}${COMMON_HELP}
`
}

const CONFIGURING_HELP = `  -c, --config FILE    the configuration; default: ./skillsyncd.yaml, then the user's, then the system's
      --state DIR      the state folder, in place of the configuration's
      --source URL     a repository to use without a configuration; may be repeated
      --skills-dir DIR a folder of skills to use without a configuration: an absolute path; may be repeated`

const COMMON_HELP = `      --json           the result as JSON
      --log-level L    error, warn, info or debug; default: info
  -q, --quiet          nothing but results and errors
  -h, --help           this text`
