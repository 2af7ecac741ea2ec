import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UNDECIDED } from '../model/decisions.ts'
import type { Decision, Decisions } from '../model/decisions.ts'
import { isObjectId } from '../model/revision.ts'
import { isSourceId, type SourceId } from '../model/source-id.ts'
import { SyncError } from '../model/sync-error.ts'
import { writeWhole } from './atomic.ts'
import { cannot, unlessAbsent } from './disk-error.ts'
import { canonicalJson, isObject, parseJson } from './json.ts'
import type { StateFolder } from './state-folder.ts'

/** What people decided, `decisions.json`. A file that cannot be read is an error: a hold must not be forgotten. */
export class DecisionStore {
  readonly #file: string
  #known: Decisions = new Map()
  #failure: SyncError | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(state: StateFolder) {
    this.#file = join(state.path, 'decisions.json')
  }

  /** As this process last read or wrote them. */
  get known(): Decisions {
    return this.#known
  }

  /** Throws where they could not be read: a hold must not be forgotten. */
  of(source: SourceId): Decision {
    if (this.#failure !== undefined) throw this.#failure
    return this.#known.get(source) ?? UNDECIDED
  }

  /** Reads the file. For the writer once, before anything else. */
  async read(): Promise<Decisions> {
    try {
      this.#known = await this.#read()
      return this.#known
    } catch (error) {
      if (error instanceof SyncError) this.#failure = error
      throw error
    }
  }

  async #read(): Promise<Decisions> {
    const text = await unlessAbsent(readFile(this.#file, 'utf8')).catch(cannot(`read "${this.#file}"`))
    if (text === undefined) return new Map()
    const decisions = parseDecisions(text)
    if (decisions !== undefined) return decisions
    const message = `Cannot read "${this.#file}": it is damaged; holds, pauses and approvals are in it, so look before you remove it`
    throw new SyncError('store-failed', message)
  }

  /** Writes what becomes of a decision; it is on the disk when this returns. Only for the one writer. */
  async change(source: SourceId, change: (decision: Decision) => Decision): Promise<Decision> {
    const turn = this.#last.then(async () => {
      if (this.#failure !== undefined) throw this.#failure
      const before = this.#known
      const decision = change(before.get(source) ?? UNDECIDED)
      const after = new Map(before).set(source, decision)
      if (Object.keys(decision).length === 0) after.delete(source)
      if (canonicalJson(textForm(after)) !== canonicalJson(textForm(before)))
        await writeWhole(this.#file, canonicalJson(textForm(after)))
      this.#known = after
      return decision
    })
    this.#last = turn.catch(() => {}) // The next in turn does not ask how this one went; its own caller is told.
    return turn
  }
}

function textForm(decisions: Decisions): object {
  return { sources: Object.fromEntries(decisions) }
}

function parseDecisions(text: string): Decisions | undefined {
  const value = parseJson(text)
  const sources = isObject(value) ? value['sources'] : undefined
  if (!isObject(sources)) return undefined
  const decisions = new Map<SourceId, Decision>()
  for (const [id, decision] of Object.entries(sources)) {
    if (!isSourceId(id) || !isDecision(decision)) return undefined
    decisions.set(id, decision)
  }
  return decisions
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
