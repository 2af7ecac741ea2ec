import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { NONE_APPROVED, withApproval } from '../model/approvals.ts'
import type { Approval, Approvals } from '../model/approvals.ts'
import { UNDECIDED } from '../model/decisions.ts'
import type { Decision, Decisions } from '../model/decisions.ts'
import { NONE_DISABLED, withDisabled, type Disabled } from '../model/disabled.ts'
import { NONE_NAMED, withNaming } from '../model/namings.ts'
import type { Naming, Namings } from '../model/namings.ts'
import type { SourceId } from '../model/source-id.ts'
import { SyncError } from '../model/sync-error.ts'
import { writeWhole } from './atomic.ts'
import { parseDecisions, textForm } from './decisions-text.ts'
import type { Written } from './decisions-text.ts'
import { cannot, unlessAbsent } from './disk-error.ts'
import { canonicalJson } from './json.ts'
import type { StateFolder } from './state-folder.ts'

/** What people decided, `decisions.json`. A file that cannot be read is an error: a hold must not be forgotten. */
export class DecisionStore {
  /** Replaced whole whenever something is decided. */
  readonly file: string
  #written: Written = NOTHING
  #failure: SyncError | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(state: StateFolder) {
    this.file = join(state.path, 'decisions.json')
  }

  /** As this process last read or wrote them. */
  get known(): Decisions {
    return this.#written.sources
  }

  /** The skills that are disabled, as this process last read or wrote them. Another value whenever they are others. */
  get disabled(): Disabled {
    return this.#written.disabled
  }

  /** The skills of other MCP servers that are approved, likewise. */
  get approvals(): Approvals {
    return this.#written.approvals
  }

  /** The skills of other MCP servers that are named by their URIs, likewise. */
  get namings(): Namings {
    return this.#written.namings
  }

  /** Throws where they could not be read: a hold must not be forgotten. */
  of(source: SourceId): Decision {
    if (this.#failure !== undefined) throw this.#failure
    return this.known.get(source) ?? UNDECIDED
  }

  /** Reads the file. For the writer once, before anything else. */
  async read(): Promise<Decisions> {
    try {
      const read = await this.#read()
      this.#written = read
      this.#failure = undefined
      return read.sources
    } catch (error) {
      if (error instanceof SyncError) this.#failure = error
      throw error
    }
  }

  async #read(): Promise<Written> {
    const text = await unlessAbsent(readFile(this.file, 'utf8')).catch(cannot(`read "${this.file}"`))
    if (text === undefined) return NOTHING
    const decisions = parseDecisions(text)
    if (decisions !== undefined) return decisions
    const message = `Cannot read "${this.file}": it is damaged; holds, pauses, approvals, disabled and named skills are in it, so look before you remove it`
    throw new SyncError('store-failed', message)
  }

  /** Writes what becomes of a decision; it is on the disk when this returns. Only for the one writer. */
  async change(source: SourceId, change: (decision: Decision) => Decision): Promise<Decision> {
    return this.#inTurn(async () => {
      const decision = change(this.known.get(source) ?? UNDECIDED)
      const after = new Map(this.known).set(source, decision)
      if (Object.keys(decision).length === 0) after.delete(source)
      await this.#write({ ...this.#written, sources: after })
      return decision
    })
  }

  /** Writes that a skill is disabled, or is no longer; it is on the disk when this returns. Says whether that is new. */
  async disable(source: SourceId, path: string, disabled: boolean): Promise<boolean> {
    return this.#put('disabled', (before) => withDisabled(before, source, path, disabled))
  }

  /** Writes that a skill is approved, or no longer; it is on the disk when this returns. Says whether that is new. */
  async approve(source: SourceId, path: string, approval: Approval | undefined): Promise<boolean> {
    return this.#put('approvals', (before) => withApproval(before, source, path, approval))
  }

  /** Writes that a skill is named by its URI, or no longer; it is on the disk when this returns. Says whether that is new. */
  async name(source: SourceId, uri: string, naming: Naming | undefined): Promise<boolean> {
    return this.#put('namings', (before) => withNaming(before, source, uri, naming))
  }

  async #put<Part extends keyof Written>(
    part: Part,
    change: (before: Written[Part]) => Written[Part],
  ): Promise<boolean> {
    return this.#inTurn(async () => {
      const before = this.#written[part]
      const after = change(before)
      if (after === before) return false
      await this.#write({ ...this.#written, [part]: after })
      return true
    })
  }

  /** Writes them again where the file is gone or damaged since. Says whether it was. Only for the one writer. */
  async mend(): Promise<boolean> {
    // What was not read is not known here: a person has to look.
    if (this.#failure !== undefined) return false
    return this.#inTurn(async () => {
      const text = await unlessAbsent(readFile(this.file, 'utf8')).catch(cannot(`read "${this.file}"`))
      const known = canonicalJson(textForm(this.#written))
      const isWhole =
        text === undefined ? known === canonicalJson(textForm(NOTHING)) : parseDecisions(text) !== undefined
      if (!isWhole) await writeWhole(this.file, known)
      return !isWhole
    })
  }

  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(async () => {
      if (this.#failure !== undefined) throw this.#failure
      return work()
    })
    this.#last = turn.catch(() => {}) // The next in turn does not ask how this one went; its own caller is told.
    return turn
  }

  async #write(after: Written): Promise<void> {
    const text = canonicalJson(textForm(after))
    if (text !== canonicalJson(textForm(this.#written))) await writeWhole(this.file, text)
    this.#written = after
  }
}

const NOTHING: Written = {
  sources: new Map(),
  disabled: NONE_DISABLED,
  approvals: NONE_APPROVED,
  namings: NONE_NAMED,
}
