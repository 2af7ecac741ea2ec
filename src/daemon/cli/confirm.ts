import type { Context } from './command.ts'
import { Prompt } from './prompt.ts'

/** The answer of a person on a terminal; false elsewhere. */
export async function isYes(context: Context, question: string): Promise<boolean> {
  const { stdin: input, stderr: output } = context.streams
  if (input.isTTY !== true || output.isTTY !== true || context.json) return false
  using questions = new Prompt({ input, output, signal: context.signal })
  const answer = await questions.ask(`${question} [y/N]`)
  return answer !== undefined && /^y(?:es)?$/i.test(answer)
}
