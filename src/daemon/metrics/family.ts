/** The figures of one name, in the words of Prometheus. That of a counter ends in `_total`. */
export interface Family {
  readonly name: string
  readonly kind: 'counter' | 'gauge' | 'summary' | 'histogram'
  /** What they are, in one sentence. */
  readonly help: string
  readonly samples: readonly Sample[]
}

export interface Sample {
  /** `_bucket`, `_sum` or `_count`, of a histogram or a summary. */
  readonly suffix?: string
  /** One whose value is undefined is left out. */
  readonly labels?: Labels
  readonly value: number
}

export type Labels = Readonly<Record<string, string | undefined>>

/** A family of one figure. */
export function single(name: string, kind: 'counter' | 'gauge', help: string, value: number): Family {
  return { name, kind, help, samples: [{ value }] }
}
