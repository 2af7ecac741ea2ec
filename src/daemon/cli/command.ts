import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { isAbsolute, join, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { systemClock } from '../../base/async/clock.ts'
import { codeOf } from '../../base/error-code.ts'
import type { Log } from '../../base/log.ts'
import { shellWord } from '../../base/text/shell-word.ts'
import type { ConfigReader } from '../config/config-reader.ts'
import type { Mode } from '../config/config.ts'
import type { Environment } from '../config/environment.ts'
import { searchConfig } from '../config/find-config.ts'
import { formFault, listFault } from '../config/forms.ts'
import { withPresentSources } from '../config/present-sources.ts'
import { ConfigError } from '../config/rules/config-error.ts'
import { runningDaemons } from '../control/running-daemons.ts'
import type { ServedConfig } from '../pull/trust/serving-policy.ts'
import { isJournalStream } from '../runtime/log/journal-stream.ts'
import { createLog } from '../runtime/log/log.ts'
import type { LogLevel } from '../runtime/log/log.ts'
import type { Redactor } from '../runtime/log/redactor.ts'
import { createProgress } from '../runtime/progress.ts'
import type { Progress } from '../runtime/progress.ts'
import { UsageError } from '../runtime/usage-error.ts'
import type { Writer, WriterCandidate } from '../writer.ts'
import type { CommandFeatures, VariantName } from './feature.ts'

/** One command of the command line. */
export interface Command {
  readonly name: string
  readonly operands?: Operands
  readonly options?: Options
  /**
   * False for a command that reads no configuration: its help omits the options that name one. They are accepted, and have
   * no effect.
   */
  readonly needsConfiguration?: false
  /**
   * The side on which it serves clients until it is stopped; absent for a command that ends by itself. Its output is
   * never a result: failures go to stderr alone.
   */
  readonly serves?: 'http' | 'stdio'
  /** True if a system call that it no longer waits for may hang when it has ended. */
  readonly mayHang?: true
  /** Paragraphs for its help, wrapped there. Lines that are indented by four spaces or more are kept as they are. */
  readonly details?: string
  /** Command lines for its help, each complete. */
  readonly examples: readonly [string, ...string[]]
  /** One that needs the keys of features says so in the type of its context. */
  run(context: Context): Promise<ExitStatus>
}

export interface Operands {
  readonly text: string
  readonly most: number
  /** The shell completions for each operand; the last entry applies to all that follow. */
  readonly offers?: readonly Offer[]
}

/** Options by their long names, as the parser, the help, the manual and the shell completions use them. */
export type Options = Readonly<Record<string, Option>>

export interface Option {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: boolean
  /** The placeholder for its value in the help, if it has a value. */
  readonly value?: string
  /** The description for the help. */
  readonly help: string
  /** The shell completions for its value. */
  readonly offers?: Offer
}

/** The possible completions: these words, configured or served items, or files on the disk. */
export type Offer = readonly string[] | 'sources' | 'skills' | 'packs' | 'files' | 'folders'

/** The exit status of a command: done, failed, wrong usage or configuration, or a check with findings. */
export type ExitStatus = 0 | 1 | 2 | 3

/** The streams of a process. */
export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly fd?: number }
}

/** The input of a command run. */
export interface Context<Whole extends ServedConfig = ServedConfig> {
  readonly streams: Streams
  readonly environment: Environment
  readonly redactor: Redactor
  readonly operands: readonly string[]
  readonly values: Readonly<Record<string, unknown>>
  readonly json: boolean
  readonly quiet: boolean
  readonly logLevel: LogLevel
  /** Set when the result is written as JSON: a failure after it is not written as a second one. */
  readonly result: { isPrinted: boolean }
  /** Aborted when the process gets a signal to stop. */
  readonly signal: AbortSignal
  /** Stops the process as the first signal does. */
  readonly stop: () => void
  /** Calls the listener at each SIGHUP, which ends a process without a listener. */
  readonly onHangUp: (listener: () => void) => void
  /** Loads the reader of configurations. A command that reads none is quicker without it. */
  readonly configuration: () => Promise<ConfigReader<Whole>>
  readonly features: CommandFeatures<Whole>
  /** Has a feature do what an option of this command is for. */
  readonly runVariant: (name: VariantName) => Promise<ExitStatus>
  /** Makes this process the one that writes the state folder. */
  becomeWriter(
    candidate: Omit<WriterCandidate, 'config'> & { readonly config: Whole },
    signal: AbortSignal,
  ): Promise<Writer>
  /** All commands by name. */
  readonly commands: Commands
}

/** Commands by their names, in the order of the help, each with one line and loaded on demand. */
export type Commands = ReadonlyMap<string, { readonly summary: string; readonly load: () => Promise<Command> }>

/** The switches that limit network access and updates, for the commands that have them. */
export const MODE_OPTIONS = {
  locked: {
    type: 'boolean',
    help: 'serve only what the lock has; fail if it does not fit the configuration',
  },
  offline: { type: 'boolean', help: 'make no network request' },
  frozen: { type: 'boolean', help: '--locked and --offline' },
} as const satisfies Options

/**
 * The configuration that the options name. `startsDaemon`: with the state folder that it has, whatever daemon runs; other
 * commands use that of the daemon if the configured one is not there.
 */
export async function configFor<Whole extends ServedConfig>(
  context: Context<Whole>,
  startsDaemon = false,
): Promise<Whole> {
  const named = await namedConfig(context)
  const config = startsDaemon || context.values['state'] !== undefined ? named : await withRunningState(named, context)
  return withPresentSources({ ...config, mode: modeOf(context) })
}

