import { isAlias, isMap, isScalar, isSeq } from 'yaml'
import type { WrittenYaml } from './document-positions.ts'

/** A construct of valid YAML that a frontmatter must not have, and its place. */
export interface Oddity {
  /** A duplicate key, an alias, or a value that JSON cannot represent. */
  readonly kind: 'twice' | 'alias' | 'value'
  readonly offset: number
}

/** The construct that the frontmatter reader reports: it checks one kind after the other. */
export function oddityOf({ document }: WrittenYaml): Oddity | undefined {
  const all = Array.from(odditiesIn(document.contents, 0))
  return ORDER.map((kind) => all.find((oddity) => oddity.kind === kind)).find((oddity) => oddity !== undefined)
}

const ORDER: readonly Oddity['kind'][] = ['twice', 'alias', 'value']

function* odditiesIn(node: unknown, depth: number): Generator<Oddity> {
  if (depth > DEEPEST) return
  if (isAlias(node) && node.range) yield { kind: 'alias', offset: node.range[0] }
  if (isScalar(node) && node.range && isOdd(node.value)) yield { kind: 'value', offset: node.range[0] }
  if (isSeq(node)) for (const item of node.items) yield* odditiesIn(item, depth + 1)
  if (!isMap(node)) return
  const met = new Set<unknown>()
  for (const { key, value } of node.items) {
    const name: unknown = isScalar(key) ? key.value : key
    if (met.has(name) && isScalar(key) && key.range) yield { kind: 'twice', offset: key.range[0] }
    met.add(name)
    yield* odditiesIn(key, depth + 1)
    yield* odditiesIn(value, depth + 1)
  }
}

/** The reader stops long before this depth. */
const DEEPEST = 64

function isOdd(value: unknown): boolean {
  if (typeof value === 'string') return !value.isWellFormed()
  if (typeof value !== 'number') return false
  return !(Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value))
}
