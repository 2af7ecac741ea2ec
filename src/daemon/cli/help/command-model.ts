import type { Command, Offer } from '../command.ts'
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

export function typingOf(command: Command): Typing {
  const { name, summary, operands } = command
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

/** The code that tells the scripts that there are no completions. */
export const NO_COMPLETION = '-'

/**
 * The code that tells the scripts what to complete: a keyword of theirs, or an equals sign and the words themselves.
 */
function codeOf(offer: Offer): string {
  if (typeof offer === 'string') return offer
  return offer.length === 0 ? NO_COMPLETION : `=${offer.join(' ')}`
}
