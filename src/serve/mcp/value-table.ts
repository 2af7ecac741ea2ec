import { stepByStep } from '../../sync/model/slices.ts'
import type { Steps } from '../../sync/model/slices.ts'
import { sortingTexts } from './sorted.ts'
import type { Sorted } from './sorted.ts'

/** What the variables of a template stand for in one thing that it leads to, in the order of their names. */
export type ValueRow = readonly string[]

/**
 * The values of the variables of one template. They are put in order for the first that asks, in slices, once for each variable
 * and each choice of others that are given; from then on they are looked up.
 */
export class ValueTable {
  readonly names: readonly string[]
  readonly #rowing: () => Steps<readonly ValueRow[]>
  #rows: Promise<readonly ValueRow[]> | undefined
  /** The one used longest ago first. */
  readonly #indexes = new Map<string, Promise<ReadonlyMap<string, Sorted>>>()

  constructor(names: readonly string[], rowing: () => Steps<readonly ValueRow[]>) {
    this.names = names
    this.#rowing = rowing
  }

  /** The values of one variable, given what is said of the others. */
  async of(name: string, given: ReadonlyMap<string, string>): Promise<Sorted> {
    const others = this.names.filter((other) => other !== name && given.has(other))
    const key = JSON.stringify([name, ...others])
    const index = this.#indexes.get(key) ?? this.#making(name, others)
    this.#indexes.delete(key)
    this.#indexes.set(key, index)
    const [oldest] = this.#indexes.keys()
    if (this.#indexes.size > MOST_INDEXES && oldest !== undefined) this.#indexes.delete(oldest)
    return (await index).get(keyOf(others.map((other) => given.get(other)))) ?? []
  }

  async #making(name: string, others: readonly string[]): Promise<ReadonlyMap<string, Sorted>> {
    this.#rows ??= stepByStep(this.#rowing())
    const rows = await this.#rows
    const column = (of: string): number => this.names.indexOf(of)
    return stepByStep(indexing(rows, column(name), others.map(column)))
  }
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
