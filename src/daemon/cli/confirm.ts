import { fewText } from '../../base/text/first-few.ts'
import { printableLine } from '../runtime/log/log-line.ts'
import { UsageError } from '../runtime/usage-error.ts'
import type { Context, ExitStatus } from './command.ts'
import { Prompt } from './prompt.ts'

/** The answer of a person on a terminal; false elsewhere. */
export async function isYes(context: Context, question: string): Promise<boolean> {
  const { stdin: input, stderr: output } = context.streams
  if (!canAsk(context)) return false
  using questions = new Prompt({ input, output, signal: context.signal })
  const answer = await questions.ask(`${question} [y/N]`)
  return answer !== undefined && /^y(?:es)?$/i.test(answer)
}

function canAsk({ streams: { stdin, stderr }, json }: Context): boolean {
  return stdin.isTTY === true && stderr.isTTY === true && !json
}

/**
 * Throws if a part of what a person would approve could not be shown: no question is asked about it. `read` shows a
 * file, and `line` approves all.
 */
export function expectShown(notShown: readonly string[], read: string, line: string): void {
  if (notShown.length === 0) return
  const what = printableLine(fewText(notShown, MOST_NAMED))
  throw new UsageError(
    `Not all of it could be shown (${what}): read the rest with ${read}, and approve it with ${line}`,
  )
}

const MOST_NAMED = 10

/** The end without a yes: a person declined, or there is no terminal to ask on. `line` approves what was shown. */
export function nothingApproved(context: Context, line: string): ExitStatus {
  if (!canAsk(context)) throw new UsageError(`Nothing is approved without a yes or the id: ${line}`)
  context.streams.stderr.write(`nothing was approved; ${line} approves it later\n`)
  return 3
}
