import { explainedCodes } from '../../src/features/author/explain/code-list.ts'

/** A fix in the tables of the program, with the code that it is for. */
export interface OfferedFix {
  readonly kind: string
  readonly code: string
  readonly fix: string
}

/** The texts that offer nothing: each message has a fix of its own, or there is nothing to do. */
const NO_FIXES: ReadonlySet<string> = new Set(['The message has the next step', 'Nothing'])

/** Every fix that the tables offer: what `explain` prints, and messages without a fix of their own. */
export function offeredFixes(): readonly OfferedFix[] {
  return explainedCodes()
    .filter(({ fix }) => !NO_FIXES.has(fix))
    .map(({ kind, code, fix }) => ({ kind, code, fix }))
}

/** The problem of a source whose fix is meant by one that only names its code. */
export function meantBy({ fix }: OfferedFix): string | undefined {
  const [, code] = /^See `([a-z-]+)`$/.exec(fix) ?? []
  return code === undefined ? undefined : `problem of a source: ${code}`
}

export function nameOf({ kind, code }: OfferedFix): string {
  return `${kind}: ${code}`
}

/** The offered fix of that name. */
export function offeredFix(name: string): OfferedFix {
  const found = offeredFixes().find((offered) => nameOf(offered) === name)
  if (found === undefined) throw new Error(`The tables have no fix of "${name}"`)
  return found
}
