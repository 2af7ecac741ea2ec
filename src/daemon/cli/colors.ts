import { styleText } from 'node:util'
import type { Context } from './command.ts'

/** Colors a text, or returns it as it is. */
export type Paint = (colour: 'red' | 'yellow' | 'green' | 'dim' | 'bold', text: string) => string

/** Colors are used only on a terminal that can show them, unless the user disables them: https://no-color.org. */
export function paintFor({ streams, environment }: Pick<Context, 'streams' | 'environment'>): Paint {
  if (streams.stdout.isTTY !== true || !environment.colours) return (_, text) => text
  return (colour, text) => styleText(colour, text, { validateStream: false })
}
