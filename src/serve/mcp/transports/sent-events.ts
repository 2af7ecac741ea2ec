import { randomBytes } from 'node:crypto'
import { MAX_SUBSCRIPTIONS } from '../rpc/caller.ts'

/**
 * The messages that a session has sent, each with the id of its last event. A stream can be dead without a sign of it
 * here; a client that comes back names the last event that it has (`Last-Event-ID`), and gets what was sent after it.
 */
export class SentEvents {
  /** Ids of an earlier process are of another session object, and name no event of this one. */
  readonly #prefix = `${randomBytes(6).toString('hex')}-`
  /** The number of the last event of each message, oldest first. Equal messages say the same, so one stands for all. */
  readonly #numbers = new Map<string, number>()
  #last = 0

  /** Counts a message as sent, and returns the id of its event. */
  add(json: string): string {
    this.#last += 1
    this.#numbers.delete(json)
    this.#numbers.set(json, this.#last)
    // The subscription of a message that waited in a stream may have ended before it was sent.
    for (const oldest of this.#numbers.keys()) {
      if (this.#numbers.size <= MOST_MESSAGES) break
      this.#numbers.delete(oldest)
    }
    return this.#prefix + this.#last
  }

  /** Returns the messages that were sent after an event, and forgets them. An unknown id is that of an earlier event. */
  takeAfter(id: string): readonly string[] {
    const seen = id.startsWith(this.#prefix) ? Number(id.slice(this.#prefix.length)) : 0
    const after = [...this.#numbers].filter(([, number]) => !(number <= seen)).map(([json]) => json)
    for (const json of after) this.#numbers.delete(json)
    return after
  }

  /** Forgets a message whose subscription has ended. */
  delete(json: string): void {
    this.#numbers.delete(json)
  }
}

/** One for each subscription, and those about lists. */
const MOST_MESSAGES = MAX_SUBSCRIPTIONS + 4
