import { isMap, isScalar, isSeq, parseDocument, visit } from 'yaml'

/**
 * What the reference validator of Agent Skills (skills-ref, in Python) says of the frontmatter of a SKILL.md: its own YAML
 * dialect, and an end at the second run of three hyphens, wherever that stands. Empty where it says nothing.
 */
export function strictFaults(text: string): string[] {
  if (!text.startsWith('---')) return ['it does not begin with three hyphens']
  const [, block, ...rest] = text.split('---')
  if (block === undefined || rest.length === 0) return ['the frontmatter is not closed']
  const document = parseDocument(block, { version: '1.1', schema: 'failsafe' })
  const faults = document.errors.map(({ message }) => message)
  visit(document, {
    Collection: (_, node) => void (node.flow === true && faults.push('a flow collection')),
    Node: (_, node) => void ('anchor' in node && node.anchor !== undefined && faults.push('an anchor')),
    Alias: () => void faults.push('an alias'),
  })
  const fields = document.contents
  if (!isMap(fields)) return [...faults, 'it is no mapping']
  for (const { key, value } of fields.items) {
    const name = isScalar(key) ? String(key.value) : ''
    if (!FIELDS.has(name)) faults.push(`unexpected field ${name}`)
    if (name !== 'metadata' && !isScalar(value)) faults.push(`${name} is no text`)
    if (name === 'metadata' && (!isMap(value) || value.items.some((item) => isMap(item.value) || isSeq(item.value))))
      faults.push('metadata is no mapping of texts')
  }
  return faults
}

const FIELDS: ReadonlySet<string> = new Set([
  'name',
  'description',
  'license',
  'compatibility',
  'allowed-tools',
  'metadata',
])
