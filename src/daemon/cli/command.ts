import { stat } from 'node:fs/promises'
import { isAbsolute, join, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { FORMS, configOfSources, isForm } from '../config/command-line-config.ts'
import type { Form } from '../config/command-line-config.ts'
import type { Environment } from '../config/environment.ts'
import { readConfig } from '../config/config.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../../base/clock.ts'
import { codeOf } from '../../base/error-code.ts'
import { isJournalStream } from '../base/journal-stream.ts'
import { createLog } from '../base/log.ts'
import type { Log, LogLevel } from '../base/log.ts'
import { createProgress } from '../base/progress.ts'
import type { Progress } from '../base/progress.ts'
import type { Redactor } from '../base/redactor.ts'
import { UsageError } from '../base/usage-error.ts'

/** One command of the command line. */
export interface Command {
  readonly name: string
  /** One line for the list of commands. */
  readonly summary: string
  readonly operands?: Operands
  readonly options?: Options
  /** False for one that reads no configuration: its help is silent of the options that name one, and they mean nothing to it. */
  readonly needsConfiguration?: false
  /** The lines of its help about all but its options: paragraphs, of lines that are set in by two. */
  readonly details?: string
  run(context: Context): Promise<ExitStatus>
}

export interface Operands {
  readonly text: string
  readonly most: number
  /** What a shell offers for each; the last of these holds for all that follow. */
  readonly offers?: readonly Offer[]
}

/** Options by their long names: what the parser, the help, the manual and the shells know of each. */
export type Options = Readonly<Record<string, Option>>

export interface Option {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: boolean
  /** What stands for its value in the help, of one that has a value. */
  readonly value?: string
  /** What it does, for the help. */
  readonly help: string
  /** What a shell offers for its value. */
  readonly offers?: Offer
}

/** What is to be typed somewhere: these words, what is configured or served, or something on the disk. */
export type Offer = readonly string[] | 'sources' | 'skills' | 'packs' | 'files' | 'folders'

/** What a command ended with: done, failed, wrong usage or configuration, or a check that found something. */
export type ExitStatus = 0 | 1 | 2 | 3

/** The streams of a process. */
export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly fd?: number }
}

/** What a command is run with. */
export interface Context {
  readonly streams: Streams
  readonly environment: Environment
  readonly redactor: Redactor
  readonly operands: readonly string[]
  readonly values: Readonly<Record<string, unknown>>
  readonly json: boolean
  readonly quiet: boolean
  readonly logLevel: LogLevel
  /** Raised when the process is asked to stop. */
  readonly signal: AbortSignal
  /** Has this called whenever the process gets SIGHUP, which ends whoever does not ask for it. */
  readonly onHangUp: (listener: () => void) => void
  /** Every command, by its name. */
  readonly commands: Commands
}

/** Commands in the order of the help, each loaded when it is asked for. */
export type Commands = ReadonlyMap<string, () => Promise<Command>>

/** The switches that decide how much may be asked of others, of those commands that have them. */
export const MODE_OPTIONS = {
  locked: {
    type: 'boolean',
    help: 'serve what the lock says and nothing else; fail where it does not fit the configuration',
  },
  offline: { type: 'boolean', help: 'ask no host for anything' },
  frozen: { type: 'boolean', help: 'both' },
} as const satisfies Options

/** The configuration that the options name. */
export async function configOf(context: Context): Promise<Config> {
  const config = await namedConfig(context)
  const { locked, offline, frozen } = context.values
  return {
    ...config,
    mode: { locked: locked === true || frozen === true, offline: offline === true || frozen === true },
  }
}

async function namedConfig({ values, environment }: Context): Promise<Config> {
  const sources = values['source']
  const state = optional(values['state'])
  if (state === '') throw new UsageError('--state names no folder')
  const folders = values['skills-dir']
  if (!Array.isArray(sources) && !Array.isArray(folders)) {
    if (values['form'] !== undefined)
      throw new UsageError('--form goes with --source and --skills-dir; a configuration says it for itself')
    return readConfig({ file: optional(values['config']), state }, environment)
  }
  const switches = Array.isArray(sources) ? '--source' : '--skills-dir'
  if (values['config'] !== undefined) throw new UsageError(`${switches} and --config exclude each other`)
  const named = { urls: textsOf(sources), folders: await skillsFoldersOf(textsOf(folders), environment) }
  const config = configOfSources(named.urls, environment, named.folders, formsNamed(values['form']))
  return state === undefined ? config : { ...config, state: resolve(state) }
}

/** The log of this command. Lines for people on a terminal, JSON elsewhere. */
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

/** Where this command has got to. Programs that read its result are not told. */
export function progressOf({ streams, quiet, json }: Context): Progress {
  return createProgress({ stream: streams.stderr, quiet: quiet || json, clock: systemClock })
}

/** Writes a result as JSON. */
export function printJson({ streams, redactor }: Context, value: unknown): void {
  streams.stdout.write(`${JSON.stringify(redactor.cleanAll(value), null, 2)}\n`)
}

/** Writes a result for people. */
export function printLines({ streams, redactor }: Context, lines: readonly string[]): void {
  streams.stdout.write(lines.map((line) => `${redactor.clean(line)}\n`).join(''))
}

/** Each once. Whoever starts us says from which folder a relative path is meant: nobody can know that of an MCP client. */
async function skillsFoldersOf(paths: readonly string[], { home }: Environment): Promise<readonly string[]> {
  for (const path of paths) {
    const meant = path.startsWith('~/') ? join(home, path.slice(2)) : resolve(path)
    if (!isAbsolute(path)) {
      const mend = path === '' ? 'name the folder that holds your skills' : `write --skills-dir ${meant}`
      throw new UsageError(`--skills-dir wants an absolute path, not "${path}"; ${mend}`)
    }
    if (!(await isFolder(path)))
      throw new UsageError(`--skills-dir "${path}" is no folder; make it, or name the one that holds your skills`)
  }
  return [...new Set(paths.map((path) => resolve(path)))]
}

function formsNamed(given: unknown): readonly Form[] {
  const named = textsOf(given).flatMap((list) => list.split(','))
  const unknown = named.find((name) => !isForm(name))
  if (unknown === undefined) return named.filter(isForm)
  throw new UsageError(`--form is of ${FORMS.join(', ')}; "${unknown}" is none`)
}

/** One that we may not look at is told by the source, as of any other. */
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
