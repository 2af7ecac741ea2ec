import { isMap, isNode, isScalar, isSeq } from 'yaml'
import type { Document } from 'yaml'
import { frontmatterBlock, parseYaml, utf8 } from '../model/frontmatter.ts'
import type { FrontmatterLimits } from '../model/frontmatter.ts'
import { Lines, START } from './place.ts'
import type { Place } from './place.ts'

/** A SKILL.md as its author wrote it: the text, and where the parts of its frontmatter stand. */
export interface Written {
  readonly text: string
  readonly lines: Lines
  /** Undefined where no frontmatter is found. */
  readonly yaml: WrittenYaml | undefined
  /** Where the text after the frontmatter begins; the text's beginning where there is none. */
  readonly bodyStart: number
}

export interface WrittenYaml {
  readonly text: string
  /** Where it begins in the whole text. */
  readonly start: number
  readonly document: Document
}

/** The way from the top of the frontmatter to a key or a list entry. */
export type KeyPath = readonly (string | number)[]

/** Undefined for bytes that are not UTF-8. Never throws. */
export function writtenOf(bytes: Uint8Array, limits: FrontmatterLimits): Written | undefined {
  const text = utf8(bytes)
  if (text === undefined) return undefined
  const lines = new Lines(text)
  const block = frontmatterBlock(bytes, limits.bytes)
  if (!block.ok) return { text, lines, yaml: undefined, bodyStart: 0 }
  const before = utf8(bytes.subarray(0, block.yaml.byteOffset - bytes.byteOffset)) ?? ''
  const yaml = utf8(block.yaml) ?? ''
  const start = before.length
  const bodyStart = text.length - (utf8(bytes.subarray(block.bodyStart)) ?? '').length
  return { text, lines, yaml: { text: yaml, start, document: parseYaml(yaml) }, bodyStart }
}

/** Where a key or its value stands; for one that is not there, where the nearest above it does. */
export function placeOf(written: Written, path: KeyPath, what: 'key' | 'value'): Place {
  const { yaml, lines } = written
  if (yaml === undefined) return START
  let node: unknown = yaml.document.contents
  let offset = path.length === 0 ? (startOf(node) ?? 0) : 0
  for (const [index, part] of path.entries()) {
    const step = stepInto(node, part)
    if (step === undefined) break
    const ofKey = what === 'key' && index === path.length - 1
    offset = (ofKey ? startOf(step.key) : (startOf(step.value) ?? startOf(step.key))) ?? offset
    node = step.value
  }
  return lines.at(yaml.start + offset)
}

function stepInto(node: unknown, part: string | number): { key: unknown; value: unknown } | undefined {
  if (isSeq(node) && typeof part === 'number') {
    const value = node.items[part]
    return value === undefined ? undefined : { key: value, value }
  }
  if (!isMap(node)) return undefined
  return node.items.find(({ key }) => isScalar(key) && key.value === part)
}

/** Where a node begins in its YAML; undefined for what is not written, such as the value of an empty key. */
function startOf(node: unknown): number | undefined {
  return isNode(node) && node.range ? node.range[0] : undefined
}
