import type { Command, Commands, Option, Options } from '../src/daemon/cli/command.ts'
import { COMMON, CONFIGURING, usageOf } from '../src/daemon/cli/help.ts'
import { CALLS, COMMAND_GROUPS } from '../src/daemon/command-table.ts'

/** The manual page skillsyncd(1), made of what each command says of itself. */
export async function manualPage(version: string): Promise<string> {
  const groups = COMMAND_GROUPS.map(async ({ heading, commands }) =>
    [`.SH ${quoted(`${heading} commands`.toUpperCase())}`].concat(await commandSections(commands)),
  )
  const ofProgram = new Map([...CALLS].filter(([name]) => name.startsWith('--')))
  return [
    '.\\" Made of the commands themselves. UPDATE_MAN=1 npx vitest run test/daemon/cli/manual.test.ts writes it anew.',
    `.TH SKILLSYNCD 1 "" "skillsyncd ${version}" "User Commands"`,
    '.SH NAME',
    text('skillsyncd - agent skills from git to every agent, pinned'),
    '.SH SYNOPSIS',
    '.B skillsyncd',
    text('COMMAND [options]'),
    '.SH DESCRIPTION',
    ...paragraphs(DESCRIPTION),
    ...(await Promise.all(groups)).flat(),
    '.SH OPTIONS',
    text('Of all commands that need a configuration:'),
    ...optionItems(CONFIGURING),
    '.P',
    text('Of all commands:'),
    ...optionItems(COMMON),
    ...(await commandSections(ofProgram)),
    '.SH EXIT STATUS',
    ...STATUS.flatMap(([status, what]) => item(bold(status), what)),
    '.SH FILES',
    ...FILES.flatMap(([file, what]) => item(italic(file), what)),
    '.SH SEE ALSO',
    text('git(1), ssh(1)'),
    '',
  ].join('\n')
}

const DESCRIPTION = `
skillsyncd mirrors git repositories of Agent Skills, pins every skill by commit and content digest, serves them to clients
of the Model Context Protocol, and notifies subscribed clients of what changed.

skillsyncd add writes a first configuration. skillsyncd start is the daemon; skillsyncd mcp serves one client over
stdio. All other commands use the running daemon, or do their work without one. skillsyncd --version shows the
versions of this program and of Node.js.
`

const STATUS = [
  ['0', 'done'],
  ['1', 'failed'],
  ['2', 'wrong usage or configuration'],
  ['3', 'a check found something'],
] as const

const FILES = [
  [
    './skillsyncd.yaml',
    'the configuration; then ~/.config/skillsyncd/skillsyncd.yaml, then /etc/skillsyncd/skillsyncd.yaml, then that of the running daemon',
  ],
  ['skills.lock', 'the lock, beside the configuration'],
  ['~/.local/state/skillsyncd', 'the state folder, if neither $STATE_DIRECTORY nor the configuration names another'],
] as const

async function commandSections(commands: Commands): Promise<string[]> {
  const sections = [...commands.values()].map(async ({ summary, load }) => commandSection(await load(), summary))
  return (await Promise.all(sections)).flat()
}

function commandSection(command: Command, summary: string): string[] {
  const { details = '', options = {}, examples } = command
  return [
    `.SS ${quoted(usageOf(command).replace(/ \[options\]$/, ''))}`,
    text(summary),
    ...more(details),
    ...optionItems(options),
    '.P',
    text(examples.length === 1 ? 'Example:' : 'Examples:'),
    ...examples.flatMap((example) => ['.br', text(`    ${example}`)]),
  ]
}

function more(details: string): string[] {
  const lines = paragraphs(details)
  return lines.length === 0 ? [] : ['.P', ...lines]
}

function paragraphs(prose: string): string[] {
  const blocks = prose.split(/\n\s*\n/).filter((block) => block.trim() !== '')
  return blocks.flatMap((block, index) => (index === 0 ? linesOf(block) : ['.P'].concat(linesOf(block))))
}

/** What is set in by more than two is a line of its own; all else flows. */
function linesOf(block: string): string[] {
  return block.split('\n').flatMap((line) => {
    if (line.trim() === '') return []
    return line.startsWith('    ') ? ['.br', text(line.trim())] : [text(line.trim())]
  })
}

function optionItems(options: Options): string[] {
  return Object.entries(options).flatMap(([name, option]) => item(namesOf(name, option), option.help))
}

function namesOf(name: string, { short, value }: Option): string {
  const long = bold(`--${name}`) + (value === undefined ? '' : ` ${italic(value)}`)
  return short === undefined ? long : `${bold(`-${short}`)}, ${long}`
}

function item(head: string, what: string): string[] {
  return ['.TP', head, text(what)]
}

function bold(words: string): string {
  return `\\fB${escaped(words)}\\fR`
}

function italic(words: string): string {
  return `\\fI${escaped(words)}\\fR`
}

/** A heading is one argument of its macro. */
function quoted(words: string): string {
  return `"${escaped(words).replaceAll('"', String.raw`\(dq`)}"`
}

/** A line of text: a dot or an apostrophe at its start would make it a request. */
function text(words: string): string {
  return escaped(words).replace(/^(?=[.'])/, String.raw`\&`)
}

/** A hyphen that is typed is a minus to roff, and what is no ASCII has a name there. */
function escaped(words: string): string {
  return words
    .replaceAll('\\', String.raw`\e`)
    .replaceAll('-', String.raw`\-`)
    .replaceAll('…', '...')
    .replaceAll(
      /[^\n -~]/gu,
      (character) => `\\[u${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
    )
    .replaceAll('~', String.raw`\(ti`)
    .replaceAll("'", String.raw`\(aq`)
    .replaceAll('^', String.raw`\(ha`)
    .replaceAll('`', String.raw`\(ga`)
}
