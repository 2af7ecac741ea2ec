import { readSkillUri } from '../../../../sync/model/uris/skill-uri.ts'

/** A template of the operator for the SKILL.md of many skills, such as `skill://docs/{product}/SKILL.md`. */
export interface OfferedTemplate {
  readonly template: string
  readonly segments: readonly Segment[]
}

/** One decoded segment of the path. A variable matches at least one character. */
type Segment =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'variable'; readonly name: string; readonly before: string; readonly after: string }

/** Parses a template, or returns the reason why it is invalid. */
export function skillSpaceOf(template: string): OfferedTemplate | { readonly why: string } {
  const [path] = template.split('skill://').slice(1)
  if (path === undefined || !template.startsWith('skill://') || !template.endsWith('/SKILL.md'))
    return { why: 'must be a template of the form skill://…/SKILL.md' }
  // A variable stands for any valid name.
  const filled = template.replaceAll(VARIABLE, 'x')
  if (/[{}]/.test(filled)) return { why: 'may hold variables such as {product}, and no other braces' }
  const uri = readSkillUri(filled)
  if (!uri.ok || uri.canonical !== filled) return { why: 'must be encoded as the URIs of skills are' }
  const segments: Segment[] = []
  for (const segment of path.split('/')) {
    const [before = '', name, after = '', more] = segment.split(VARIABLE)
    if (more !== undefined) return { why: `has two variables in one segment, "${segment}"` }
    if (name === undefined) segments.push({ kind: 'literal', text: decodeURIComponent(segment) })
    else segments.push({ kind: 'variable', name, before: decodeURIComponent(before), after: decodeURIComponent(after) })
  }
  const names = variablesIn(segments)
  if (names.length === 0) return { why: 'has no variable such as {product}' }
  if (new Set(names).size < names.length) return { why: 'has one variable twice' }
  return { template, segments }
}

const VARIABLE = /\{([A-Za-z0-9_]+)\}/g

export function variablesOf({ segments }: OfferedTemplate): readonly string[] {
  return variablesIn(segments)
}

/** Returns the values of the variables for a canonical URI; `undefined` if the template does not match it. */
export function valuesIn({ segments }: OfferedTemplate, uri: string): ReadonlyMap<string, string> | undefined {
  const parts = uri.slice('skill://'.length).split('/')
  if (parts.length !== segments.length) return undefined
  const values = new Map<string, string>()
  for (const [index, segment] of segments.entries()) {
    const text = decodeURIComponent(parts[index] ?? '')
    if (segment.kind === 'literal') {
      if (text !== segment.text) return undefined
      continue
    }
    const { name, before, after } = segment
    const length = text.length - before.length - after.length
    if (length < 1 || !text.startsWith(before) || !text.endsWith(after)) return undefined
    values.set(name, text.slice(before.length, before.length + length))
  }
  return values
}

function variablesIn(segments: readonly Segment[]): string[] {
  return segments.flatMap((segment) => (segment.kind === 'variable' ? [segment.name] : []))
}
