import { styleText } from 'node:util'
import type { Context } from './command.ts'

/** Colours a text, or leaves it as it is. */
export type Paint = (colour: 'red' | 'yellow' | 'green' | 'dim' | 'bold', text: string) => string

/** On a terminal that can show them, unless the user wants none: https://no-color.org. */
export function paintFor({ streams, environment }: Pick<Context, 'streams' | 'environment'>): Paint {
  if (streams.stdout.isTTY !== true || !environment.colours) return (_, text) => text
  return (colour, text) => styleText(colour, text, { validateStream: false })
}
