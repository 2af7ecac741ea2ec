import { access, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml'
import type { ErrorCode, YAMLError, YAMLMap } from 'yaml'
import { codeOf } from '../../base/error-code.ts'
import { utf8 } from '../../sync/skill/frontmatter.ts'
import { pathOfKept } from './config.ts'
import type { Config } from './config.ts'
import { ifHomeIsKnown, UNKNOWN_HOME } from './environment.ts'
import type { Environment } from './environment.ts'
import { configFaultsOf, READING } from './error-messages.ts'
import { configOf } from './normalize.ts'
import { withPresentSources } from './present-sources.ts'
import { processEnvironment } from './process-environment.ts'
import { ConfigError, configErrorOf, keyText } from './rules/config-error.ts'
import type { ConfigCode, ConfigDiagnostic, Fault, KeyPath, Position } from './rules/config-error.ts'
import { ruleFaults } from './rules/cross-key-rules.ts'
import { nameable, plainSchema } from './schema-json.ts'
import type { SchemaNode } from './schema-json.ts'
import { CONFIG } from './schema/schema.ts'
import type { ConfigFile } from './schema/schema.ts'

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

/** A YAML text as plain data with the positions of keys and values, or the faults that make it unreadable. */
type YamlReading =
  | { readonly ok: true; readonly value: unknown; readonly faults: readonly Fault[]; readonly place: YamlPosition }
  | { readonly ok: false; readonly faults: readonly Fault[] }

/** Returns the position of a key or its value; for a path that is not in the text, that of the nearest one above it. */
type YamlPosition = (path: KeyPath, what: 'key' | 'value') => Position

/** More than a person writes by hand. */
const LIMITS = { length: 1_048_576, depth: 16 } as const

/** Reads one YAML 1.2 document. Never throws; no message repeats a part of the text, which may contain a secret. */
function readYaml(text: string): YamlReading {
  if (text.length > LIMITS.length) {
    return { ok: false, faults: [{ path: [], at: START, message: `the file is over ${LIMITS.length} characters` }] }
  }
  const lines = linesOf(text)
  // The walk finds duplicate keys, because it can name them.
  const document = parseDocument(text, { prettyErrors: false, strict: true, uniqueKeys: false })
  const broken = [...document.errors, ...document.warnings]
  if (broken.length > 0) return { ok: false, faults: syntaxFaults(broken, lines) }
  const walk = new Walk(lines)
  const value = walk.plain(document.contents, [])
  if (walk.refusals.length > 0) return { ok: false, faults: walk.refusals }
  return { ok: true, value, faults: walk.duplicates, place: (path, what) => walk.place(path, what) }
}

const START: Position = { line: 1, column: 1 }

/** The line count of the parser misses some lines if the text is broken. */
function linesOf(text: string): LineCounter {
  const lines = new LineCounter()
  for (let start = 0; ;) {
    lines.addNewLine(start)
    const feed = text.indexOf('\n', start)
    if (feed === -1) return lines
    start = feed + 1
  }
}

function at(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset)
  return { line, column: col }
}

/**
 * Keeps the first fault of each kind: later ones are mostly consequences. The parser's own messages quote the text, so
 * they are not used.
 */
function syntaxFaults(broken: readonly YAMLError[], lines: LineCounter): Fault[] {
  const first = new Map<string, Fault>()
  for (const { code, pos } of broken.toSorted((a, b) => a.pos[0] - b.pos[0])) {
    const message = SYNTAX[code] ?? 'this is not valid YAML'
    if (!first.has(message)) first.set(message, { path: [], at: at(lines, pos[0]), message })
  }
  return [...first.values()]
}

const SYNTAX: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_ALIAS: 'aliases are not supported here; write the value out',
  BAD_INDENT: 'this is not valid YAML: the indentation matches no line above it',
  BLOCK_AS_IMPLICIT_KEY: 'this is not valid YAML: a mapping begins inside a value; quote a value that holds ": "',
  MISSING_CHAR: 'this is not valid YAML: a closing quote, a bracket, a comma, a colon or a space is missing',
  MULTILINE_IMPLICIT_KEY: 'this is not valid YAML: a key goes over several lines; check the colon and the quotes',
  MULTIPLE_DOCS: 'the file holds more than one YAML document; keep one',
  RESOURCE_EXHAUSTION: 'the file is nested too deep',
  TAB_AS_INDENT: 'this is not valid YAML: a tab is used where spaces are required; indent with spaces',
  TAG_RESOLVE_FAILED: 'tags are not supported here; write the plain value',
}

/** One pass over the nodes: collects the plain value, all positions and the refusals. */
class Walk {
  /** Faults that make the value unusable. */
  readonly refusals: Fault[] = []
  readonly duplicates: Fault[] = []
  readonly #places = new Map<string, { readonly key: Position; readonly value: Position }>()
  readonly #lines: LineCounter

  constructor(lines: LineCounter) {
    this.#lines = lines
  }

  plain(node: unknown, path: KeyPath, key = START): unknown {
    const position = this.#start(node) ?? key
    this.#places.set(JSON.stringify(path), { key: path.length === 0 ? position : key, value: position })
    // A few bytes of aliases can expand to gigabytes.
    if (isAlias(node)) return this.#refuse(path, position, 'aliases are not supported here; write the value out')
    if (path.length > LIMITS.depth) return this.#refuse([], position, 'the file is nested too deep')
    if (isMap(node)) return this.#mapping(node, path)
    if (isSeq(node)) return node.items.map((item, index) => this.plain(item, [...path, index], position))
    return isScalar(node) ? node.value : null
  }

  place(path: KeyPath, what: 'key' | 'value'): Position {
    const found = this.#places.get(JSON.stringify(path))
    if (found !== undefined) return found[what]
    return path.length === 0 ? START : this.place(path.slice(0, -1), 'value')
  }

  #mapping(node: YAMLMap, path: KeyPath): Record<string, unknown> {
    const mapping: Record<string, unknown> = {}
    for (const pair of node.items) {
      const key = isScalar(pair.key) ? pair.key.value : undefined
      const position = this.#start(pair.key) ?? this.place(path, 'value')
      if (typeof key !== 'string' || key === '__proto__') {
        this.#refuse(path, position, 'a key here is not text; put it in quotes if it is intended')
      } else if (Object.hasOwn(mapping, key)) {
        const message = 'the key is here a second time; keep one of the two'
        this.duplicates.push({ path: [...path, key], at: position, message })
      } else {
        mapping[key] = this.plain(pair.value, [...path, key], position)
      }
    }
    return mapping
  }

  #start(node: unknown): Position | undefined {
    const range = isMap(node) || isSeq(node) || isScalar(node) || isAlias(node) ? node.range : undefined
    return range ? at(this.#lines, range[0]) : undefined
  }

  #refuse(path: KeyPath, position: Position, message: string): undefined {
    this.refusals.push({ path, at: position, message })
    return undefined
  }
}
