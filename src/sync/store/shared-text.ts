import { hash } from 'node:crypto'
import { SyncError } from '../model/sync-error.ts'

/** A small text that the processes of a hub share, and that each of them changes. */
export interface SharedText {
  /** Throws `store-failed` if the text cannot be reached, and `DamagedText` if it is not text. */
  read(): Promise<VersionedText>
  /**
   * Replaces the text that has this version, and returns its next version. Returns `undefined`, and changes nothing, if
   * another process has changed it since.
   */
  swap(version: number, text: string): Promise<number | undefined>
}

export interface VersionedText {
  /** Each change gives another one; 0 if no process has written the text. */
  readonly version: number
  /** `undefined` if no process has written it, or if it was lost. */
  readonly text: string | undefined
  /** True if the database no longer has it. */
  readonly isLost: boolean
}

/** The form of a value that is kept in a shared text. */
export interface SharedForm<Value> {
  /** The name of the text, and of the value in messages, such as `decisions`. */
  readonly name: string
  readonly nothing: Value
  /** Equal values have equal texts. */
  textOf(value: Value): string
  /** Returns `undefined` if the text is damaged. */
  parse(text: string): Value | undefined
}

/** The copy of a shared value that one process has, in its files for a start without the database. */
export interface LocalCopy<Value> {
  /** Returns `undefined` if there are no files. Throws `store-failed` if they cannot be read. */
  read(): Promise<Value | undefined>
  /** Brings the files to this value. Returns true if they had another one, or were damaged. */
  write(value: Value): Promise<boolean>
  /** Makes a value the one that this process goes by. */
  hold(value: Value): void
}

/** The result of a change: the value after it, which is the same object if nothing changes. */
export interface ChangedValue<Value, Result> {
  readonly after: Value
  readonly result: Result
}

/** Makes a value of another one, and nothing else: it can be called several times. */
export type Change<Value, Result> = (
  before: Value,
) => ChangedValue<Value, Result> | Promise<ChangedValue<Value, Result>>

/** The text is there, and is not what this program writes. It is never taken for an empty one. */
export class DamagedText extends SyncError {
  constructor(name: string) {
    const mend = `correct the row, or remove it, so that what a running process holds counts: DELETE FROM skillsyncd.document WHERE name = '${name}'`
    super('store-failed', `Cannot read the ${name} in the database: they are damaged; ${mend}`)
  }
}

/** The text was removed from the database, and only a process that had read it before may write it again. */
class LostText extends SyncError {
  constructor(name: string) {
    const mend = `stop all processes but the one with the latest files, and let that one write them: INSERT INTO skillsyncd.document (name, version) VALUES ('${name}', 0)`
    super(
      'store-failed',
      `Cannot read the ${name}: the database has lost them, and no process that knew them runs; ${mend}`,
    )
  }
}

/**
 * A value of a hub of several processes. The shared text decides: a change is made to the newest one, and made again if
 * another process was first. The files of each process are a copy. Only one call may run at a time.
 */
export class SharedValue<Value> {
  readonly #shared: SharedText
  readonly #form: SharedForm<Value>
  readonly #local: LocalCopy<Value>
  /** The value that this process goes by, and its text; `undefined` if it could not be read. */
  #held: { readonly value: Value; readonly text: string } | undefined
  /** The version of the shared text that was last read or written. */
  #version = 0
  /** The digests of the last texts that the database had, by their versions. */
  readonly #earlier = new Map<number, string>()
  /** True from the first contact with the shared text on: the held value is at least as new as the files. */
  #isKnown = false
  /** The shared text that gave the held value. */
  #taken: string | undefined
  #wasCopyRead = false
  #isNew = false
  #failure: SyncError | undefined
  #unwritten: SyncError | undefined

  constructor(shared: SharedText, form: SharedForm<Value>, local: LocalCopy<Value>) {
    this.#shared = shared
    this.#form = form
    this.#local = local
  }

  /** True if this process has reached the shared text. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  /** The reason why the value could not be read; a database that is away is none if there is a copy. */
  get failure(): SyncError | undefined {
    return this.#failure
  }

  /** The reason why the files lack the held value; `undefined` if they have it. */
  get unwritten(): SyncError | undefined {
    return this.#unwritten
  }

