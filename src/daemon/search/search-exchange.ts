import type { SearchAnswer, SearchBegin, SearchQuestion } from './search-worker.ts'

/** The ids found, or why there are none: the index has changed since, or the thread has no such index. */
export type SearchOutcome = readonly string[] | 'moved-on' | 'unknown' | 'lost'

/** A search that is asked for. */
interface Asked {
  readonly search: SearchBegin
  /** Returns true while the index is still the one that is to be searched. */
  readonly isCurrent: () => boolean
  readonly resolve: (outcome: SearchOutcome) => void
}

/**
 * Searches on their way to the thread and back. One exchange takes along all that came since the last one: the way there and back
 * takes longer than most searches, and a thread that waited for each would do nothing for most of the time.
 */
export class SearchExchange {
  readonly #ask: (question: SearchQuestion) => Promise<SearchAnswer | undefined>
  readonly #asked = new Map<number, Asked>()
  #coming: Asked[] = []
  #dropped: number[] = []
  #count = 0
  #isBusy = false

  /** `ask`: asks the thread; undefined where there is no answer. */
  constructor(ask: (question: SearchQuestion) => Promise<SearchAnswer | undefined>) {
    this.#ask = ask
  }

  /** `lost`: resolves when the search is not wanted any more. */
  async find(
    search: Omit<SearchBegin, 'id'>,
    { isCurrent, lost }: Pick<Asked, 'isCurrent'> & { readonly lost: Promise<void> },
  ): Promise<SearchOutcome> {
    const id = (this.#count += 1)
    const { promise, resolve } = Promise.withResolvers<SearchOutcome>()
    const asked: Asked = { search: { ...search, id }, isCurrent, resolve }
    const drop = (): void => this.#drop(asked)
    void lost.then(drop)
    this.#asked.set(id, asked)
    this.#coming.push(asked)
    // It never rejects: a thread that ends is an answer.
    void this.#go()
    return promise
  }

  async #go(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    while (this.#asked.size > 0) this.#take(await this.#ask({ kind: 'search', ...this.#parcel() }))
    this.#isBusy = false
  }

  #parcel(): { readonly begin: readonly SearchBegin[]; readonly drop: readonly number[] } {
    for (const { search, isCurrent } of this.#coming) if (!isCurrent()) this.#end(search.id, 'moved-on')
    const begin = this.#coming.map(({ search }) => search).filter(({ id }) => this.#asked.has(id))
    const drop = this.#dropped
    this.#coming = []
    this.#dropped = []
    return { begin, drop }
  }

  #take(answer: SearchAnswer | undefined): void {
    if (answer?.kind !== 'searched') {
      // The thread has ended, and with it all that had begun. What came since has not.
      const coming = new Set(this.#coming.map(({ search }) => search.id))
      for (const id of [...this.#asked.keys()].filter((id) => !coming.has(id))) this.#end(id, 'unknown')
      return
    }
    for (const id of answer.unknown) this.#end(id, 'unknown')
    for (const { id, ids } of answer.ended) this.#end(id, ids ?? 'moved-on')
  }

  #drop({ search: { id } }: Asked): void {
    if (!this.#asked.has(id)) return
    this.#end(id, 'lost')
    this.#dropped.push(id)
  }

  #end(id: number, outcome: SearchOutcome): void {
    this.#asked.get(id)?.resolve(outcome)
    this.#asked.delete(id)
  }
}
