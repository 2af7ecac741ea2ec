import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { z } from 'zod'
import { systemClock } from '../../base/async/clock.ts'
import { codeOf } from '../../base/error-code.ts'
import { utf8 } from '../../sync/skill/frontmatter.ts'
import { fileOfSources, refusalOfSources, sourcesNamedBy, stateNameOf } from './command-line-config.ts'
import type { NamedSources } from './command-line-config.ts'
import type { Config } from './config.ts'
import type { Environment } from './environment.ts'
import { configFaultsOf, READING } from './error-messages.ts'
import { findConfig } from './find-config.ts'
import { withPresentSources } from './present-sources.ts'
import { processEnvironment } from './process-environment.ts'
import { readYaml } from './read-yaml.ts'
import type { YamlPosition } from './read-yaml.ts'
import { ConfigError, configErrorOf, keyText } from './rules/config-error.ts'
import type { ConfigCode, ConfigDiagnostic, Fault } from './rules/config-error.ts'
import { ruleFaults } from './rules/cross-key-rules.ts'
import type { FindFaults } from './rules/cross-key-rules.ts'
import { nameable, plainSchema } from './schema-json.ts'
import type { SchemaNode } from './schema-json.ts'

/** The form of a whole configuration, with the keys of features. */
export interface ConfigForm<File, Whole extends Config> {
  readonly schema: z.ZodType<File>
  /** Find the faults between keys that features have. */
  readonly faults: readonly FindFaults[]
  /** Finds what a valid file names and this machine does not have. */
  readonly missing: (file: File, environment: Environment) => readonly Fault[]
  /** The configuration of a checked file: paths are absolute, and access is resolved. */
  readonly configOf: (file: File, place: FilePlace) => Whole
}

/** The surroundings of a file. */
export interface FilePlace {
  readonly file: string
  readonly environment: Environment
  /** The state folder in place of the one in the file. */
  readonly state?: string | undefined
}

/** The options of the command line that change what is read. */
export interface ReadOptions {
  /** `--config`; without it the usual places are searched. */
  readonly file?: string | undefined
  /** `--state`, which overrides the file. */
  readonly state?: string | undefined
}

/** Reads configurations of one form. */
export interface ConfigReader<Whole extends Config> {
  /** Finds, reads and checks the configuration. All faults are thrown as one `ConfigError`. */
  readonly readConfig: (options?: ReadOptions, environment?: Environment) => Promise<Whole>
  /**
   * Parses the configuration, or returns all faults in the order of the text. Never throws; no diagnostic repeats a value.
   * Relative paths are resolved from the folder of the file. `state`: the state folder in place of the one in the text.
   */
  readonly parseConfig: (
    text: string,
    fileName: string,
    environment: Environment,
    state?: string,
  ) => Whole | ConfigDiagnostic[]
  /**
   * The configuration of `start --source URL` and `mcp --skills-dir DIR`: it has no file, and derives ids from addresses
   * and paths. Its state folder is named after the sources, so that two sets of sources never overwrite each other. The
   * folders are absolute.
   */
  readonly configOfSources: (named: NamedSources, environment?: Environment) => Whole
}

export function configReader<File, Whole extends Config>({
  schema,
  faults: ofFeatures,
  missing,
  configOf,
}: ConfigForm<File, Whole>): ConfigReader<Whole> {
  const parseConfig: ConfigReader<Whole>['parseConfig'] = (text, file, environment, state) => {
    const yaml = readYaml(text.replace(/^\uFEFF/, ''))
    if (!yaml.ok) return diagnosticsOf(withCode('syntax', yaml.faults), file, plainSchema(schema))
    const read = schema.safeParse(yaml.value, READING)
    const lacking = read.success ? missing(read.data, environment) : []
    const betweenKeys = [...yaml.faults, ...ruleFaults(yaml.value, ofFeatures), ...lacking]
    if (read.success && betweenKeys.length === 0) return configOf(read.data, { file, environment, state })
    const plain = plainSchema(schema)
    const ofKeys = read.success ? [] : configFaultsOf(read.error.issues, plain)
    return diagnosticsOf([...withCode('value', ofKeys), ...withCode('conflict', betweenKeys)], file, plain, yaml.place)
  }
  return {
    parseConfig,
    async readConfig(options = {}, environment = processEnvironment()) {
      const file = await findConfig(options.file, environment)
      const bytes = await readFile(file).catch((cause: unknown) => {
        throw new ConfigError(`Cannot read the configuration "${file}": ${reasonOf(cause)}`, { cause })
      })
      const text = utf8(bytes)
      if (text === undefined) throw new ConfigError(`Cannot read the configuration "${file}": it is not valid UTF-8`)
      const config = parseConfig(text, file, environment, options.state && resolve(options.state))
      if (Array.isArray(config)) throw configErrorOf(config)
      return withPresentSources({ ...config, written: { text, readAt: systemClock.now().toISOString() } })
    },
    configOfSources(named, environment = processEnvironment()) {
      const sources = sourcesNamedBy(named)
      const file = fileOfSources(sources, named.forms)
      const read = schema.safeParse(file, READING)
      const [fault] = [...(read.error?.issues ?? []), ...ruleFaults(file, ofFeatures)]
      if (fault !== undefined || !read.success) throw refusalOfSources(fault, named)
      const state = named.state ?? join(environment.state, 'adhoc', stateNameOf(sources))
      return {
        ...configOf(read.data, { file: 'unused', environment, state }),
        file: undefined,
        lock: undefined,
        lockFrom: undefined,
      }
    },
  }
}

function reasonOf(cause: unknown): string {
  const code = codeOf(cause)
  if (code === 'ENOENT') return 'no such file; try --source URL to start without one'
  if (code === 'EACCES') return 'permission denied'
  if (code === 'EISDIR') return 'it is a folder'
  return code ?? 'it cannot be opened'
}

/** A fault, with the code of the check that found it. */
interface CodedFault extends Fault {
  readonly code: ConfigCode
}

function withCode(code: ConfigCode, faults: readonly Fault[]): CodedFault[] {
  return faults.map((fault) => ({ ...fault, code }))
}

/** Keeps one diagnostic per key: the first one names the fix, which often resolves the others as well. */
function diagnosticsOf(
  faults: readonly CodedFault[],
  file: string,
  schema: SchemaNode,
  place?: YamlPosition,
): ConfigDiagnostic[] {
  const diagnostics = new Map<string, ConfigDiagnostic>()
  for (const { path, at, code, message } of faults) {
    const { line, column } = typeof at === 'object' ? at : (place?.(path, at ?? 'value') ?? { line: 1, column: 1 })
    const slot = JSON.stringify([path, typeof at === 'object' ? at : ''])
    const key = keyText(nameable(schema, path))
    if (!diagnostics.has(slot)) diagnostics.set(slot, { code, file, line, column, key, message })
  }
  return [...diagnostics.values()].toSorted((a, b) => a.line - b.line || a.column - b.column)
}