  /**
   * Reads the files, unless the shared text was read before. Reads the shared text again if it was damaged. Throws the
   * reason if the value is not known.
   */
  async read(): Promise<void> {
    if (this.#failure instanceof DamagedText) await this.#renew()
    else if (!this.#isKnown) await this.#readCopy()
    if (this.#failure !== undefined) throw this.#failure
  }

  /**
   * Holds the newest value, and writes the files. If no process has written the text, it gets what this process holds,
   * unless that is nothing. A lost text is written again by a process that has read it; any other process throws. Returns true if the held value was changed by other processes since the last call, or could
   * not be read then.
   */
  async refresh(): Promise<boolean> {
    await this.#renew()
    const isNew = this.#isNew
    this.#isNew = false
    return isNew
  }

  async #renew(): Promise<void> {
    if (!this.#wasCopyRead) await this.#readCopy()
    const { version, text, isLost } = await this.#shared.read().catch((error: unknown) => {
      throw error instanceof DamagedText ? this.#damaged() : error
    })
    this.#expectKnown(isLost)
    if (text === undefined || this.#isBehind(version, text))
      await this.#exchange((held) => ({ after: held, result: undefined }))
    else this.#take(text, version)
    await this.#write()
  }

  /**
   * Changes the newest value; the change is in the shared text when this returns. Files that cannot be written do not
   * undo it: a later call writes them.
   */
  async change<Result>(change: Change<Value, Result>): Promise<Result> {
    if (!this.#wasCopyRead) await this.#readCopy()
    try {
      return await this.#exchange(change)
    } finally {
      // A change that is refused may have read a newer value.
      await this.#write()
    }
  }

  /** Writes files that lack the held value, once it is known. Returns true if some did. */
  async mend(): Promise<boolean> {
    if (!this.#isKnown || this.#held === undefined) return false
    const isMended = await this.#local.write(this.#held.value)
    this.#unwritten = undefined
    return isMended
  }

  async #readCopy(): Promise<void> {
    this.#wasCopyRead = true
    try {
      const value = await this.#local.read()
      this.#hold(value ?? this.#form.nothing)
      // Each process writes its files at its first contact, also if the value is nothing.
      if (value === undefined) this.#failure = notReached(this.#form.name)
      else this.#local.hold(value)
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      this.#failure = error
    }
  }

  async #exchange<Result>(change: Change<Value, Result>): Promise<Result> {
    // This ends: each round but the last is one in which another process made its change.
    for (;;) {
      const { version, text, isLost } = await this.#readToChange()
      this.#expectKnown(isLost)
      const isOlder = text === undefined || this.#isBehind(version, text)
      const before = isOlder ? this.#expectHeld() : this.#take(text, version)
      const { after, result } = await change(before)
      const next = this.#form.textOf(after)
      const present = isOlder ? (text ?? this.#form.textOf(this.#form.nothing)) : this.#form.textOf(before)
      const isSame = next === present && !isLost
      const reached = isSame ? version : await this.#swap(version, next)
      if (reached === undefined) continue
      this.#know(reached, next)
      this.#agree(isSame ? before : after)
      return result
    }
  }

  /** The files of a process that has not read the text before can be old, so that they replace none that was lost. */
  #expectKnown(isLost: boolean): void {
    if (!isLost || this.#isKnown) return
    const lost = new LostText(this.#form.name)
    // Without a copy, it is the reason why the value is not known.
    if (this.#failure !== undefined) this.#failure = lost
    throw lost
  }

  /**
   * True if the database has an earlier text of those that this process knows: a copy took its place that lacks the last
   * changes. They are put there again. An unknown text is one that another process has written there since, and counts.
   */
  #isBehind(version: number, text: string): boolean {
    return this.#held !== undefined && version < this.#version && this.#earlier.get(version) === digestOf(text)
  }

  /** Remembers the text that the database has. */
  #know(version: number, text: string): void {
    this.#version = version
    this.#earlier.delete(version)
    this.#earlier.set(version, digestOf(text))
    const [oldest] = this.#earlier.keys()
    if (this.#earlier.size > MOST_EARLIER && oldest !== undefined) this.#earlier.delete(oldest)
  }

  async #readToChange(): Promise<VersionedText> {
    return this.#shared.read().catch((cause: unknown) => {
      if (!(cause instanceof SyncError)) throw cause
      if (cause instanceof DamagedText) throw this.#damaged()
      const message = `Cannot change the ${this.#form.name}: the database cannot be reached, and nothing was changed: ${cause.message}`
      throw new SyncError('store-failed', message, { cause })
    })
  }

  /** Returns the next version; `undefined` if another process was first. */
  async #swap(version: number, text: string): Promise<number | undefined> {
    try {
      return await this.#shared.swap(version, text)
    } catch (cause) {
      if (!(cause instanceof SyncError)) throw cause
      // The answer to a commit can be lost after the commit.
      const message = `Cannot change the ${this.#form.name}: the database failed meanwhile, so check if they have the change before you repeat it: ${cause.message}`
      throw new SyncError('store-failed', message, { cause })
    }
  }

  #take(text: string, version: number): Value {
    this.#know(version, text)
    if (text === this.#taken && this.#held !== undefined && this.#failure === undefined) return this.#held.value
    const value = this.#form.parse(text)
    if (value === undefined) throw this.#damaged()
    const held = this.#held
    const isSame = held !== undefined && held.text === this.#form.textOf(value)
    this.#isNew ||= !isSame
    // An equal value stays the same object: what was derived from it counts.
    this.#agree(isSame ? held.value : value)
    this.#taken = text
    return this.#expectHeld()
  }

  #damaged(): SyncError {
    this.#failure = new DamagedText(this.#form.name)
    return this.#failure
  }

  /** The value for a database that has none. Files that cannot be read are never taken for nothing. */
  #expectHeld(): Value {
    if (this.#held !== undefined) return this.#held.value
    throw this.#failure ?? notReached(this.#form.name)
  }

  /** The shared text has this value, or none if it is nothing. */
  #agree(value: Value): void {
    this.#isNew ||= this.#failure !== undefined
    this.#isKnown = true
    this.#taken = undefined
    this.#hold(value)
    this.#local.hold(value)
  }

  #hold(value: Value): void {
    this.#held = { value, text: this.#form.textOf(value) }
    this.#failure = undefined
  }

  async #write(): Promise<void> {
    try {
      await this.mend()
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      this.#unwritten = error
    }
  }
}

function notReached(name: string): SyncError {
  const message = `Cannot read the ${name}: the database has them, and this process, which has no copy of them yet, has not reached it`
  return new SyncError('store-failed', message)
}

function digestOf(text: string): string {
  return hash('sha256', text)
}

/** More than can be lost with the last seconds of a database. */
const MOST_EARLIER = 64
