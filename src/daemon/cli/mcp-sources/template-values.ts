import { z } from 'zod'
import type { Completing } from '../../../sync/upstream/mcp/completion.ts'
import type { Prompt } from '../ask.ts'
import type { AskWriter } from '../daemon-client.ts'

/** Has a person choose a value for a variable among those that the server offers, or enter one if it offers none. */
export async function valueFor(
  asked: Completing & { readonly source: string },
  questions: Prompt,
  ask: AskWriter,
): Promise<string | undefined> {
  const { variable } = asked
  const { values, hasMore } = COMPLETED.parse(await ask('complete', asked))
  if (values.length === 0) return questions.ask(`${variable}:`)
  for (const [index, value] of values.entries()) questions.tell(`  ${index + 1}  ${value}`)
  for (;;) {
    const answer = await questions.ask(`${variable}, by number or in full${hasMore ? '; there are more' : ''}:`)
    const value = values.find((one) => one === answer) ?? values[Number(answer) - 1]
    if (value !== undefined || hasMore || answer === undefined) return value ?? answer
    questions.tell(`"${answer}" is none of them; an empty line cancels`)
  }
}

const COMPLETED = z.object({ values: z.array(z.string()), hasMore: z.boolean() })
