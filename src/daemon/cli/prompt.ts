import { createInterface } from 'node:readline'
import type { Interface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { printableLine } from '../runtime/log/log-line.ts'

export interface QuestionsOptions {
  readonly input: Readable
  readonly output: Writable
  readonly signal: AbortSignal
}

/** Asks a person on a terminal, who answers each question with one line. */
export class Prompt implements Disposable {
  readonly #output: Writable
  readonly #signal: AbortSignal
  readonly #lines: Interface
  readonly #answers: AsyncIterator<string>

  constructor({ input, output, signal }: QuestionsOptions) {
    this.#output = output
    this.#signal = signal
    this.#lines = createInterface({ input, signal })
    this.#answers = this.#lines[Symbol.asyncIterator]()
  }

  /** The answer; `undefined` for an empty line, or at the end of input. */
  async ask(question: string): Promise<string | undefined> {
    this.#output.write(`${printableLine(question)} `)
    const { value, done } = await this.#answers.next()
    this.#signal.throwIfAborted()
    if (done === true) this.#output.write('\n')
    return done === true || value.trim() === '' ? undefined : value.trim()
  }

  tell(text: string): void {
    this.#output.write(`${printableLine(text)}\n`)
  }

  [Symbol.dispose](): void {
    this.#lines.close()
  }
}
