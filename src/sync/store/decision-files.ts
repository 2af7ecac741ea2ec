import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { canonicalJson } from '../../base/canonical-json.ts'
import { SyncError, unlessSyncError } from '../model/sync-error.ts'
import { NO_DECISIONS, parseDecisions, textForm } from './decisions-text.ts'
import type { StoredDecisions } from './decisions-text.ts'
import { writeWhole } from './files/atomic.ts'
import { cannot, isDiskError, unlessAbsent } from './files/disk-error.ts'
import type { StateFolder } from './files/state-folder.ts'
import type { SharedForm } from './shared-text.ts'

/** The decisions in the files. */
export interface ReadDecisions {
  readonly written: StoredDecisions
  /** The reason why the file was not readable. */
  readonly damage?: SyncError
  /** Both files are gone, and the decisions come from the record. */
  readonly loss?: SyncError
  /** True if there is no file at all. */
  readonly isAbsent?: boolean
}

/**
 * Reads and writes `decisions.json` and its copy. One damaged file must not bring back a skill that the operator
 * disabled. The file takes precedence if it is readable. A third record is kept apart from both, in the generations
 * folder, so that the loss of both files is noticed.
 */
export class DecisionFiles {
  /** Replaced whole on every decision. */
  readonly file: string
  readonly copy: string
  /** The record of the decisions, used if the file and its copy are both gone. */
  readonly record: string
  readonly #state: StateFolder

  constructor(state: StateFolder) {
    this.#state = state
    this.file = join(state.path, 'decisions.json')
    this.copy = join(state.path, 'decisions-copy.json')
    this.record = state.at('generations', 'decisions.json')
  }

  /** Throws if neither file is readable. */
  async read(): Promise<ReadDecisions> {
    const file = await lookedAt(this.file)
    if (file.kind === 'whole') return file
    const copy = await lookedAt(this.copy)
    if (file.kind === 'absent' && copy.kind === 'absent') return this.#recall()
    const attempt = `Cannot read "${this.file}": ${file.why}`
    if (copy.kind === 'whole') {
      const message = `${attempt}; the decisions are read from its copy "${this.copy}"`
      return { written: copy.written, damage: new SyncError('store-failed', message, file) }
    }
    const rest =
      'holds, approvals, disabled, recalled and named skills are in them, so check them before you remove them: skillsyncd doctor explains how'
    throw new SyncError('store-failed', `${attempt}, nor its copy "${this.copy}": ${copy.why}; ${rest}`, file)
  }

  /** Returns no decisions if there is no record either: nothing was ever decided. */
  async #recall(): Promise<ReadDecisions> {
    const record = await lookedAt(this.record)
    if (record.kind === 'absent') return { written: NO_DECISIONS, isAbsent: true }
    const attempt = `Cannot read "${this.file}" nor its copy: both are missing, although decisions were made`
    if (record.kind !== 'whole') {
      const message = `${attempt}; the record of it, "${this.record}", cannot be read either: ${record.why}; restore one of them from a backup, or remove the record to drop all decisions`
      throw new SyncError('store-failed', message, record)
    }
    if (canonicalJson(textForm({ ...record.written, history: [] })) === TEXT_OF_NOTHING)
      return { written: record.written }
    const message = `${attempt}; the decisions in "${this.record}" hold. To keep them: cp "${this.record}" "${this.file}". To drop them: rm "${this.record}"`
    return { written: record.written, loss: new SyncError('store-failed', message) }
  }

  /** Writes the decisions. They are on the disk when this returns. */
  async write(written: StoredDecisions): Promise<void> {
    await this.#state.expectRight()
    const text = canonicalJson(textForm(written))
    await writeWhole(this.file, text)
    // The decision counts as soon as the file is written. If the disk has no room for a copy, the next `mend` writes it
    // and reports the failure.
    for (const path of [this.copy, this.record]) await writeWhole(path, text).catch(unlessSyncError)
  }

  /** Rewrites the file, the record and the copy if they are gone or damaged. Returns true if something was damaged. */
  async mend(known: StoredDecisions): Promise<boolean> {
    const text = canonicalJson(textForm(known))
    const file = await textIn(this.file)
    const isWhole = file === undefined ? text === TEXT_OF_NOTHING : parseDecisions(file) !== undefined
    if (!isWhole) await this.#put(this.file, text)
    const sound = isWhole ? file : text
    if (sound !== undefined && (await textIn(this.record)) !== sound) await this.#put(this.record, sound)
    const copy = await textIn(this.copy)
    if (sound === undefined || copy === sound) return !isWhole
    await this.#put(this.copy, sound)
    // The copy may also be just older: the operator wrote the file.
    return !isWhole || (copy !== undefined && parseDecisions(copy) === undefined)
  }

  /**
   * Brings the file, the copy and the record to these decisions, which a database has. Returns true if one of them had
   * others, or was damaged.
   */
  async restore(known: StoredDecisions): Promise<boolean> {
    const text = canonicalJson(textForm(known))
    let isRestored = false
    for (const path of [this.file, this.copy, this.record]) {
      if ((await textIn(path)) === text) continue
      await this.#put(path, text)
      isRestored = true
    }
    return isRestored
  }

  async #put(file: string, text: string): Promise<void> {
    await this.#state.expectRight()
    await writeWhole(file, text)
  }
}

/** The form in which the processes of a hub share the decisions. */
export const SHARED_DECISIONS: SharedForm<StoredDecisions> = {
  name: 'decisions',
  nothing: NO_DECISIONS,
  textOf: (decisions) => canonicalJson(textForm(decisions)),
  parse: parseDecisions,
}

const TEXT_OF_NOTHING = canonicalJson(textForm(NO_DECISIONS))

/** The result of reading one of these files. */
type Looked =
  | { readonly kind: 'whole'; readonly written: StoredDecisions }
  | { readonly kind: 'absent' | 'damaged'; readonly why: string; readonly cause?: unknown }

async function lookedAt(path: string): Promise<Looked> {
  try {
    const text = await unlessAbsent(readFile(path, 'utf8'))
    if (text === undefined) return { kind: 'absent', why: 'it is gone' }
    const written = parseDecisions(text)
    return written === undefined ? { kind: 'damaged', why: 'it is damaged' } : { kind: 'whole', written }
  } catch (cause) {
    if (!isDiskError(cause)) throw cause
    return { kind: 'damaged', why: cause.code, cause }
  }
}

async function textIn(path: string): Promise<string | undefined> {
  return unlessAbsent(readFile(path, 'utf8')).catch(cannot(`read "${path}"`))
}
