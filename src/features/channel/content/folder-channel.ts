import { access, chmod, readFile, readdir, stat, unlink, utimes } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { inParallel, WIDTH } from '../../../base/async/parallel.ts'
import { SyncError } from '../../../sync/model/sync-error.ts'
import { isTemporary, writeWhole } from '../../../sync/store/files/atomic.ts'
import { cannot, unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import { makeFolders } from '../../../sync/store/files/make-folders.ts'
import { fileNamesIn } from '../../../sync/store/files/state-folder.ts'
import type { Digest, ObjectStore } from '../../../sync/store/objects/object-store.ts'
import { isDigest } from '../../../sync/store/skills/stored-path.ts'
import { readCheckpoint } from '../../../sync/transparency-log/checkpoint.ts'
import type { Checkpoint } from '../../../sync/transparency-log/checkpoint.ts'
import { isSameHash } from '../../../sync/transparency-log/merkle-tree.ts'
import { NoteRefusedError } from '../../../sync/transparency-log/signed-note.ts'
import { entriesPath, tilePath, tilesBetween } from '../../../sync/transparency-log/tiles.ts'
import { packFiles } from './channel-contents.ts'
import type { KeptChannel } from './channel-contents.ts'
import { CHECKPOINT_PATH, changesPath, filesPath, objectPath } from './channel-entry.ts'
import type { ChannelLog } from './channel-log.ts'
import { expectObject } from './channel-tree.ts'

/** A channel at one moment, to be written to a folder. */
export interface PublishedChannel {
  readonly log: ChannelLog
  readonly origin: string
  /** The signed head of the log. */
  readonly checkpoint: string
  readonly kept: KeptChannel
  /** The objects that are new with the newest entry, packed; `undefined` if they are too many. */
  readonly changes: Uint8Array | undefined
}

/** The end of one publication to a folder. */
export interface WrittenChannel {
  /** The number of objects that the folder lacked. */
  readonly objects: number
  /** The size of the log that the folder had before. */
  readonly size: number
}

/** A folder that any static web server can serve as a channel, or that is carried to where it is followed. */
export class FolderChannel {
  readonly #path: string
  readonly #objects: ObjectStore
  readonly #made = new Set<string>()
  /** The objects of the channel that was written last. An object that another process removes is noticed after a restart. */
  #written: ReadonlySet<Digest> = new Set()
  /** The checkpoint that was written last. */
  #note: string | undefined

  constructor(path: string, objects: ObjectStore) {
    this.#path = resolve(path)
    this.#objects = objects
  }

  /**
   * Writes what the folder lacks: objects first, and the checkpoint last. A reader finds the old channel or the new one,
   * whole. Throws `log-forked` or `log-rolled-back`, and writes nothing, if the folder has a channel that this one does
   * not continue; `store-failed` if it has other files and no channel.
   */
  async publish(channel: PublishedChannel, signal: AbortSignal): Promise<WrittenChannel> {
    const { log, checkpoint, kept, changes } = channel
    const { note, size: known } = await this.#known(channel)
    if (note === undefined) await this.#expectOwn()
    // Otherwise it was emptied since, or is another copy of it.
    const isAsWritten = note !== undefined && note === this.#note
    if (!isAsWritten) {
      this.#forget()
      await this.#removeTemporaries(signal)
    }
    const objects = await this.#writeObjects(kept, signal)
    for (const tile of tilesBetween(isAsWritten ? known : 0, log.size)) {
      if (!(await this.#has(tilePath(tile)))) await this.#write(tilePath(tile), await log.tile(tile))
      if (tile.level === 0 && !(await this.#has(entriesPath(tile))))
        await this.#write(entriesPath(tile), log.entries(tile))
    }
    if (changes !== undefined) await this.#write(changesPath(log.size - 1), changes)
    signal.throwIfAborted()
    // Many web servers compare by the time of the file: an unchanged one answers 304.
    if (note !== checkpoint) await this.#writeCheckpoint(checkpoint)
    this.#note = checkpoint
    return { objects, size: known }
  }

  /** Removes what a killed process left half written: no later write would replace it, and a carried disk would fill. */
  async #removeTemporaries(signal: AbortSignal): Promise<void> {
    const reading = readdir(this.#path, { recursive: true, withFileTypes: true })
    const found = (await unlessAbsent(reading).catch(cannot(`list "${this.#path}"`))) ?? []
    for (const one of found) {
      signal.throwIfAborted()
      if (one.isFile() && isTemporary(one.name))
        await this.#remove(relative(this.#path, join(one.parentPath, one.name)))
    }
  }

  /**
   * Writes the checkpoint with a time that no earlier one had, in whole seconds. The entity tag of nginx is that time and
   * the size: of two checkpoints of one second, followers would be answered 304 for the second one.
   */
  async #writeCheckpoint(checkpoint: string): Promise<void> {
    const file = join(this.#path, CHECKPOINT_PATH)
    const before = await secondOf(file)
    await this.#write(CHECKPOINT_PATH, Buffer.from(checkpoint))
    if ((await secondOf(file)) <= before) await utimes(file, before + 1, before + 1).catch(cannot(`write "${file}"`))
  }

  /** Throws if another program put something into the folder: it could be removed as something that no entry names. */
  async #expectOwn(): Promise<void> {
    const stranger = (await fileNamesIn(this.#path)).find((name) => !OWN_NAMES.has(name) && !isTemporary(name))
    if (stranger === undefined) return
    const message = `Cannot publish to "${this.#path}": it has no channel, and has "${stranger}"; name a folder of its own`
    throw new SyncError('store-failed', message)
  }

  #forget(): void {
    this.#made.clear()
    this.#written = new Set()
  }

  /** The checkpoint that the folder has, and the size of its log; 0 if it has none. */
  async #known({ log, origin }: PublishedChannel): Promise<{ readonly note?: string; readonly size: number }> {
    const file = join(this.#path, CHECKPOINT_PATH)
    const note = await unlessAbsent(readFile(file, 'utf8')).catch(cannot(`read "${file}"`))
    if (note === undefined) return { size: 0 }
    const { size, root } = this.#headIn(note, origin)
    if (size > log.size)
      throw refusal(
        'log-rolled-back',
        this.#path,
        `it has ${size} entries of this log, and the state folder ${log.size}`,
      )
    if (!isSameHash(root, await log.rootAt(size)))
      throw refusal('log-forked', this.#path, `its ${size} entries are not those of this log`)
    return { note, size }
  }

  /** The log of this hub decides if it is one of its own, and not the signature: the key may have changed since. */
  #headIn(note: string, origin: string): Checkpoint {
    try {
      return readCheckpoint(note, origin)
    } catch (error) {
      if (error instanceof NoteRefusedError)
        throw refusal('log-unsigned', this.#path, `of its checkpoint, ${error.message}`)
      throw error
    }
  }

  async #writeObjects({ named, lists }: KeptChannel, signal: AbortSignal): Promise<number> {
    let count = 0
    const lacking = [...named].filter((digest) => !this.#written.has(digest))
    const write = async (digest: Digest): Promise<void> => {
      if (await this.#has(objectPath(digest))) return
      const packed = lists.has(digest) ? await packFiles(this.#objects, digest) : undefined
      if (packed !== undefined) await this.#write(filesPath(digest), packed)
      await this.#write(objectPath(digest), await expectObject(this.#objects, digest))
      count += 1
    }
    await inParallel(lacking, WIDTH, write, signal)
    this.#written = named
    return count
  }

  /**
   * Removes the objects that are not among these, and the packed changes before this entry. A reader that is at an older
   * entry goes on with a newer one.
   */
  async sweep(kept: ReadonlySet<Digest>, firstChanges: number, signal: AbortSignal): Promise<void> {
    for (const folder of await fileNamesIn(join(this.#path, 'object'))) {
      signal.throwIfAborted()
      const names = await fileNamesIn(join(this.#path, 'object', folder))
      for (const name of names) if (isDigest(name) && !kept.has(name)) await this.#remove('object', folder, name)
    }
    for (const name of await fileNamesIn(join(this.#path, 'files')))
      if (isDigest(name) && !kept.has(name)) await this.#remove('files', name)
    for (const name of await fileNamesIn(join(this.#path, 'changes')))
      if (/^\d+$/.test(name) && Number(name) < firstChanges) await this.#remove('changes', name)
  }

  async #remove(...names: readonly string[]): Promise<void> {
    const file = join(this.#path, ...names)
    await unlessAbsent(unlink(file)).catch(cannot(`remove "${file}"`))
  }

  async #has(path: string): Promise<boolean> {
    return access(join(this.#path, path)).then(
      () => true,
      () => false,
    )
  }

  async #makeFolder(folder: string): Promise<void> {
    if (this.#made.has(folder)) return
    if (folder === this.#path) await makeFolders(folder, 0o755).catch(cannot(`create "${folder}"`))
    else {
      await this.#makeFolder(dirname(folder))
      await makeFolders(folder, 0o755).catch(cannot(`create "${folder}"`))
      await chmod(folder, 0o755).catch(cannot(`set the mode of "${folder}"`))
    }
    this.#made.add(folder)
  }

  async #write(path: string, bytes: Uint8Array): Promise<void> {
    const file = join(this.#path, path)
    await this.#makeFolder(dirname(file))
    // A web server reads it as another user, also if the umask of a service leaves the bits of one alone.
    await writeWhole(file, bytes, 0o644)
    await chmod(file, 0o644).catch(cannot(`set the mode of "${file}"`))
  }
}

/** The names at the top of a channel. */
const OWN_NAMES: ReadonlySet<string> = new Set(['tile', 'object', 'files', 'changes', CHECKPOINT_PATH])

function refusal(code: 'log-rolled-back' | 'log-forked' | 'log-unsigned', path: string, why: string): SyncError {
  const mend =
    'restore the log from a backup, or publish to an empty folder; followers take a new log under a new name alone'
  return new SyncError(code, `Cannot publish to "${path}": ${why}; ${mend}`)
}

/** The time of a file, in seconds since 1970; 0 if it is not there. */
async function secondOf(file: string): Promise<number> {
  const found = await unlessAbsent(stat(file)).catch(cannot(`read "${file}"`))
  return Math.floor((found?.mtimeMs ?? 0) / 1_000)
}
