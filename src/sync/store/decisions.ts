import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UNDECIDED } from '../model/decisions.ts'
import type { Decision, Decisions } from '../model/decisions.ts'
import { NONE_DISABLED, withDisabled, type Disabled } from '../model/disabled.ts'
import { isObjectId } from '../model/revision.ts'
import { isSourceId, type SourceId } from '../model/source-id.ts'
import { SyncError } from '../model/sync-error.ts'
import { writeWhole } from './atomic.ts'
import { cannot, unlessAbsent } from './disk-error.ts'
import { canonicalJson, isObject, parseJson } from './json.ts'
import type { StateFolder } from './state-folder.ts'

/** What people decided, `decisions.json`. A file that cannot be read is an error: a hold must not be forgotten. */
export class DecisionStore {
  /** Replaced whole whenever something is decided. */
  readonly file: string
  #known: Decisions = new Map()
  #disabled: Disabled = NONE_DISABLED
  #failure: SyncError | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(state: StateFolder) {
    this.file = join(state.path, 'decisions.json')
  }

  /** As this process last read or wrote them. */
  get known(): Decisions {
    return this.#known
  }

  /** The skills that are disabled, as this process last read or wrote them. Another value whenever they are others. */
  get disabled(): Disabled {
    return this.#disabled
  }

  /** Throws where they could not be read: a hold must not be forgotten. */
  of(source: SourceId): Decision {
    if (this.#failure !== undefined) throw this.#failure
    return this.#known.get(source) ?? UNDECIDED
  }

  /** Reads the file. For the writer once, before anything else. */
  async read(): Promise<Decisions> {
    try {
      const { sources, disabled } = await this.#read()
      this.#known = sources
      this.#disabled = disabled
      this.#failure = undefined
      return sources
    } catch (error) {
      if (error instanceof SyncError) this.#failure = error
      throw error
    }
  }

  async #read(): Promise<Written> {
    const text = await unlessAbsent(readFile(this.file, 'utf8')).catch(cannot(`read "${this.file}"`))
    if (text === undefined) return { sources: new Map(), disabled: NONE_DISABLED }
    const decisions = parseDecisions(text)
    if (decisions !== undefined) return decisions
    const message = `Cannot read "${this.file}": it is damaged; holds, pauses, approvals and disabled skills are in it, so look before you remove it`
    throw new SyncError('store-failed', message)
  }

  /** Writes what becomes of a decision; it is on the disk when this returns. Only for the one writer. */
  async change(source: SourceId, change: (decision: Decision) => Decision): Promise<Decision> {
    return this.#inTurn(async () => {
      const decision = change(this.#known.get(source) ?? UNDECIDED)
      const after = new Map(this.#known).set(source, decision)
      if (Object.keys(decision).length === 0) after.delete(source)
      await this.#write({ sources: after, disabled: this.#disabled })
      return decision
    })
  }

  /** Writes that a skill is disabled, or is no longer; it is on the disk when this returns. Says whether that is new. */
  async disable(source: SourceId, path: string, disabled: boolean): Promise<boolean> {
    return this.#inTurn(async () => {
      const after = withDisabled(this.#disabled, source, path, disabled)
      if (after === this.#disabled) return false
      await this.#write({ sources: this.#known, disabled: after })
      return true
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
    if (text !== canonicalJson(textForm({ sources: this.#known, disabled: this.#disabled })))
      await writeWhole(this.file, text)
    this.#known = after.sources
    this.#disabled = after.disabled
  }
}

/** All that the file holds. */
interface Written {
  readonly sources: Decisions
  readonly disabled: Disabled
}

function textForm({ sources, disabled }: Written): object {
  const paths = [...disabled].map(([source, folders]) => [source, [...folders]] as const)
  return {
    sources: Object.fromEntries(sources),
    ...(disabled.size > 0 && { disabled: Object.fromEntries(paths) }),
  }
}

function parseDecisions(text: string): Written | undefined {
  const value = parseJson(text)
  const sources = isObject(value) ? value['sources'] : undefined
  const disabled = isObject(value) ? parseDisabled(value['disabled'] ?? {}) : undefined
  if (!isObject(sources) || disabled === undefined) return undefined
  const decisions = new Map<SourceId, Decision>()
  for (const [id, decision] of Object.entries(sources)) {
    if (!isSourceId(id) || !isDecision(decision)) return undefined
    decisions.set(id, decision)
  }
  return { sources: decisions, disabled }
}

function parseDisabled(value: unknown): Disabled | undefined {
  if (!isObject(value)) return undefined
  const disabled = new Map<SourceId, ReadonlySet<string>>()
  for (const [id, paths] of Object.entries(value)) {
    const isText = Array.isArray(paths) && paths.every((path) => typeof path === 'string')
    if (!isSourceId(id) || !isText) return undefined
    disabled.set(id, new Set(paths))
  }
  return disabled
}

function isDecision(value: unknown): value is Decision {
  if (!isObject(value)) return false
  const { paused, frozen, skipped, approved } = value
  if (paused !== undefined && paused !== true) return false
  if (!isBy(frozen, 'pin', 'rollback') || !isBy(skipped, 'rollback', 'reject')) return false
  return [frozen, skipped, approved].every((part) => part === undefined || isAboutCommit(part))
}

function isBy(part: unknown, ...who: readonly string[]): boolean {
  return part === undefined || (isObject(part) && typeof part['by'] === 'string' && who.includes(part['by']))
}

function isAboutCommit(value: unknown): boolean {
  if (!isObject(value)) return false
  const { commit, tag } = value
  if (typeof commit !== 'string' || !isObjectId(commit)) return false
  return tag === undefined || (typeof tag === 'string' && isObjectId(tag))
}
