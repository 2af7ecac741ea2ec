import { readFile } from 'node:fs/promises'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import { LEADER, SyncError } from '../../sync/model/sync-error.ts'
import type { DocumentChange, SharedDocument, SharedDocuments } from '../../sync/postgres/shared-documents.ts'
import { writeWhole } from '../../sync/store/files/atomic.ts'
import { cannot, unlessAbsent } from '../../sync/store/files/disk-error.ts'
import { fileNamesIn, SHARED_FOLDERS, sharedPlaceOf } from '../../sync/store/files/state-folder.ts'
import type { StateFolder } from '../../sync/store/files/state-folder.ts'

/** The small files of a state folder that are documents of the shared store: the records of sources, and of logs. */
export class SharedFiles {
  readonly #folder: StateFolder
  readonly #documents: SharedDocuments
  /** The names of files that were written here and are not in the database yet. */
  readonly #waiting = new Set<string>()
  /** The older one of two pushes at once could be the last. */
  readonly #queue = new SerialQueue()

  constructor(folder: StateFolder, documents: SharedDocuments) {
    this.#folder = folder
    this.#documents = documents
  }

  /** Writes to the database what was written here since. Only for the leader; throws `store-failed` if it leads no more. */
  async push(epoch: number): Promise<void> {
    await this.#queue.next(async () => this.#push(epoch))
  }

  async #push(epoch: number): Promise<void> {
    for (const name of this.#folder.takeChanged()) if (isShared(name)) this.#waiting.add(name)
    if (this.#waiting.size === 0) return
    const names = [...this.#waiting]
    const changes = await Promise.all(names.map(async (name) => this.#read(name)))
    if ((await this.#documents.write(changes, epoch)) === undefined) throw new StaleFile()
    for (const name of names) this.#waiting.delete(name)
  }

  /** Has the next push write all files that the database does not have, such as those from before there was one. */
  async addLacking(known: ReadonlySet<string>): Promise<void> {
    for (const folder of SHARED_FOLDERS)
      for (const file of await fileNamesIn(this.#folder.at(folder))) {
        const name = `${folder}/${file}`
        if (isShared(name) && !known.has(name)) this.#waiting.add(name)
      }
  }

  /** Writes what other processes have changed to the files here. Returns the names of the files that differ now. */
  async take(documents: ReadonlyMap<string, SharedDocument>): Promise<ReadonlySet<string>> {
    const changed = new Set<string>()
    for (const [name, { bytes }] of documents) {
      const place = placeOf(name)
      if (place === undefined || bytes === undefined) continue
      const { bytes: before } = await this.#read(name)
      if (before !== undefined && Buffer.compare(before, bytes) === 0) continue
      await this.#folder.expectRight()
      await writeWhole(this.#folder.at(...place), bytes)
      changed.add(name)
    }
    return changed
  }

  async #read(name: string): Promise<DocumentChange> {
    const place = placeOf(name)
    if (place === undefined) throw new TypeError(`"${name}" is not a shared file`)
    const path = this.#folder.at(...place)
    return { name, bytes: await unlessAbsent(readFile(path)).catch(cannot(`read "${path}"`)) }
  }
}

/** This process was the leader, and another one is by now. */
export class StaleFile extends SyncError {
  constructor() {
    super('store-failed', 'Cannot publish: another process of this hub leads now', { fix: LEADER })
  }
}

function isShared(name: string): boolean {
  return placeOf(name) !== undefined
}

/** The folder and the file of a shared name. The database could hold any name: none may lead elsewhere. */
function placeOf(name: string): ReturnType<typeof sharedPlaceOf> {
  return sharedPlaceOf(name)
}
