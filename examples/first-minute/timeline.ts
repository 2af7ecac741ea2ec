/** One line of the daemon's log. */
export interface LogLine {
  readonly event: string
  readonly [field: string]: unknown
}

/** Something that was seen: a line that the daemon logged, or what it told its client. */
export type Happening =
  | { readonly kind: 'logged'; readonly line: LogLine }
  | { readonly kind: 'updated'; readonly uri: string }
  | { readonly kind: 'list-changed' }

/** A happening, and when it was seen, in milliseconds of `performance.now()`. */
export type Seen<Kind extends Happening['kind'] = Happening['kind']> = Extract<Happening, { kind: Kind }> & {
  readonly atMs: number
}

/** What happens, kept in order until somebody takes it. */
export class Timeline {
  readonly #kept: Seen[] = []
  #changed = Promise.withResolvers<void>()
  #end: Error | undefined

  push(happening: Happening): void {
    this.#kept.push({ ...happening, atMs: performance.now() })
    this.#wake()
  }

  /** Nothing more is to come, for this reason. */
  end(reason: Error): void {
    this.#end ??= reason
    this.#wake()
  }

  /** Takes out the first happening, seen already or to come, that `pick` makes something of; what comes before it stays. */
  async next<Picked>(pick: Pick<Picked>, signal: AbortSignal): Promise<Picked> {
    for (;;) {
      const found = this.take(pick)
      if (found !== undefined) return found
      if (this.#end !== undefined) throw this.#end
      await unlessAborted(this.#changed.promise, signal)
    }
  }

  /** The same of what was seen already. */
  take<Picked>(pick: Pick<Picked>): Picked | undefined {
    for (const [index, seen] of this.#kept.entries()) {
      const picked = pick(seen)
      if (picked === undefined) continue
      this.#kept.splice(index, 1)
      return picked
    }
    return undefined
  }

  #wake(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }
}

type Pick<Picked> = (seen: Seen) => Picked | undefined

export function logged(...events: readonly string[]): Pick<Seen<'logged'>> {
  return (seen) => (seen.kind === 'logged' && events.includes(seen.line.event) ? seen : undefined)
}

export function ofKind<Kind extends Happening['kind']>(kind: Kind): Pick<Seen<Kind>> {
  return (seen) => (isOfKind(seen, kind) ? seen : undefined)
}

export function anything(seen: Seen): Seen {
  return seen
}

function isOfKind<Kind extends Happening['kind']>(seen: Seen, kind: Kind): seen is Seen<Kind> {
  return seen.kind === kind
}

async function unlessAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
