import { VERSION } from '../../../serve/version.ts'
import { FORMS } from '../../config/command-line-config.ts'
import type { Command, Option, Options } from '../command.ts'

/** The output of `skillsyncd --help`. */
export function helpOf(commands: readonly Command[]): string {
  const rows = commands.map(
    ({ name, operands, summary }) => `  ${`${name} ${operands?.text ?? ''}`.padEnd(24)} ${summary}`,
  )
  return `skillsyncd ${VERSION}: agent skills from git to every agent, pinned

Usage: skillsyncd COMMAND [options]

${rows.join('\n')}

Everywhere:
${optionRows({ ...CONFIGURING, ...COMMON })}
      --version        the version of this program

Exit status: 0 done, 1 failed, 2 wrong usage or configuration, 3 a check found something
`
}

/** The output of `skillsyncd COMMAND --help`. */
export function helpOfCommand(command: Command): string {
  const { summary, needsConfiguration, options = {}, details = '' } = command
  const own = Object.keys(options).length === 0 ? '' : `${optionRows(options)}\n\n`
  const common = needsConfiguration === false ? COMMON : { ...CONFIGURING, ...COMMON }
  return `Usage: ${usageOf(command)}

${summary}
${details}
${own}${optionRows(common)}
`
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
    help: "the configuration; default: ./skillsyncd.yaml, then the user's, then the system's",
    offers: 'files',
  },
  state: { type: 'string', value: 'DIR', help: "the state folder, in place of the configuration's", offers: 'folders' },
  source: {
    type: 'string',
    value: 'URL',
    multiple: true,
    help: 'a repository to use without a configuration; may be repeated',
    offers: 'folders',
  },
  'skills-dir': {
    type: 'string',
    value: 'DIR',
    multiple: true,
    help: 'a folder of skills to use without a configuration: an absolute path; may be repeated',
    offers: 'folders',
  },
  form: {
    type: 'string',
    value: 'FORM,…',
    multiple: true,
    help: `of these sources and folders, serve in further forms: ${FORMS.join(', ')}`,
    offers: FORMS,
  },
}

/** The options of all commands. */
export const COMMON: Options = {
  json: { type: 'boolean', help: 'the result as JSON' },
  'log-level': {
    type: 'string',
    value: 'L',
    help: 'error, warn, info or debug; default: info',
    offers: ['error', 'warn', 'info', 'debug'],
  },
  quiet: { type: 'boolean', short: 'q', help: 'nothing but results and errors' },
  help: { type: 'boolean', short: 'h', help: 'this text' },
}

/** The width of the help, and the column at which its texts begin. */
const COLUMNS = 120
const TEXT_AT = 23

function optionRows(options: Options): string {
  return Object.entries(options).flatMap(rowsOf).join('\n')
}

function rowsOf([name, { short, value, help }]: readonly [string, Option]): string[] {
  const names = `${short === undefined ? '    ' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`
  const [first = '', ...rest] = wrap(help, COLUMNS - TEXT_AT)
  return [`${`  ${names}`.padEnd(TEXT_AT - 1)} ${first}`, ...rest.map((line) => ' '.repeat(TEXT_AT) + line)]
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line === undefined || line.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${line} ${word}`
  }
  return lines
}
