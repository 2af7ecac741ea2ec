import { randomUUID } from 'node:crypto'
import { isAbortError } from '../../base/async/abort-error.ts'
import { abortable } from '../../base/async/abortable.ts'
import { isObject } from '../../base/json-object.ts'
import { parseJson } from '../../base/json-value.ts'
import { OperatorError, operatorErrorCodeOf } from '../../daemon/runtime/operator-error.ts'
import {
  problemIn,
  plainProblemOf,
  remedyIn,
  SyncError,
  unwrapSuppressed,
  unlessSyncError,
} from '../../sync/model/sync-error.ts'
import { DatabaseFailure } from '../../sync/postgres/database-failure.ts'
import { notify } from '../../sync/postgres/notify.ts'
import type { PostgresDatabase } from '../../sync/postgres/postgres-database.ts'
import { StaleFile } from './shared-files.ts'

/** Answers a request of another process. */
export type AnswerRequest = (method: string, params: unknown, send: (event: unknown) => void) => Promise<unknown>

/** One request of this process, until it is answered. */
interface Waiting extends Pick<PromiseWithResolvers<unknown>, 'resolve' | 'reject'> {
  /** True once the database has it. */
  isStored: boolean
}

/**
 * The requests that need the leader of the hub, and that another process was asked. Each is a row: it waits while no
 * process leads, and the next leader answers what the one before it has not.
 */
export class SharedCommands {
  readonly #database: PostgresDatabase
  readonly #waiting = new Map<string, Waiting>()
  readonly #running = new Set<string>()
  /** The answers that the database has not taken yet. */
  readonly #unsent = new Map<string, Unsent>()

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  /** Has the leader answer. `send` gets the events of the answer at its end. Throws `store-failed` without the database. */
  async ask(method: string, params: unknown, send: (event: unknown) => void, signal: AbortSignal): Promise<unknown> {
    const id = randomUUID()
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const waiting: Waiting = { resolve, reject, isStored: false }
    this.#waiting.set(id, waiting)
    try {
      await this.#database.transact('ask the process that leads', async (client) => {
        await client.query(ASK, [id, method, JSON.stringify(params)])
        await notify(client)
      })
      waiting.isStored = true
      return takeAnswer(await abortable(promise, signal), send)
    } finally {
      this.#waiting.delete(id)
      // One that has begun goes on; one that waits is withdrawn.
      await this.#database.query('end a request', WITHDRAW, [id]).catch(unlessSyncError)
    }
  }

  /** Takes the answers that have come meanwhile. */
  async receive(): Promise<void> {
    const stored = [...this.#waiting].filter(([, { isStored }]) => isStored)
    if (stored.length === 0) return
    const text = 'SELECT id, answer FROM skillsyncd.command WHERE id = ANY($1::uuid[])'
    const rows = await this.#database.query('read answers', text, [stored.map(([id]) => id)])
    const answers = new Map(rows.map(({ id, answer }) => [String(id), answer]))
    for (const [id, { resolve, reject }] of stored) {
      const answer = answers.get(id)
      // A copy that is behind may have taken the place of the database.
      if (!answers.has(id))
        reject(new DatabaseFailure('The database has lost the request; check the result, and repeat it'))
      else if (typeof answer === 'string') resolve(parseJson(answer))
    }
  }

  /** Begins to answer the requests that no process answers. Only for the leader. */
  async answer(epoch: number, answer: AnswerRequest): Promise<void> {
    await this.#sendAll()
    const rows = await this.#database.query('take requests', TAKE, [epoch])
    for (const { id, method, params } of rows) {
      const request = { id: String(id), epoch }
      // This process may lead anew, and still run it.
      if (this.#running.has(request.id)) continue
      this.#running.add(request.id)
      // It rejects only with an error that is meant to end the process.
      void this.#run(request, async (send) => answer(String(method), parseJson(String(params)), send))
    }
  }

  async #run({ id, epoch }: Running, work: (send: (event: unknown) => void) => Promise<unknown>): Promise<void> {
    const events: unknown[] = []
    try {
      const result = await work((event) => {
        // The progress of a fetch is of no use at its end.
        if (!isObject(event) || !('fetching' in event)) events.push(event)
      })
      this.#unsent.set(id, { epoch, text: answerText({ events, result: result ?? null }) })
    } catch (thrown) {
      const error = unwrapSuppressed(thrown)
      // This daemon was replaced, or leads no more: the next one begins anew.
      if (isAbortError(error) || error instanceof StaleFile) return await this.#giveBack(id, epoch)
      const told = toldOf(error)
      this.#unsent.set(id, { epoch, text: answerText({ events, error: told ?? UNEXPECTED }) })
      // The next leader must not run into it too.
      if (told === undefined) await this.#sendAll().catch(unlessSyncError)
      if (told === undefined) throw error
    } finally {
      this.#running.delete(id)
    }
    await this.#sendAll().catch(unlessSyncError)
  }

  async #giveBack(id: string, epoch: number): Promise<void> {
    await this.#database.query('give a request back', GIVE_BACK, [id, epoch]).catch(unlessSyncError)
  }

  async #sendAll(): Promise<void> {
    for (const [id, { epoch, text }] of this.#unsent) {
      await this.#database.transact('answer a request', async (client) => {
        await client.query(ANSWER, [id, text, epoch])
        await notify(client)
      })
      this.#unsent.delete(id)
    }
  }
}

