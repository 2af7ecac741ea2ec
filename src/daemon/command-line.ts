import { parseArgs } from 'node:util'
import { closestTo } from '../base/text/closest.ts'
import type { Command } from './cli/command.ts'
import { COMMON, CONFIGURING, helpOfFamily, optionsOf } from './cli/help.ts'
import { CALLS, COMMANDS, SYNONYMS, verbsOf } from './command-table.ts'
import { printableLine } from './runtime/log/log-line.ts'
import { UsageError } from './runtime/usage-error.ts'

/** A command with its arguments. */
interface CommandCall {
  readonly command: Command
  readonly args: readonly string[]
}

/** Returns the command that the words begin with. Throws `UsageError` with a suggestion if there is none. */
export async function commandIn(words: readonly string[]): Promise<CommandCall> {
  const [first = '', ...rest] = words
  const [second, ...others] = rest
  const inFamily = await COMMANDS.get(`${first} ${second}`)?.load()
  if (inFamily !== undefined) return { command: inFamily, args: others }
  const command = await CALLS.get(first)?.load()
  if (command === undefined) throw unknownCommand(words)
  return { command, args: rest }
}

/**
 * Moves options before the command, or before the verb of a family, to its own options: `skillsyncd --json mcp-source
 * mirror hub` and `skillsyncd mcp-source --json mirror hub` are `skillsyncd mcp-source mirror hub --json`.
 */
export function commandFirst(args: readonly string[]): readonly string[] {
  const { options, rest } = leadingOptions(args)
  const [name, ...others] = rest
  if (name === undefined) return args
  const inner = verbsOf(name).length === 0 ? { options: [], rest: others } : leadingOptions(others)
  const words = [name, ...inner.rest]
  const own = words.findIndex((word, at) => at > 0 && word.startsWith('-'))
  return words.toSpliced(own === -1 ? words.length : own, 0, ...options, ...inner.options)
}

/** Splits off the options that the words begin with. */
function leadingOptions(words: readonly string[]): { options: readonly string[]; rest: readonly string[] } {
  let end = 0
  for (;;) {
    const option = words[end] ?? ''
    const known = Object.entries(LEADING).find(([name, { short }]) =>
      option.startsWith('--') ? option.split('=', 1)[0] === `--${name}` : option === `-${short}`,
    )
    if (known === undefined) return { options: words.slice(0, end), rest: words.slice(end) }
    end += known[1].type === 'string' && !option.includes('=') ? 2 : 1
  }
}

/** The options that may stand before the command. Help of it is help of the program. */
const { help: _help, ...LEADING } = { ...CONFIGURING, ...COMMON }

/** Returns the help of a family of commands. */
export function helpAbout(family: string, columns: number): string {
  const commands = new Map([...COMMANDS].filter(([one]) => one.startsWith(`${family} `)))
  return helpOfFamily(family, commands, columns)
}

/** True for the name of a family of commands alone, or with options. */
export function isFamily([name = '', second, ...others]: readonly string[]): boolean {
  const verbs = verbsOf(name)
  if (second === undefined) return verbs.length > 0
  return second.startsWith('-') && verbs.length > 0 && !others.some((word) => verbs.includes(word))
}

/** True if the words have the option `--json`. */
export function isJsonWanted(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  return words.slice(0, end === -1 ? undefined : end).includes('--json')
}

/**
 * The programs of other servers have no commands, and client configurations are written in their form: `--skills-dir
 * DIR` alone.
 */
function unknownCommand(words: readonly string[]): UsageError {
  const [name = '', second] = words.map((word) => printableLine(word))
  const isOption = /^--(?:skills-dir|source|config|state|form|pack)(?:=|$)/.test(name)
  if (isOption)
    return new UsageError(`The command stands before its options: skillsyncd mcp ${name.split('=', 1)[0]} …`)
  const verbs = verbsOf(name)
  if (verbs.length > 0) {
    const meant = closestTo(second ?? '', verbs)
    const hint = meant === undefined ? `it has ${verbs.join(', ')}` : `did you mean "skillsyncd ${name} ${meant}"?`
    return new UsageError(`There is no command "${name} ${second ?? ''}"; ${hint}`)
  }
  const names = [...COMMANDS.keys()]
  const verb = names.find((one) => one.endsWith(` ${name}`))
  const meant = Object.hasOwn(SYNONYMS, name) ? SYNONYMS[name] : (verb ?? closestTo(name, names))
  const hint = meant === undefined ? 'skillsyncd --help lists them' : `did you mean "skillsyncd ${meant}"?`
  return new UsageError(`There is no command "${name}"; ${hint}`)
}

/** Parses the options of a command. Throws `UsageError` with a suggestion. */
export function parseOptions(command: Command, args: readonly string[]): ReturnType<typeof parseArgs> {
  try {
    return parseArgs({
      args: [...args],
      options: { ...CONFIGURING, ...optionsOf(command) },
      allowPositionals: true,
      strict: true,
    })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    // Node's message continues with suggestions.
    const [fault = ''] = error.message.split('. To specify')
    const meant = closestTo(/^Unknown option '--([^']*)'/.exec(fault)?.[1] ?? '', Object.keys(optionsOf(command)))
    const hint = meant === undefined ? `see skillsyncd ${command.name} --help` : `did you mean --${meant}?`
    throw new UsageError(`${fault}; ${hint}`, { cause: error })
  }
}
