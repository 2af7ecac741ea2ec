import type { z } from 'zod'
import { closestTo } from '../../base/text/closest.ts'
import { FORMS } from './forms.ts'
import type { Fault, KeyPath } from './rules/config-error.ts'
import { keysAt, nameable } from './schema-json.ts'
import type { SchemaNode } from './schema-json.ts'

type Issue = z.core.$ZodIssue
type RawIssue = z.core.$ZodRawIssue

/**
 * The parse options. Each configuration is parsed once, so the code that zod would generate for the next parse costs
 * more than it saves.
 */
export const READING = { error: explain, jitless: true } as const

/** The fault in our words, if the schema has none. No message repeats the value. */
function explain(issue: RawIssue): string {
  if (issue.code === 'invalid_type') return wrongType(issue.expected, issue.input)
  if (issue.code === 'invalid_value') return `must be ${issue.values.map(String).join(' or ')}`
  if (issue.code === 'too_small') {
    return issue.origin === 'string' || issue.origin === 'array'
      ? 'must not be empty'
      : `must be ${issue.minimum} at least`
  }
  if (issue.code === 'too_big') {
    return issue.origin === 'string' ? `is over ${issue.maximum} characters` : `must be ${issue.maximum} at most`
  }
  return 'has a form that is not allowed here'
}

function wrongType(expected: string, input: unknown): string {
  if (input === undefined) return 'is missing'
  if (input === null)
    return `is empty; ${expected === 'object' ? 'indent its keys below it' : 'give it a value'}, or remove the key`
  if (expected === 'string' && typeof input !== 'object') return 'must be text; put the value in quotes'
  return `must be ${TYPES[expected] ?? expected}`
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list, with a dash and a space before each entry',
  object: 'a mapping of keys to values',
  record: 'a mapping of keys to values',
}

/** The issues as faults, each at its own key. */
export function configFaultsOf(issues: readonly Issue[], schema: SchemaNode, above: KeyPath = []): Fault[] {
  return issues.flatMap((issue): Fault[] => {
    const path = [...above, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))]
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(schema, path, key))
    if (issue.code === 'invalid_union') return ofChoice(issue, schema, path)
    return [{ path, message: issue.message }]
  })
}

/** If one form was clearly meant, its faults are more useful than the names of all forms. */
function ofChoice(issue: z.core.$ZodIssueInvalidUnion, schema: SchemaNode, path: KeyPath): Fault[] {
  const meant = issue.errors.filter((form) =>
    form.every(({ code, path }) => path.length > 0 || code !== 'invalid_type'),
  )
  const [form] = meant
  return meant.length === 1 && form !== undefined && form.every(({ code }) => code !== 'invalid_value')
    ? configFaultsOf(form, schema, path)
    : [{ path, message: issue.message }]
}

function unknownKey(schema: SchemaNode, above: KeyPath, key: string): Fault {
  const path = [...above, key]
  const known = keysAt(schema, above)
  const what = nameable(schema, path) === path ? 'is not a key that is known here' : 'contains a key that is not known'
  return { path, at: 'key', message: what + suggestion(key, known) }
}

function suggestion(key: string, known: readonly string[]): string {
  const synonym = KEY_SYNONYMS[key.toLowerCase()]
  const near = synonym !== undefined && known.includes(synonym) ? synonym : closestTo(key, known)
  if (near !== undefined) return `; did you mean \`${near}\`?`
  return known.length > 12 ? '' : `; known are ${known.map((name) => `\`${name}\``).join(', ')}`
}

/** Names that other tools use, and the forms, each of which is often sought as a key of its own. */
export const KEY_SYNONYMS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(FORMS.map((form) => [form.replaceAll('-', '_'), 'forms'])),
  branch: 'ref',
  commit: 'ref',
  cron: 'every',
  schedule: 'every',
  git: 'url',
  groups: 'principals',
  interval: 'every',
  name: 'id',
  period: 'every',
  policy: 'hidden_unicode',
  repo: 'url',
  repository: 'url',
  resources: 'forms',
  rev: 'ref',
  strict: 'on_broken',
  tag: 'ref',
  uri: 'url',
}
