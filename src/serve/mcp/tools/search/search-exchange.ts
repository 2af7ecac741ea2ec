import type { SearchAnswer, SearchBegin, SearchQuestion } from './search-worker.ts'

/**
 * The ids of the matches, or the reason why there are none: the index has changed since, or the thread has no such
 * index.
 */
export type SearchOutcome = readonly string[] | 'moved-on' | 'unknown' | 'lost'

/** A pending search. */
interface Asked {
  readonly search: SearchBegin
  /** True while the index is still the one to search. */
  readonly isCurrent: () => boolean
  readonly resolve: (outcome: SearchOutcome) => void
}

/**
 * The searches on their way to the thread and back. One exchange carries all searches that arrived since the last one.
 * The round trip takes longer than most searches, so a thread that waited for each would be idle most of the time.
 */
export class SearchExchange {
  readonly #ask: (question: SearchQuestion) => Promise<SearchAnswer | undefined>
  readonly #asked = new Map<number, Asked>()
  #coming: Asked[] = []
  #dropped: number[] = []
  #count = 0
  #isBusy = false

  /** `ask` sends a question to the thread; it resolves with `undefined` if there is no answer. */
  constructor(ask: (question: SearchQuestion) => Promise<SearchAnswer | undefined>) {
    this.#ask = ask
  }

  /** `lost` resolves when the search is no longer wanted. */
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
    // It never rejects: the end of the thread is an answer.
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
      // The thread has ended, together with all searches that it had begun. Searches that arrived since are unaffected.
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
