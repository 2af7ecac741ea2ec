/** The samples of one name, as a Prometheus metric family. The name of a counter ends in `_total`. */
export interface Family {
  readonly name: string
  readonly kind: 'counter' | 'gauge' | 'summary' | 'histogram'
  /** A description in one sentence. */
  readonly help: string
  readonly samples: readonly Sample[]
}

export interface Sample {
  /** `_bucket`, `_sum` or `_count`, of a histogram or a summary. */
  readonly suffix?: string
  /** A label whose value is `undefined` is left out. */
  readonly labels?: Labels
  readonly value: number
}

export type Labels = Readonly<Record<string, string | undefined>>

/** A family with one sample. */
export function single(name: string, kind: 'counter' | 'gauge', help: string, value: number): Family {
  return { name, kind, help, samples: [{ value }] }
}
