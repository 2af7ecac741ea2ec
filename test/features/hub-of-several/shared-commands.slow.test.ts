import { expect, test } from 'vitest'
import { OperatorError } from '../../../src/daemon/runtime/operator-error.ts'
import type { AnswerRequest } from '../../../src/features/hub-of-several/shared-commands.ts'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { describePostgres } from '../../support/describe-postgres.ts'
import { sourceId } from '../../sync/store/samples.ts'
import { Members, WAIT } from './members.ts'

const NEVER = new AbortController().signal

describePostgres('a request that the leader of a hub answers', (server) => {
  test('the answer and its events come to the process that asked, and no row is left', async () => {
    await using members = await Members.of(server)
    const answer: AnswerRequest = async (method, params, send) => {
      send({ fetching: { files: 1 } })
      send({ done: 1 })
      return { method, params }
    }
    const [, other] = await members.pair({ answer })
    const events: unknown[] = []

    const result = await other.hub.ask('sync', { sources: ['team'] }, (event) => events.push(event), NEVER)

    expect(result).toEqual({ method: 'sync', params: { sources: ['team'] } })
    expect(events).toEqual([{ done: 1 }])
    await expect.poll(async () => members.query('SELECT FROM skillsyncd.command'), WAIT).toEqual([])
  })

  test.for([
    new SyncError('content-refused', 'Cannot serve: it is not in the lock', { fix: 'Lock it', place: 'lock' }),
    new OperatorError('unknown-commit', 'There is no such commit', { fix: 'Name another' }),
  ])('a failure is that of the leader: $message', async (failure) => {
    await using members = await Members.of(server)
    const [, other] = await members.pair({
      answer: async () => {
        throw failure
      },
    })

    const refused = other.hub.ask('rollback', {}, () => {}, NEVER)

    await expect(refused).rejects.toThrow(failure.constructor)
    await expect(refused).rejects.toMatchObject({ code: failure.code, message: failure.message, fix: failure.fix })
  })

  test('what a leader has not answered when it ends, the next one answers', async () => {
    await using members = await Members.of(server)
    const begun = Promise.withResolvers<void>()
    const leader = await members.join({
      answer: async () => {
        begun.resolve()
        return new Promise(() => {})
      },
    })
    await leader.leads()
    const asking = await members.join({ answer: async () => 'the next leader' })
    const answered = asking.hub.ask('sync', {}, () => {}, NEVER)
    await begun.promise

    await leader[Symbol.asyncDispose]()

    expect(await answered).toBe('the next leader')
  })

  test('a request waits while no process leads', async () => {
    await using members = await Members.of(server)
    const [leader, other] = await members.pair({ answer: async () => 'answered' })
    await members.query(
      "UPDATE skillsyncd.leader SET holder = 'gone', until = clock_timestamp() + interval '150 s'; UPDATE skillsyncd.present SET epoch = epoch + 1",
    )
    await expect.poll(() => [leader.hub.isLeading, other.hub.isLeading], WAIT).toEqual([false, false])
    const asked = [leader, other].map(async ({ hub }) => hub.ask('sync', {}, () => {}, NEVER))
    await expect.poll(async () => (await members.query('SELECT FROM skillsyncd.command')).length, WAIT).toBe(2)

    await members.query("UPDATE skillsyncd.leader SET holder = NULL, until = '-infinity'")

    expect(await Promise.all(asked)).toEqual(['answered', 'answered'])
  })

  test('a request that its client has left is withdrawn, unless it has begun', async () => {
    await using members = await Members.of(server)
    const other = await members.join()
    await members.query(
      "UPDATE skillsyncd.leader SET holder = 'gone', until = clock_timestamp() + interval '150 s'; UPDATE skillsyncd.present SET epoch = epoch + 1",
    )
    const left = new AbortController()
    const asked = other.hub.ask('sync', {}, () => {}, left.signal)
    await expect.poll(async () => (await members.query('SELECT FROM skillsyncd.command')).length, WAIT).toBe(1)

    left.abort()

    await expect(asked).rejects.toMatchObject({ name: 'AbortError' })
    expect(await members.query('SELECT FROM skillsyncd.command')).toEqual([])
  })

  test('an answer with characters that a database refuses comes as it is', async () => {
    await using members = await Members.of(server)
    const text = 'a\u0000b\uD800c'
    const [, other] = await members.pair({ answer: async (_, params) => ({ params, text }) })

    const answer = await other.hub.ask('sync', { text }, () => {}, NEVER)

    expect(answer).toEqual({ params: { text }, text })
  })

  test('a request that the database has lost is an error', async () => {
    await using members = await Members.of(server)
    const [, other] = await members.pair({ answer: async () => new Promise(() => {}) })
    const asked = other.hub.ask('sync', {}, () => {}, NEVER).catch((error: unknown) => error)
    await expect.poll(async () => (await members.query('SELECT FROM skillsyncd.command')).length, WAIT).toBe(1)

    // The copy that takes the place of a database may lack it.
    await members.query('DELETE FROM skillsyncd.command')

    expect(await asked).toMatchObject({ code: 'store-failed', message: expect.stringContaining('repeat it') })
  })

  test('a leader that asks for nothing it knows is a failed pull, and no end of the process', async () => {
    await using members = await Members.of(server)
    const [, other] = await members.pair({
      answer: async () => {
        throw new OperatorError('unknown-source', 'No source is called "new"')
      },
    })

    const outcome = await other.hub.pull(sourceId('new'), 'webhook')

    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'store-failed' } })
  })

  test('an answer that is too long for a client is an error that says so', async () => {
    await using members = await Members.of(server)
    const [, other] = await members.pair({ answer: async () => 'x'.repeat(2 ** 21) })

    await expect(other.hub.ask('sync', {}, () => {}, NEVER)).rejects.toMatchObject({ code: 'limit-exceeded' })
  })
})
