import { inspect } from 'node:util'
import { isAbortError } from '../base/async/abort-error.ts'
import { VERSION } from '../serve/version.ts'
import { SyncError, mendOf, unwrapSuppressed } from '../sync/model/sync-error.ts'
import type { Command, Context, ExitStatus, Streams } from './cli/command.ts'
import { helpOf, helpOfCommand } from './cli/help.ts'
import { commandFirst, commandIn, helpAbout, isFamily, isJsonWanted, parseOptions } from './command-line.ts'
import { CALLS, COMMAND_GROUPS } from './command-table.ts'
import { processEnvironment } from './config/process-environment.ts'
import { ConfigError } from './config/rules/config-error.ts'
import type { WholeConfig } from './configuration.ts'
import { COMMAND_FEATURES, runVariant } from './features.ts'
import { printableLine } from './runtime/log/log-line.ts'
import { isLogLevel } from './runtime/log/log.ts'
import { Redactor } from './runtime/log/redactor.ts'
import { OperatorError } from './runtime/operator-error.ts'
import { UsageError } from './runtime/usage-error.ts'

/** Runs one command line. Results go to stdout, everything else to stderr. */
export async function run(
  args: readonly string[],
  process: Streams & Signals,
  environment = processEnvironment(),
): Promise<ExitStatus> {
  const caller: Caller = { process, environment, redactor: new Redactor(), result: { isPrinted: false } }
  const words = commandFirst(args)
  // Node would print the error as it is, including any secret in it.
  process.on('uncaughtException', (error) => {
    process.stderr.write(`skillsyncd: ended by a fault of this program: ${caller.redactor.clean(inspect(error))}\n`)
    process.exit(1)
  })
  // On EPIPE the reader has read enough, as in `skillsyncd list | head`. A command ends on any write error, since it
  // cannot report its result; a daemon continues.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    const isReadEnough = error.code === 'EPIPE'
    if (!isReadEnough) process.stderr.write(`skillsyncd: Cannot write the result: ${error.code}\n`)
    if (caller.command?.serves !== 'http') process.exit(isReadEnough ? 0 : 1)
  })
  const status = await runWords(words, caller).catch((error: unknown) => printFailure(error, words, caller))
  if (caller.command?.mayHang === true) process.endSoon(status)
  return status
}

/** The process that runs a command line, and what is known of the run. */
interface Caller extends Pick<Context, 'environment' | 'redactor' | 'result'> {
  readonly process: Streams & Signals
  /** `undefined` until it is found. */
  command?: Command
}

async function runWords(words: readonly string[], caller: Caller): Promise<ExitStatus> {
  const { process } = caller
  const [name = '--help'] = words
  if (name === '--version' || name === '-V' || name === '-v') return print(process, versionText(isJsonWanted(words)))
  if (name === '--help' || name === '-h') return print(process, helpOf(COMMAND_GROUPS, columnsOf(process)))
  if (isFamily(words)) return print(process, helpAbout(name, columnsOf(process)))
  const { command, args } = await commandIn(words)
  caller.command = command
  return runCommand(command, args, caller)
}

/** Writes the failure, also as JSON where a program reads the result. Throws what is not a failure of ours. */
function printFailure(error: unknown, words: readonly string[], caller: Caller): ExitStatus {
  const failure = failureOf(error)
  if (failure === undefined) throw error
  const { process, redactor, result, command } = caller
  const text = redactor.clean(failure.text)
  process.stderr.write(`skillsyncd: ${text}\n`)
  if (isJsonWanted(words) && !result.isPrinted && command?.serves === undefined)
    process.stdout.write(`${JSON.stringify(jsonOf(failure, text), null, 2)}\n`)
  return failure.status
}

function jsonOf({ code, place, status: exitStatus }: Failure, text: string): object {
  const [message, ...fix] = text.split('\n  ')
  const error = {
    ...(code !== undefined && { code }),
    message,
    ...(fix.length > 0 && { fix: fix.join(' ') }),
    place,
  }
  return { error, exitStatus }
}

/** The versions of this program and of Node.js, with the platform. */
function versionText(isJson: boolean): string {
  const { versions, platform, arch } = globalThis.process
  if (isJson) return `${JSON.stringify({ skillsyncd: VERSION, node: versions.node, platform, arch }, null, 2)}\n`
  return `skillsyncd ${VERSION}\nNode.js ${versions.node}, ${platform} ${arch}\n`
}

