import { execFile, spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import type { Readable, Writable } from 'node:stream'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { openDatabase } from '../../../src/sync/store/objects/database.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const NOW = new Date('2026-01-02T03:04:05.006Z')

/** A store with some objects, and a connection of a thread that has it open. */
async function usedStore(root: string) {
  const store = await Store.open(root)
  const digests = await store.objects.put(Array.from({ length: 60 }, (_, at) => Buffer.alloc(20_000, at)))
  return { store, digests, thread: openDatabase(store.folder.database) }
}

/** Another process with the store open, which looks at it when it is asked. */
class ReaderProcess implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #answers: AsyncIterator<string>

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child
    this.#answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  }

  static async of(root: string, digests: readonly string[]): Promise<ReaderProcess> {
    const code = `
      import { createInterface } from 'node:readline'
      const { Store } = await import(${JSON.stringify(STORE)})
      const store = await Store.openExisting(${JSON.stringify(root)})
      const digests = ${JSON.stringify(digests)}
      for await (const _ of createInterface({ input: process.stdin })) {
        store.followDatabase()
        const missing = (await store.objects.missing(digests)).length
        console.log(JSON.stringify({ missing, head: (await store.objects.head())?.sequence }))
      }`
    const stdio: ['pipe', 'pipe', 'inherit'] = ['pipe', 'pipe', 'inherit']
    return new ReaderProcess(spawn(process.execPath, ['--input-type=module', '-e', code], { stdio }))
  }

  async look(): Promise<unknown> {
    this.#child.stdin.write('look\n')
    return JSON.parse((await this.#answers.next()).value ?? 'null')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'close')
    this.#child.stdin.end()
    await ended
  }
}

const STORE = new URL('../../../dist/sync/store/store.js', import.meta.url).href

test('a database of which only the file is removed is begun anew, whatever threads still write to the old one', async () => {
  await using folder = await temporaryFolder()
  const { store, digests, thread } = await usedStore(folder.path)
  await rm(store.folder.database)

  const why = await store.mendDatabase(NOW)
  thread.exec('INSERT INTO head VALUES (7, zeroblob(32)); PRAGMA wal_checkpoint(TRUNCATE)')
  const [added] = await store.objects.put([Buffer.from('new')])
  thread.close()

  expect(why?.message).toContain('it was removed')
  expect(await store.objects.missing([...digests, added!])).toEqual(digests)
  expect(await store.objects.head()).toBeUndefined()
  expect(store.objects.damage()).toBeUndefined()
  expect(await store.mendDatabase(NOW)).toBeUndefined()
})

test.each([[['-wal', '-shm']], [['-wal']], [['-shm']]])(
  'a database of which %j is removed is opened again, with all that it had, and written on by every connection',
  async (suffixes) => {
    await using folder = await temporaryFolder()
    const { store, digests, thread } = await usedStore(folder.path)
    thread.close()
    const before = await store.mendDatabase(NOW)
    for (const suffix of suffixes) await rm(store.folder.database + suffix)

    const why = await store.mendDatabase(NOW)
    const another = openDatabase(store.folder.database)
    another.exec('INSERT INTO head VALUES (7, zeroblob(32))')
    const [added] = await store.objects.put([Buffer.from('new')])
    another.close()

    expect([before, why]).toEqual([undefined, undefined])
    expect(await store.objects.missing([...digests, added!])).toEqual([])
    expect(store.objects.damage()).toBeUndefined()
    expect((await readdir(folder.path)).filter((name) => name.startsWith('store.db'))).toHaveLength(3)
  },
)

test.each([[['-wal', '-shm']], [['-wal']]])(
  'a reader of a database of which %j is removed says so, and changes nothing; the look of the writer at its log ends that',
  async (suffixes) => {
    await using folder = await temporaryFolder()
    const { store, digests, thread } = await usedStore(folder.path)
    thread.close()
    expect(await store.mendLog()).toBe(false)
    for (const suffix of suffixes) await rm(store.folder.database + suffix)

    const message = await readingBy(folder.path)
    const isMended = await store.mendLog()

    expect(message).toMatch(/write-ahead log ".*store\.db-wal" was removed.*\n.*skillsyncd stop, then skillsyncd start/)
    expect(isMended).toBe(true)
    expect(await store.mendLog()).toBe(false)
    expect(await readingBy(folder.path)).toBe('')
    expect(await store.objects.missing(digests)).toEqual([])
  },
)

test('a reader of a database that is not begun yet finds nothing in it', async () => {
  await using folder = await temporaryFolder()
  const first = await Store.open(folder.path)
  first[Symbol.dispose]()
  await writeFile(first.folder.database, '')

  using store = await Store.openExisting(folder.path)

  expect(await store?.objects.head()).toBeUndefined()
})

/** The failure of another process that opens the store; empty if it can. */
async function readingBy(root: string): Promise<string> {
  const code = `
    const { Store } = await import(${JSON.stringify(STORE)})
    await Store.openExisting(${JSON.stringify(root)}).catch((error) => console.log(error.message + '\\n' + error.fix))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code])
  return stdout
}

test('a database of which the log was removed is opened again when the last fetch has ended', async () => {
  await using folder = await temporaryFolder()
  const { store, digests, thread } = await usedStore(folder.path)
  thread.close()
  const lease = store.objects.lease()
  for (const suffix of ['-wal', '-shm']) await rm(store.folder.database + suffix)
  await store.mendDatabase(NOW)

  expect(() => openDatabase(store.folder.database)).toThrow('was removed')
  expect(await store.objects.missing(digests)).toEqual([])
  lease[Symbol.dispose]()
  await store.mendDatabase(NOW)
  openDatabase(store.folder.database).close()
})

test.each([[['-wal', '-shm']], [['-wal']], [['-shm']]])(
  'of a database of which %j is removed while another process reads it, nothing is lost, and the reader follows',
  async (suffixes) => {
    await using folder = await temporaryFolder()
    const { store, digests, thread } = await usedStore(folder.path)
    thread.close()
    await store.objects.swap(undefined, { sequence: 1, generation: digests[0]! })
    await using reader = await ReaderProcess.of(folder.path, digests)
    expect(await reader.look()).toEqual({ missing: 0, head: 1 })
    for (const suffix of suffixes) await rm(store.folder.database + suffix)

    expect(await reader.look()).toEqual({ missing: 0, head: 1 })
    await store.mendDatabase(NOW)
    const head = await store.objects.head()
    await store.objects.swap(head, { sequence: 2, generation: digests[1]! })

    expect(head?.sequence).toBe(1)
    expect(await store.objects.missing(digests)).toEqual([])
    expect(store.objects.damage()).toBeUndefined()
    expect(await reader.look()).toEqual({ missing: 0, head: 2 })
  },
)

test('a database that another file was renamed to is read as that file has it', async () => {
  await using folder = await temporaryFolder()
  await using aside = await temporaryFolder()
  const { store, digests, thread } = await usedStore(folder.path)
  const other = join(aside.path, 'other.db')
  const [kept] = await (async () => {
    using another = await Store.open(join(aside.path, 'another'))
    const stored = await another.objects.put([Buffer.from('of the other')])
    using database = new DatabaseSync(another.folder.database)
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    await copyFile(another.folder.database, other)
    return stored
  })()
  await rename(other, store.folder.database)

  await store.mendDatabase(NOW)
  thread.close()

  expect(await store.objects.missing([...digests, kept!])).toEqual(digests)
  expect(store.objects.damage()).toBeUndefined()
})

test('of the damaged databases that were moved aside the newest stays', async () => {
  await using folder = await temporaryFolder()
  using first = await Store.open(folder.path)
  const state = first.folder
  first[Symbol.dispose]()
  const texts: string[][] = []
  for (const text of ['damaged once', 'damaged twice']) {
    for (const suffix of ['-wal', '-shm']) await rm(`${state.database}${suffix}`, { force: true })
    await writeFile(state.database, text)
    using store = (await Store.openExisting(folder.path, { isWriter: true }))!
    expect(store.replaced?.message).toContain('it is damaged')
    const asides = (await readdir(folder.path)).filter((name) => name.startsWith('store.db.damaged-'))
    texts.push(await Promise.all(asides.map((name) => readFile(join(folder.path, name), 'utf8'))))
  }

  expect(texts).toEqual([['damaged once'], ['damaged twice']])
})
