import type { Steps } from './async/cooperative.ts'
import { IncrementalCache } from './async/incremental.ts'
import { sortingTexts } from './sorted-texts.ts'
import type { Sorted } from './sorted-texts.ts'

/** The values of a template's variables for one resource, in the order of their names. */
export type ValueRow = readonly string[]

/**
 * The values of the variables of one template. They are sorted in slices for the first caller, once for each variable
 * and each set of given others; after that they are looked up. A failure affects only the callers that wait for it.
 */
export class ValueTable {
  readonly names: readonly string[]
  readonly #rows: IncrementalCache<ValueTable, readonly ValueRow[]>
  readonly #indexes: IncrementalCache<Choice, ReadonlyMap<string, Sorted>>
  /** The least recently used choice comes first. */
  readonly #choices = new Map<string, Choice>()

  constructor(names: readonly string[], rowing: () => Steps<readonly ValueRow[]>) {
    this.names = names
    this.#rows = new IncrementalCache(rowing)
    this.#indexes = new IncrementalCache((choice) => this.#indexing(choice))
  }

  /** Returns the values of one variable for the given values of the others. */
  async of(name: string, given: ReadonlyMap<string, string>): Promise<Sorted> {
    const choice = this.#choiceOf(name, given)
    // Built once for all choices.
    await this.#rows.ready(this)
    const index = await this.#indexes.ready(choice)
    return index.get(keyOf(choice.others.map((other) => given.get(other)))) ?? []
  }

  #choiceOf(name: string, given: ReadonlyMap<string, string>): Choice {
    const others = this.names.filter((other) => other !== name && given.has(other))
    const key = JSON.stringify([name, ...others])
    const choice = this.#choices.get(key) ?? { name, others }
    this.#choices.delete(key)
    this.#choices.set(key, choice)
    const [oldest] = this.#choices.keys()
    if (this.#choices.size > MOST_INDEXES && oldest !== undefined) this.#choices.delete(oldest)
    return choice
  }

  *#indexing({ name, others }: Choice): Steps<ReadonlyMap<string, Sorted>> {
    const rows = yield* this.#rows.steps(this)
    const column = (of: string): number => this.names.indexOf(of)
    return yield* indexing(rows, column(name), others.map(column))
  }
}

/** A requested variable, and the given ones. */
interface Choice {
  readonly name: string
  readonly others: readonly string[]
}

/** All choices of a template with three variables; each is as large as the list of its resources. */
const MOST_INDEXES = 16

/** Returns the values of a column, grouped by the values of other columns. */
function* indexing(
  rows: readonly ValueRow[],
  column: number,
  others: readonly number[],
): Steps<ReadonlyMap<string, Sorted>> {
  const groups = new Map<string, Set<string>>()
  for (const row of rows) {
    const key = keyOf(others.map((other) => row[other]))
    const group = groups.get(key)
    if (group === undefined) groups.set(key, new Set([row[column] ?? '']))
    else group.add(row[column] ?? '')
    yield
  }
  const sorted = new Map<string, Sorted>()
  for (const [key, values] of groups) sorted.set(key, yield* sortingTexts(values))
  return sorted
}

function keyOf(values: readonly (string | undefined)[]): string {
  return JSON.stringify(values)
}
