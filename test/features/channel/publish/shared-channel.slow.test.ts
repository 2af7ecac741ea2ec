import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ChannelLog } from '../../../../src/features/channel/content/channel-log.ts'
import { SharedChannel } from '../../../../src/features/channel/publish/shared-channel.ts'
import { encodeEntry } from '../../../../src/sync/store/channel-entry.ts'
import { describePostgres } from '../../../support/describe-postgres.ts'
import { allowConnections } from '../../../support/postgres.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { Replica } from './replicas.ts'

const LOG = 'skills.example.com/channel'

describePostgres('the log of a channel in a database', (server) => {
  test('lines that agree are not read again, also by a log that was opened anew after a failure', async () => {
    await using scene = await Scene.open(await server.createDatabase())
    await scene.append(0, 3)
    await scene.channel.take(await scene.open())
    await allowConnections(scene.url, false)
    const failure = await scene.channel.take(await scene.open())
    await allowConnections(scene.url, true)
    // A change that no process makes shows what is read.
    await scene.query("UPDATE skillsyncd.log_entry SET line = 'other' WHERE position = 0")
    await scene.append(3, 1)
    const log = await scene.open()

    expect(failure).toMatchObject({ code: 'store-failed' })
    expect(await scene.channel.take(log)).toBeUndefined()
    expect(log.size).toBe(4)
  })

  test('a leader without the file takes over what the database has before it appends', async () => {
    await using scene = await Scene.open(await server.createDatabase())
    await scene.append(0, 3)
    const log = await scene.open()

    await scene.channel.take(log)
    await scene.channel.append(log, entryAt(3))

    expect(await scene.query('SELECT position FROM skillsyncd.log_entry ORDER BY position')).toEqual(
      ['0', '1', '2', '3'].map((position) => ({ position })),
    )
  })

  test.each([0, 1])('a leader stores again what a database of %i lines has lost', async (left) => {
    await using scene = await Scene.open(await server.createDatabase())
    await scene.append(0, 3)
    await scene.channel.take(await scene.open())
    await scene.query(`DELETE FROM skillsyncd.log_entry WHERE position >= ${left}`)

    await scene.channel.take(await scene.open())

    expect(await scene.query('SELECT line FROM skillsyncd.log_entry ORDER BY position')).toEqual(
      [0, 1, 2].map((index) => ({ line: lineAt(index) })),
    )
  })
})

/** A process that leads, with a channel whose file is empty at first. */
class Scene implements AsyncDisposable {
  readonly url: string
  readonly channel: SharedChannel
  readonly #leader: Replica
  readonly #folder: Awaited<ReturnType<typeof temporaryFolder>>

  private constructor(url: string, leader: Replica, folder: Awaited<ReturnType<typeof temporaryFolder>>) {
    this.url = url
    this.#leader = leader
    this.#folder = folder
    const { shared, hub } = leader
    this.channel = new SharedChannel({ shared, origin: LOG, objects: hub.store.objects })
  }

  static async open(url: string): Promise<Scene> {
    return new Scene(url, await (await Replica.open(url)).lead(), await temporaryFolder())
  }

  /** Reads the file anew. */
  async open(): Promise<ChannelLog> {
    return ChannelLog.open(join(this.#folder.path, 'channel.jsonl'))
  }

  /** Appends so many entries in the database alone. */
  async append(position: number, count: number): Promise<void> {
    const lines = Array.from({ length: count }, (_, index) => lineAt(position + index))
    const { logs, leadership } = this.#leader.shared
    await logs.append({ log: LOG, position, lines }, leadership.epoch ?? -1)
  }

  async query(text: string) {
    return this.#leader.shared.database.query('look', text)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#leader[Symbol.asyncDispose]()
    await this.#folder[Symbol.asyncDispose]()
  }
}

function entryAt(index: number) {
  return { at: '2026-06-15T12:00:00.000Z', head: String(index).repeat(64) }
}

function lineAt(index: number): string {
  return encodeEntry(entryAt(index)).toString().trimEnd()
}
