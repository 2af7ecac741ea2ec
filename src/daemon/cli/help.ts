import { wrapWords } from '../../base/text/wrap-words.ts'
import { VERSION } from '../../serve/version.ts'
import { FORMS } from '../config/forms.ts'
import type { Command, Options } from './command.ts'

/** The output of `skillsyncd --help`, in lines of at most `columns` characters. */
export function helpOf(
  groups: readonly { readonly heading: string; readonly commands: Summaries }[],
  columns: number,
): string {
  const width = widthFor(columns)
  const sections = groups.map(({ heading, commands }) => [`${heading}:`, ...rowsOf(commands, width)].join('\n'))
  const title = wrapWords(`skillsyncd ${VERSION}: agent skills from git to every agent, pinned`, width).join('\n')
  return `${title}

Usage: skillsyncd COMMAND [options]

${sections.join('\n\n')}

Options of all commands:
${optionRows({ ...CONFIGURING, ...COMMON }, width)}

${wrapWords('skillsyncd COMMAND --help describes a command, with examples. skillsyncd --version shows the versions of this program and of Node.js, and skillsyncd --completion SHELL prints a script for bash, zsh or fish.', width).join('\n')}
${wrapWords('Exit status: 0 done, 1 failed, 2 wrong usage or configuration, 3 a check found something', width).join('\n')}
`
}

/** The line of each command, by its name. */
type Summaries = ReadonlyMap<string, { readonly summary: string }>

function rowsOf(commands: Summaries, width: number): string[] {
  return [...commands].flatMap(([name, { summary }]) => rowOf(`  ${name}`, summary, width))
}

/** The output of `skillsyncd COMMAND --help`, in lines of at most `columns` characters. */
export function helpOfCommand(command: Command, summary: string, columns: number): string {
  const { needsConfiguration, options = {}, details = '', examples } = command
  const width = widthFor(columns)
  const own = Object.keys(options).length === 0 ? [] : [`Options:\n${optionRows(options, width)}`]
  const common = needsConfiguration === false ? COMMON : { ...CONFIGURING, ...COMMON }
  const shared = Object.fromEntries(Object.entries(common).filter(([name]) => !Object.hasOwn(options, name)))
  return `${[
    wrapWords(`Usage: ${usageOf(command)}`, width).join('\n'),
    wrapWords(summary, width).join('\n'),
    ...flowed(details, width),
    `Examples:\n${examples.map((example) => `  ${example}`).join('\n')}`,
    ...own,
    `Options of all commands:\n${optionRows(shared, width)}`,
  ].join('\n\n')}
`
}

/** The output of the help of a family of commands, such as `skillsyncd mcp-source --help`. */
export function helpOfFamily(family: string, commands: Summaries, columns: number): string {
  return `Usage: skillsyncd ${family} COMMAND [options]

${rowsOf(commands, widthFor(columns)).join('\n')}

skillsyncd ${family} COMMAND --help describes a command, with examples.
`
}

/** Returns the paragraphs of a text. Lines that are indented by more than two are kept as they are; all else flows. */
function flowed(text: string, width: number): string[] {
  return text
    .split(/\n\s*\n/)
    .filter((block) => block.trim() !== '')
    .map((block) => {
      const lines = block.split('\n').filter((line) => line.trim() !== '')
      if (lines.every((line) => line.startsWith('    '))) return lines.join('\n')
      return wrapWords(block, width - 2)
        .map((line) => `  ${line}`)
        .join('\n')
    })
}

export function usageOf({ name, operands }: Command): string {
  return ['skillsyncd', name, ...(operands === undefined ? [] : [operands.text]), '[options]'].join(' ')
}

/** All options that a command accepts. */
export function optionsOf({ options, needsConfiguration }: Command): Options {
  return { ...(needsConfiguration === false ? {} : CONFIGURING), ...COMMON, ...options }
}

/** The options that name a configuration or replace one. */
export const CONFIGURING: Options = {
  config: {
    type: 'string',
    short: 'c',
    value: 'FILE',
    help: "the configuration; default: ./skillsyncd.yaml, the user's, the system's, that of the running daemon",
    offers: 'files',
  },
  state: { type: 'string', value: 'DIR', help: 'the state folder, instead of the configured one', offers: 'folders' },
  source: {
    type: 'string',
    value: 'URL',
    multiple: true,
    help: 'use this repository, without a configuration; may be repeated',
    offers: 'folders',
  },
  'skills-dir': {
    type: 'string',
    value: 'DIR',
    multiple: true,
    help: 'use this folder of skills, without a configuration; an absolute path; may be repeated',
    offers: 'folders',
  },
  form: {
    type: 'string',
    value: 'FORM,…',
    multiple: true,
    help: 'with --source and --skills-dir: these forms too, as serve.forms has them; --form=-FORM takes one away',
    offers: FORMS,
  },
}

/** The options of all commands. */
export const COMMON: Options = {
  json: { type: 'boolean', help: 'print the result, or the error, as JSON' },
  'log-level': {
    type: 'string',
    value: 'L',
    help: 'error, warn, info or debug; default: info',
    offers: ['error', 'warn', 'info', 'debug'],
  },
  quiet: { type: 'boolean', short: 'q', help: 'print only results and errors' },
  help: { type: 'boolean', short: 'h', help: 'show the help' },
}

/** The column at which the texts of the help begin. */
const TEXT_AT = 25

/** Lines are neither so short that a text breaks after each word, nor so long that they are hard to read. */
function widthFor(columns: number): number {
  return Math.min(100, Math.max(50, columns))
}

function optionRows(options: Options, width: number): string {
  return Object.entries(options)
    .flatMap(([name, { short, value, help }]) => {
      const names = `${short === undefined ? '    ' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`
      return rowOf(`  ${names}`, help, width)
    })
    .join('\n')
}

/** A term, and its text beside it. A long term has a line of its own. */
function rowOf(term: string, text: string, width: number): string[] {
  const [first = '', ...rest] = wrapWords(text, width - TEXT_AT)
  const indent = ' '.repeat(TEXT_AT)
  const head = term.length + 2 > TEXT_AT ? [term, indent + first] : [term.padEnd(TEXT_AT) + first]
  return [...head, ...rest.map((line) => indent + line)]
}
