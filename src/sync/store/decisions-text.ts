import { z } from 'zod'
import { parseJson } from '../../base/json-value.ts'
import { DECIDED, type Decided } from '../model/decisions/decided.ts'
import { RULE, type Rule } from '../model/decisions/rules.ts'
import { isDigest } from './skills/stored-path.ts'

/** All decisions in the file. */
export interface StoredDecisions {
  readonly rules: readonly Rule[]
  /** The list of recalls that was obeyed last of each log that is followed, by `obeyedKey`. */
  readonly obeyed: ReadonlyMap<string, string>
  /** The latest decisions, oldest first, in force or not. Nothing follows from them. */
  readonly history: readonly Decided[]
}

export const NO_DECISIONS: StoredDecisions = { rules: [], obeyed: new Map(), history: [] }

/** Returns the JSON form of the decisions, as written to the file. */
export function textForm({ rules, obeyed, history }: StoredDecisions): object {
  return {
    rules,
    ...(obeyed.size > 0 && { obeyed: Object.fromEntries(obeyed) }),
    ...(history.length > 0 && { history }),
  }
}

const FILE = z.object({
  rules: z.array(RULE),
  obeyed: z.record(z.string(), z.string().refine(isDigest)).default({}),
  history: z.array(z.unknown()).catch([]),
})

/** Parses the text of a decisions file; `undefined` if it is damaged. */
export function parseDecisions(text: string): StoredDecisions | undefined {
  const { data } = FILE.safeParse(parseJson(text))
  if (data === undefined) return undefined
  // Nothing follows from the history: an entry that is none is left out.
  const history = data.history.flatMap((one) => DECIDED.safeParse(one).data ?? [])
  return { rules: data.rules, obeyed: new Map(Object.entries(data.obeyed)), history }
}