/** The mode that the options of `MODE_OPTIONS` ask for. */
export function modeOf({ values: { locked, offline, frozen } }: Pick<Context, 'values'>): Mode {
  return { locked: locked === true || frozen === true, offline: offline === true || frozen === true }
}

async function namedConfig<Whole extends ServedConfig>(context: Context<Whole>): Promise<Whole> {
  const { values, environment } = context
  const { readConfig, configOfSources } = await context.configuration()
  const sources = values['source']
  const state = optional(values['state'])
  if (state === '') throw new UsageError('--state names no folder')
  const folders = values['skills-dir']
  if (!Array.isArray(sources) && !Array.isArray(folders)) {
    if (values['form'] !== undefined)
      throw new UsageError('--form goes with --source and --skills-dir; a configuration says it for itself')
    const file = optional(values['config']) ?? (await searchConfig(environment))
    if (file !== undefined) return readConfig({ file, state }, environment)
    return configOfDaemon(state === undefined ? undefined : resolve(state), context)
  }
  const switches = Array.isArray(sources) ? '--source' : '--skills-dir'
  if (values['config'] !== undefined) throw new UsageError(`${switches} and --config exclude each other`)
  const named = {
    urls: textsOf(sources),
    folders: await skillsFoldersOf(textsOf(folders), environment),
    forms: formsNamed(values['form']),
    state: state && resolve(state),
  }
  return configOfSources(named, environment)
}

/** The configuration with the state folder of the one daemon that was started with its file and with --state. */
async function withRunningState<Whole extends ServedConfig>(
  config: Whole,
  { environment, signal, configuration }: Context<Whole>,
): Promise<Whole> {
  if (config.file === undefined || existsSync(config.state)) return config
  const daemons = await runningDaemons(environment, signal)
  const [daemon, ...others] = daemons.filter((running) => running.config === config.file)
  if (daemon === undefined || others.length > 0) return config
  const { readConfig } = await configuration()
  return readConfig({ file: config.file, state: daemon.state }, environment)
}

/**
 * The configuration of the one daemon of this user that runs, or of the one with this state folder. Throws
 * `ConfigError` if there is none.
 */
async function configOfDaemon<Whole extends ServedConfig>(
  state: string | undefined,
  { environment, signal, configuration }: Context<Whole>,
): Promise<Whole> {
  const { readConfig } = await configuration()
  const daemons = (await runningDaemons(environment, signal)).filter(
    (daemon) => daemon.config !== undefined && (state === undefined || daemon.state === state),
  )
  const [daemon] = daemons
  if (daemons.length < 2) return readConfig({ file: daemon?.config, state: state ?? daemon?.state }, environment)
  const files = daemons.map(({ config }) => `--config ${shellWord(config ?? '')}`).join(' or ')
  throw new ConfigError(`Several daemons run, each with its configuration; name one with ${files}`)
}

/** The log of this command: lines of text on a terminal, JSON elsewhere. */
export function logOf({ streams, environment, logLevel, redactor }: Context): Log {
  const format = streams.stderr.isTTY === true ? 'text' : 'json'
  return createLog({
    level: logLevel,
    stream: streams.stderr,
    format,
    journal: isJournalStream(environment.journalStream, streams.stderr.fd),
    clock: systemClock,
    redactor,
  })
}

/** The progress display of this command. Off for `--json` and `--quiet`. */
export function progressOf({ streams, quiet, json }: Context): Progress {
  return createProgress({ stream: streams.stderr, quiet: quiet || json, clock: systemClock })
}

/** Writes a result as JSON. */
export function printJson(context: Context, value: unknown): void {
  printJsonAsIs(context, context.redactor.cleanAll(value))
}

/** Writes a result as JSON past the filter of secrets. */
export function printJsonAsIs(context: Context, value: unknown): void {
  printJsonText(context, JSON.stringify(value, null, 2))
}

/** Writes a result that is JSON text already, past the filter of secrets. */
export function printJsonText({ streams, result }: Context, text: string): void {
  result.isPrinted = true
  streams.stdout.write(`${text}\n`)
}

/** Writes a result as lines of text. */
export function printLines({ streams, redactor }: Context, lines: readonly string[]): void {
  streams.stdout.write(lines.map((line) => `${redactor.clean(line)}\n`).join(''))
}

/** Each folder once. The caller must give absolute paths, because the working directory of an MCP client is unknown. */
async function skillsFoldersOf(paths: readonly string[], environment: Environment): Promise<readonly string[]> {
  for (const path of paths) {
    const meant = path.startsWith('~/') ? join(environment.home, path.slice(2)) : resolve(path)
    if (!isAbsolute(path)) {
      const mend = path === '' ? 'name the folder that holds your skills' : `write --skills-dir ${meant}`
      throw new UsageError(`--skills-dir wants an absolute path, not "${path}"; ${mend}`)
    }
    if (!(await isFolder(path)))
      throw new UsageError(`--skills-dir "${path}" is not a folder; make it, or name the one that holds your skills`)
  }
  return [...new Set(paths.map((path) => resolve(path)))]
}

/** The words of `--form`, which are added to `default`. */
function formsNamed(given: unknown): readonly string[] {
  const named = textsOf(given).flatMap((list) => list.split(','))
  for (const word of named) {
    const fault = formFault(word) ?? listFault(word, ['default', ...named])
    if (fault !== undefined) throw new UsageError(`--form "${word}" ${fault}`)
  }
  return named
}

/** A folder that must not be read counts as present; its source reports the problem. */
async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    (error: unknown) =>
      !['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE'].includes(codeOf(error) ?? ''),
  )
}

function textsOf(values: unknown): readonly string[] {
  return Array.isArray(values) ? values.map(String) : []
}

function optional(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
