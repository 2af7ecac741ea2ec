import type { Command, Offer } from './command.ts'
import { optionsOf } from './help.ts'

/** The completions for one command, in the form that all three shells need. */
export interface Typing {
  readonly command: string
  readonly summary: string
  readonly options: readonly { readonly word: string; readonly help: string }[]
  /** The options with a value, each with its short form and the completions for the value. */
  readonly valued: readonly { readonly words: readonly string[]; readonly offer: string }[]
  /** The completions for each operand; the last entry applies to all that follow. */
  readonly operands: readonly string[]
}

/** A command, with its line of the list of commands. */
interface ListedCommand {
  readonly command: Command
  readonly summary: string
}

function typingOf({ command, summary }: ListedCommand): Typing {
  const { name, operands } = command
  const options = Object.entries(optionsOf(command))
  return {
    command: name,
    summary,
    options: options.map(([long, { help }]) => ({ word: `--${long}`, help })),
    valued: options
      .filter(([, { type }]) => type === 'string')
      .map(([long, { short, offers }]) => ({
        words: [`--${long}`, ...(short === undefined ? [] : [`-${short}`])],
        offer: codeOf(offers ?? []),
      })),
    operands: operands === undefined ? [NO_COMPLETION] : (operands.offers ?? [[]]).map(codeOf),
  }
}

/** The completions for all commands, and for the families of those whose names have two words. */
export function typingsOf(commands: readonly ListedCommand[]): readonly Typing[] {
  const families = new Map<string, string[]>()
  for (const { command } of commands) {
    const [family = '', verb] = command.name.split(' ')
    if (verb !== undefined) families.set(family, [...(families.get(family) ?? []), verb])
  }
  return [...commands.map(typingOf), ...[...families].map(([family, verbs]) => typingOfFamily(family, verbs))]
}

function typingOfFamily(command: string, verbs: readonly string[]): Typing {
  return {
    command,
    summary: `Commands: ${verbs.join(', ')}`,
    options: [{ word: '--help', help: 'show the help' }],
    valued: [],
    operands: [codeOf(verbs), NO_COMPLETION],
  }
}

/** The words that can stand first on a command line. */
export function firstWords(typings: readonly Typing[]): readonly Typing[] {
  return typings.filter(({ command }) => !command.includes(' '))
}

/** The words that begin a command of two words, as alternatives of a pattern of a shell. */
export function familyPattern(typings: readonly Typing[]): string {
  const families = typings.flatMap(({ command }) => (command.includes(' ') ? [command.split(' ', 1)[0]] : []))
  return [...new Set(families)].join(' | ')
}

/** The code that tells the scripts that there are no completions. */
export const NO_COMPLETION = '-'

/**
 * The code that tells the scripts what to complete: a keyword of theirs, or an equals sign and the words themselves.
 */
function codeOf(offer: Offer): string {
  if (typeof offer === 'string') return offer
  return offer.length === 0 ? NO_COMPLETION : `=${offer.join(' ')}`
}
