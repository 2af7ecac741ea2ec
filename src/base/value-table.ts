import { MadeInSteps } from './incremental.ts'
import type { Steps } from './cooperative.ts'
import { sortingTexts } from './sorted-texts.ts'
import type { Sorted } from './sorted-texts.ts'

/** What the variables of a template stand for in one thing that it leads to, in the order of their names. */
export type ValueRow = readonly string[]

/**
 * The values of the variables of one template. They are put in order for the first that asks, in slices, once for each variable
 * and each choice of others that are given; from then on they are looked up. A failure is of those that wait for it alone.
 */
export class ValueTable {
  readonly names: readonly string[]
  readonly #rows: MadeInSteps<ValueTable, readonly ValueRow[]>
  readonly #indexes: MadeInSteps<Choice, ReadonlyMap<string, Sorted>>
  /** The one used longest ago first. */
  readonly #choices = new Map<string, Choice>()

  constructor(names: readonly string[], rowing: () => Steps<readonly ValueRow[]>) {
    this.names = names
    this.#rows = new MadeInSteps(rowing)
    this.#indexes = new MadeInSteps((choice) => this.#indexing(choice))
  }

  /** The values of one variable, given what is said of the others. */
  async of(name: string, given: ReadonlyMap<string, string>): Promise<Sorted> {
    const choice = this.#choiceOf(name, given)
    // Once for all choices.
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

/** A variable that is asked for, and those that are given. */
interface Choice {
  readonly name: string
  readonly others: readonly string[]
}

/** All that a template of three variables can be asked; each is as large as what it leads to. */
const MOST_INDEXES = 16

/** The values of a column, by those of other columns. */
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