/** The width of a terminal. Text for a file or a pipe is 80 columns wide. */
function columnsOf({ stdout }: Streams): number {
  return stdout.isTTY === true ? stdout.columns || 80 : 80
}

async function runCommand(
  command: Command,
  args: readonly string[],
  { process, environment, redactor, result }: Caller,
): Promise<ExitStatus> {
  const { values, positionals } = parseOptions(command, args)
  if (values['help'] === true) {
    const { summary = '' } = CALLS.get(command.name) ?? {}
    return print(process, helpOfCommand(command, summary, columnsOf(process)))
  }
  if (positionals.length > (command.operands?.most ?? 0))
    throw new UsageError(`"${command.name}" takes no "${positionals.at(-1)}"; see skillsyncd ${command.name} --help`)
  const logLevel = values['log-level'] ?? 'info'
  if (typeof logLevel !== 'string' || !isLogLevel(logLevel))
    throw new UsageError('--log-level is one of error, warn, info, debug')
  const stopping = stopOn(process, command)
  const context: Context<WholeConfig> = {
    streams: process,
    environment,
    redactor,
    operands: positionals,
    values,
    json: values['json'] === true,
    quiet: values['quiet'] === true,
    logLevel: values['quiet'] === true ? 'error' : logLevel,
    signal: stopping.signal,
    stop: () => stopping.stop(),
    result,
    onHangUp: (listener) => void process.on('SIGHUP', listener),
    configuration: async () => import('./configuration.ts'),
    features: COMMAND_FEATURES,
    runVariant: async (name) => runVariant(name, context),
    becomeWriter: async (candidate, signal) => (await import('./writer.ts')).becomeWriter(candidate, signal),
    commands: CALLS,
  }
  return command.run(context)
}

interface Failure {
  readonly text: string
  readonly status: ExitStatus
  /** `undefined` for a stop. */
  readonly code: string | undefined
  readonly place?: string | undefined
}

/** Covers our own errors only. Any other error is a fault of the program, and is shown as one. */
function failureOf(thrown: unknown): Failure | undefined {
  const error = unwrapSuppressed(thrown)
  if (error instanceof UsageError) return { text: error.message, status: 2, code: 'usage' }
  if (error instanceof ConfigError) return { text: error.message, status: 2, code: 'bad-config' }
  if (isAbortError(error)) return { text: 'stopped', status: 1, code: undefined }
  if (error instanceof SyncError) {
    const { code, place } = error
    return { text: failureText(error.message, mendOf(error)), status: 1, code, place }
  }
  if (error instanceof OperatorError)
    return {
      text: failureText(error.message, error.fix),
      status: error.exitStatus,
      code: error.code,
      place: error.place,
    }
  return undefined
}

function failureText(message: string, fix: string | undefined): string {
  return fix === undefined ? printableLine(message) : `${printableLine(message)}\n  ${printableLine(fix)}`
}

/** The parts of `process` that the CLI uses to stop, and to report a failure in its own words. */
export interface Signals {
  on(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP', listener: () => void): unknown
  on(event: 'uncaughtException', listener: (error: unknown) => void): unknown
  exit(status: number): never
  /** Ends the process soon, even if a system call hangs. */
  endSoon(status: number): void
}

/**
 * The signal is aborted by the first SIGINT or SIGTERM, and by `stop`. The second SIGINT or SIGTERM ends the process at
 * once. A timeout also ends it, for example if a call to a disk never returns.
 */
function stopOn(
  process: Streams & Signals,
  { serves }: Pick<Command, 'serves'>,
): { readonly signal: AbortSignal; readonly stop: () => void } {
  const controller = new AbortController()
  const { signal } = controller
  const stop = (): void => {
    if (signal.aborted) return
    controller.abort(new DOMException('The process was asked to stop', 'AbortError'))
    setTimeout(() => endHung(process), serves === undefined ? COMMAND_MS : SERVER_MS).unref()
  }
  const onSignal = (): void => (signal.aborted ? process.exit(1) : stop())
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return { signal, stop }
}

function endHung(process: Streams & Signals): never {
  process.stderr.write(
    'skillsyncd: stopped without waiting for what hangs: a disk, most likely that of the state folder\n',
  )
  process.exit(1)
}

/** A server ends the requests of clients. A service manager kills the process after half a minute. */
const SERVER_MS = 25_000
/** Pulls that a command began have five seconds of this time to end. */
const COMMAND_MS = 10_000

function print(process: Streams, text: string): ExitStatus {
  process.stdout.write(text)
  return 0
}
