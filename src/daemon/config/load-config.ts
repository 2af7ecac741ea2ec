import { access, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { codeOf } from '../../base/error-code.ts'
import { utf8 } from '../../sync/skill/frontmatter.ts'
import { pathOfKept } from './config.ts'
import type { Config } from './config.ts'
import { UNKNOWN_HOME, ifHomeIsKnown } from './environment.ts'
import type { Environment } from './environment.ts'
import { READING, configFaultsOf } from './error-messages.ts'
import { configOf } from './normalize.ts'
import { withPresentSources } from './present-sources.ts'
import { processEnvironment } from './process-environment.ts'
import { ConfigError, configErrorOf, keyText } from './rules/config-error.ts'
import type { ConfigCode, ConfigDiagnostic, Fault } from './rules/config-error.ts'
import { ruleFaults } from './rules/cross-key-rules.ts'
import { nameable, plainSchema } from './schema-json.ts'
import type { SchemaNode } from './schema-json.ts'
import { CONFIG } from './schema/schema.ts'
import type { ConfigFile } from './schema/schema.ts'
import { readYaml } from './yaml.ts'
import type { YamlPosition } from './yaml.ts'

/** The options of the command line that change what is read. */
export interface ReadOptions {
  /** `--config`; without it the usual places are searched. */
  readonly file?: string | undefined
  /** `--state`, which overrides the file. */
  readonly state?: string | undefined
}

/** Finds, reads and checks the configuration. All faults are thrown as one `ConfigError`. */
export async function readConfig(options: ReadOptions = {}, environment = processEnvironment()): Promise<Config> {
  const file = await findConfig(options.file, environment)
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw new ConfigError(`Cannot read the configuration "${file}": ${reasonOf(cause)}`, { cause })
  })
  const text = utf8(bytes)
  if (text === undefined) throw new ConfigError(`Cannot read the configuration "${file}": it is not valid UTF-8`)
  const config = parseConfig(text, file, environment, options.state && resolve(options.state))
  if (Array.isArray(config)) throw configErrorOf(config)
  return withPresentSources(config)
}

/** The file to read: the named one, else the first that exists in the current folder, the user's and the system's. */
export async function findConfig(explicit?: string, environment = processEnvironment()): Promise<string> {
  const file = explicit === undefined ? await searchConfig(environment) : resolve(explicit)
  if (file !== undefined) return file
  const searched = configPlaces(environment)
    .map((place) => `"${place}"`)
    .join(', ')
  throw new ConfigMissingError(
    `Cannot find a configuration: there is none at ${searched}; skillsyncd init URL writes one, --config FILE names one`,
  )
}

/** No file is named, and none is at the usual places. */
export class ConfigMissingError extends ConfigError {}

/** The first configuration that exists in the current folder, the user's and the system's. `undefined` if none does. */
export async function searchConfig(environment: Environment): Promise<string | undefined> {
  for (const file of configPlaces(environment)) if (await exists(file)) return file
  return undefined
}

function configPlaces(environment: Environment): readonly string[] {
  const ofUser = ifHomeIsKnown(() => userConfigFile(environment)) ?? []
  return [join(process.cwd(), CONFIG_NAME), ofUser, join('/etc/skillsyncd', CONFIG_NAME)].flat()
}

/** The configuration of a user, whatever folder a command runs in. */
export function userConfigFile({ configHome }: Environment): string {
  return join(configHome, 'skillsyncd', CONFIG_NAME)
}

/** The name of a configuration that the search finds. */
export const CONFIG_NAME = 'skillsyncd.yaml'

/** A file that cannot be checked counts as present: reading it reports the reason, while skipping would hide it. */
async function exists(file: string): Promise<boolean> {
  try {
    await access(file)
    return true
  } catch (error) {
    return codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR'
  }
}

function reasonOf(cause: unknown): string {
  const code = codeOf(cause)
  if (code === 'ENOENT') return 'no such file; try --source URL to start without one'
  if (code === 'EACCES') return 'permission denied'
  if (code === 'EISDIR') return 'it is a folder'
  return code ?? 'it cannot be opened'
}

/**
 * Parses the configuration, or returns all faults in the order of the text. Never throws; no diagnostic repeats a value.
 * Relative paths are resolved from the folder of the file. `state`: the state folder in place of the one in the text.
 */
export function parseConfig(
  text: string,
  fileName: string,
  environment: Environment,
  state?: string,
): Config | ConfigDiagnostic[] {
  const yaml = readYaml(text.replace(/^\uFEFF/, ''))
  if (!yaml.ok) return diagnosticsOf(withCode('syntax', yaml.faults), fileName, plainSchema())
  const file = CONFIG.safeParse(yaml.value, READING)
  const homeless = file.success ? homelessLinks(file.data, environment) : []
  const betweenKeys = [...yaml.faults, ...ruleFaults(yaml.value), ...homeless]
  if (file.success && betweenKeys.length === 0) return configOf(file.data, fileName, environment, state)
  const schema = plainSchema()
  const ofKeys = file.success ? [] : configFaultsOf(file.error.issues, schema)
  const faults = [...withCode('value', ofKeys), ...withCode('conflict', betweenKeys)]
  return diagnosticsOf(faults, fileName, schema, yaml.place)
}

/** The entries of `links` whose folders are in a home that is not known. */
function homelessLinks({ links = [] }: ConfigFile, environment: Environment): Fault[] {
  return links.flatMap((entry, index) => {
    const agent = typeof entry === 'string' ? entry : entry.agent
    if (agent === undefined || ifHomeIsKnown(() => pathOfKept({ agent, copies: false }, environment))) return []
    const message = `the folder of this agent cannot be found: ${UNKNOWN_HOME}; set HOME, or name the folder with \`to\``
    return [{ path: ['links', index], message }]
  })
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
