import type { Command, Offer } from '../command.ts'
import { optionsOf } from './help.ts'

/** What can be typed after one command, as all three shells need it. */
export interface Typing {
  readonly command: string
  readonly summary: string
  readonly options: readonly { readonly word: string; readonly help: string }[]
  /** The options that want a value, each with its short form, and what is offered for it. */
  readonly valued: readonly { readonly words: readonly string[]; readonly offer: string }[]
  /** What is offered for each operand; the last holds for all that follow. */
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
    operands: operands === undefined ? [NOTHING] : (operands.offers ?? [[]]).map(codeOf),
  }
}

/** How the scripts are told that there is nothing to offer. */
export const NOTHING = '-'

/** How the scripts are told what to offer: a word of theirs, or an equals sign and the words themselves. */
function codeOf(offer: Offer): string {
  if (typeof offer === 'string') return offer
  return offer.length === 0 ? NOTHING : `=${offer.join(' ')}`
}