const ASK = 'INSERT INTO skillsyncd.command (id, method, params) VALUES ($1, $2, $3)'
/** An answer of a process that was deposed does not count. */
const ANSWER = 'UPDATE skillsyncd.command SET answer = $2 WHERE id = $1 AND epoch = $3 AND answer IS NULL'
const WITHDRAW = 'DELETE FROM skillsyncd.command WHERE id = $1 AND (answer IS NOT NULL OR epoch IS NULL)'
const GIVE_BACK = 'UPDATE skillsyncd.command SET epoch = NULL WHERE id = $1 AND epoch = $2'

/** Those of processes that have ended meanwhile are removed after an hour. */
const TAKE = `
  WITH old AS (DELETE FROM skillsyncd.command WHERE asked < clock_timestamp() - interval '1 hour')
  UPDATE skillsyncd.command SET epoch = $1
  WHERE answer IS NULL AND epoch IS DISTINCT FROM $1 AND asked >= clock_timestamp() - interval '1 hour'
    AND EXISTS (SELECT FROM skillsyncd.present WHERE epoch = $1)
  RETURNING id, method, params`

interface Unsent {
  /** The epoch in which the request was answered. */
  readonly epoch: number
  readonly text: string
}

interface Running {
  readonly id: string
  /** The epoch of the leader that runs it. */
  readonly epoch: number
}

const UNEXPECTED = { code: 'internal', message: 'The process that leads failed in a way it did not expect' }

/** As much as one line of the control socket. */
const MOST_CHARACTERS = 2 ** 20

function toldOf(error: unknown): object | undefined {
  if (error instanceof SyncError) return plainProblemOf(error)
  if (!(error instanceof OperatorError)) return undefined
  const { code, message, fix, place } = error
  return { code, message, fix, place }
}

function answerText(answer: object): string {
  const text = JSON.stringify(answer)
  if (text.length <= MOST_CHARACTERS) return text
  const message = `The answer is over ${MOST_CHARACTERS} bytes; ask the process that leads, which skillsyncd status names`
  return JSON.stringify({ events: [], error: { code: 'limit-exceeded', message } })
}

function takeAnswer(answer: unknown, send: (event: unknown) => void): unknown {
  const { events, error, result } = isObject(answer) ? answer : {}
  if (Array.isArray(events)) for (const event of events) send(event)
  if (error === undefined) return result
  const problem = problemIn(error)
  if (problem !== undefined) throw new SyncError(problem.code, problem.message, problem)
  const { code, message, ...remedy } = isObject(error) ? error : {}
  throw new OperatorError(operatorErrorCodeOf(String(code)), String(message), remedyIn(remedy))
}
