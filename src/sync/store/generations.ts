import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { canonicalJson, isTime } from '../../base/canonical-json.ts'
import { isObject } from '../../base/json-object.ts'
import { parseJson } from '../../base/json-value.ts'
import { SerialQueue } from '../../base/serial-queue.ts'
import type { GenerationCause, Trigger, Generation, HeldSnapshot } from '../model/generation.ts'
import { isSourceId } from '../model/source-id.ts'
import type { SourceId } from '../model/source-id.ts'
import { SyncError } from '../model/sync-error.ts'
import { writeWhole } from './files/atomic.ts'
import { cannot, unlessAbsent } from './files/disk-error.ts'
import { fileNamesIn, type StateFolder } from './files/state-folder.ts'
import { isDigest } from './skills/stored-path.ts'
import type { SnapshotStore } from './snapshots.ts'

/** The generations, `generations/<n>.json`. The file `current` holds the number of the served one. */
export class GenerationStore {
  readonly #state: StateFolder
  readonly #snapshots: SnapshotStore
  readonly #queue = new SerialQueue()

  constructor(state: StateFolder, snapshots: SnapshotStore) {
    this.#state = state
    this.#snapshots = snapshots
  }

  /** Returns the served generation. If that is damaged, returns the newest intact one; `undefined` if there is none. */
  async current(): Promise<Generation | undefined> {
    const pointed = await this.#currentNumber()
    const numbers = await this.numbers()
    for (const number of pointed === undefined ? numbers : [pointed, ...numbers]) {
      const generation = await this.read(number)
      if (generation !== undefined && (await this.#isWhole(generation))) return generation
    }
    return undefined
  }

  /** Returns the generation in `current`, or the newest readable one. Its snapshots need not exist. */
  async newest(): Promise<Generation | undefined> {
    const pointed = await this.#currentNumber()
    for (const number of pointed === undefined ? await this.numbers() : [pointed, ...(await this.numbers())]) {
      const generation = await this.read(number)
      if (generation !== undefined) return generation
    }
    return undefined
  }

  /** True if `current` exists, so a generation was published; the generation itself may be gone. */
  async isPointed(): Promise<boolean> {
    return (await readIfThere(this.#currentFile)) !== undefined
  }

  /** `undefined` if it does not exist or is damaged. */
  async read(number: number): Promise<Generation | undefined> {
    const text = await readIfThere(this.#fileOf(number))
    return text === undefined ? undefined : parseGeneration(text, number)
  }

  /** True if `current` points to this generation, and its file names at least these snapshots. */
  async isServed({ number, sources }: Generation): Promise<boolean> {
    const found = (await this.#currentNumber()) === number ? await this.read(number) : undefined
    if (found === undefined) return false
    const named = new Map(found.sources.map(({ source, snapshot }) => [source, snapshot]))
    return sources.every(({ source, snapshot }) => named.get(source) === snapshot)
  }

  /** Returns the numbers of all generations, damaged ones included; newest first. */
  async numbers(): Promise<number[]> {
    const names = await fileNamesIn(this.#state.at('generations'))
    const numbers = names
      .filter((name) => name.endsWith('.json'))
      .map((name) => numberIn(name.slice(0, -'.json'.length)))
    return numbers.filter((number) => number !== undefined).sort((a, b) => b - a)
  }

  /** Writes the next generation and makes it the served one. Its snapshots must be in the store already. */
  async publish(
    sources: readonly HeldSnapshot[],
    now: Date,
    more: Pick<Generation, 'cause' | 'lost'> = {},
  ): Promise<Generation> {
    return this.exclusively(() => this.#publish(sources, now, more))
  }

  /** Runs the work while no publish runs. Calls run one after the other. */
  async exclusively<Done>(work: () => Promise<Done>): Promise<Done> {
    return this.#queue.next(work)
  }

  /** Sets a generation aside and returns its new path, for the caller to remove. */
  async setAside(number: number): Promise<string | undefined> {
    return this.#state.setAside(this.#fileOf(number))
  }

  async #publish(
    sources: readonly HeldSnapshot[],
    now: Date,
    { cause, lost = [] }: Pick<Generation, 'cause' | 'lost'>,
  ): Promise<Generation> {
    for (const { source, snapshot } of sources) {
      if (await this.#snapshots.has(snapshot)) continue
      throw new SyncError('store-failed', `Cannot publish "${source}": its snapshot "${snapshot}" is not in the store`)
    }
    await this.#state.expectRight()
    const number = Math.max(0, (await this.#currentNumber()) ?? 0, ...(await this.numbers())) + 1
    const generation = {
      number,
      createdAt: now.toISOString(),
      sources: [...sources],
      ...(lost.length > 0 && { lost: [...lost] }),
      ...(cause && { cause }),
    }
    await writeWhole(this.#fileOf(number), canonicalJson(generation))
    await this.#point(number).catch(async (error: unknown) => {
      // On a full disk each retry would leave one more file. The caller gets the write error, not an error of this
      // cleanup.
      if ((await this.#currentNumber().catch(() => number)) !== number)
        await rm(this.#fileOf(number), { force: true }).catch(() => {})
      throw error
    })
    return generation
  }

  /** Switches the served generation. The right to write is checked once more, right before the switch. */
  async #point(number: number): Promise<void> {
    await this.#state.expectRight()
    await writeWhole(this.#currentFile, `${number}\n`)
  }

  async #currentNumber(): Promise<number | undefined> {
    return numberIn((await readIfThere(this.#currentFile))?.trimEnd() ?? '')
  }

  async #isWhole(generation: Generation): Promise<boolean> {
    for (const { snapshot } of generation.sources) if (!(await this.#snapshots.has(snapshot))) return false
    return true
  }

  get #currentFile(): string {
    return join(this.#state.path, 'current')
  }

  #fileOf(number: number): string {
    return this.#state.at('generations', `${number}.json`)
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  return unlessAbsent(readFile(file, 'utf8')).catch(cannot(`read "${file}"`))
}

/** Parses the number; `undefined` for any text that this program would not have written. */
function numberIn(text: string): number | undefined {
  const number = Number(text)
  return Number.isSafeInteger(number) && number > 0 && String(number) === text ? number : undefined
}

function parseGeneration(text: string, number: number): Generation | undefined {
  const value = parseJson(text)
  if (!isObject(value) || value['number'] !== number) return undefined
  const { createdAt, sources, lost, cause } = value
  if (!isTime(createdAt) || !Array.isArray(sources) || !sources.every(isHeld)) return undefined
  // Neither field is served, so an invalid one does not cost the generation.
  return { number, createdAt, sources, ...(isLost(lost) && { lost }), ...(isCause(cause) && { cause }) }
}

function isLost(value: unknown): value is readonly SourceId[] {
  return Array.isArray(value) && value.every((source) => typeof source === 'string' && isSourceId(source))
}

function isCause(value: unknown): value is GenerationCause {
  if (!isObject(value)) return false
  const { action, trigger, source, rewritten } = value
  if (action !== 'update' && action !== 'rollback' && action !== 'withdraw') return false
  if (typeof trigger !== 'string' || !TRIGGERS.has(trigger)) return false
  if (rewritten !== undefined && rewritten !== true) return false
  return source === undefined || (typeof source === 'string' && isSourceId(source))
}

const TRIGGERS: ReadonlySet<string> = new Set<Trigger>([
  'start',
  'reload',
  'schedule',
  'webhook',
  'change',
  'call',
  'command',
])

function isHeld(value: unknown): value is HeldSnapshot {
  if (!isObject(value)) return false
  const { source, snapshot } = value
  return typeof source === 'string' && isSourceId(source) && typeof snapshot === 'string' && isDigest(snapshot)
}
