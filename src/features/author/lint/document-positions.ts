import { isMap, isNode, isScalar, isSeq } from 'yaml'
import type { Document } from 'yaml'
import { lenientText } from '../../../base/text/lenient-text.ts'
import type { LenientText } from '../../../base/text/lenient-text.ts'
import { frontmatterBlock, parseYaml } from '../../../sync/skill/frontmatter.ts'
import type { FrontmatterLimits } from '../../../sync/skill/frontmatter.ts'
import type { FrontmatterPath } from '../../../sync/skill/skill-diagnostic.ts'
import { Lines, START } from './lines.ts'
import type { TextPosition } from './lines.ts'

/** A SKILL.md as its author wrote it: the text, and the places of the parts of its frontmatter. */
export interface PositionedDocument extends LenientText {
  readonly lines: Lines
  /** `undefined` if there is no frontmatter. */
  readonly yaml: WrittenYaml | undefined
  /** The offset of the text after the frontmatter; zero if there is none. */
  readonly bodyStart: number
}

export interface WrittenYaml {
  readonly text: string
  /** The offset at which it begins in the whole text. */
  readonly start: number
  readonly document: Document
}

/** Decodes and parses a SKILL.md leniently. Never throws. */
export function writtenOf(bytes: Uint8Array, limits: FrontmatterLimits): PositionedDocument {
  const { text, fault } = lenientText(bytes)
  const lines = new Lines(text)
  const block = frontmatterBlock(bytes, limits.bytes)
  if (!block.ok) return { text, fault, lines, yaml: undefined, bodyStart: 0 }
  // Each part begins with a line, and a truncated character ends with its part.
  const start = lenientText(bytes.subarray(0, block.yaml.byteOffset - bytes.byteOffset)).text.length
  const yaml = lenientText(block.yaml).text
  const bodyStart = text.length - lenientText(bytes.subarray(block.bodyStart)).text.length
  const parsed = parseYaml(yaml, limits)
  const written = parsed.ok ? { text: yaml, start, document: parsed.document } : undefined
  return { text, fault, lines, yaml: written, bodyStart }
}

/** The place of a key or its value; if it does not exist, that of its nearest existing ancestor. */
export function positionOf(written: PositionedDocument, path: FrontmatterPath, what: 'key' | 'value'): TextPosition {
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

function stepInto(node: unknown, part: PropertyKey): { key: unknown; value: unknown } | undefined {
  if (isSeq(node) && typeof part === 'number') {
    const value = node.items[part]
    return value === undefined ? undefined : { key: value, value }
  }
  if (!isMap(node)) return undefined
  return node.items.find(({ key }) => isScalar(key) && key.value === part)
}

/** The offset of a node in its YAML; `undefined` for a node that is not written, such as the value of an empty key. */
function startOf(node: unknown): number | undefined {
  return isNode(node) && node.range ? node.range[0] : undefined
}
