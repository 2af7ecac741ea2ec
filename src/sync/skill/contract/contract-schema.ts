import { z } from 'zod'
import { isMapping } from '../../../base/json-value.ts'
import { semver } from '../../../base/semver.ts'
import { isReferencePath, referencePathOf } from '../reference-path.ts'
import { isSkillName } from '../skill-name.ts'
import type { StandardField } from '../standard-fields.ts'
import { xmlTagIn } from '../xml-tag.ts'
import { isSwitch } from './contract-flags.ts'
import { shownValue, trimWhitespace } from './contract-value.ts'
import { isContractId } from './contract.ts'

/** A further check of a text. The message follows the value. */
interface Rule {
  readonly holds: (text: string) => boolean
  readonly message: string
}

/**
 * The fields that the contract takes from Agent Skills and Claude Code. Fields that it does not know are not a fault.
 */
export const STANDARD_FIELDS = z.object({
  // Not trimmed: in Agent Skills a name with whitespace around it is another name, and both must agree.
  name: withRules(z.string({ error: notText }), [
    {
      holds: (name) => isSkillName(name) && isContractId(name),
      message: 'must begin with a letter and have 1 to 64 of a-z, 0-9 and single hyphens between them',
    },
    {
      holds: (name) => !/anthropic|claude/.test(name),
      message: 'holds "anthropic" or "claude", which are reserved; use another name',
    },
  ]),
  description: text([
    { holds: (said) => said !== '', message: 'is empty; say what the skill does and when to use it' },
    { holds: (said) => charactersOf(said) <= 1024, message: 'is over 1024 characters; move the how into the body' },
    { holds: (said) => xmlTagIn(said) === undefined, message: 'holds an XML tag; write it without the angle brackets' },
  ]),
  license: text().nullish(),
  compatibility: text([
    { holds: (said) => charactersOf(said) <= 500, message: 'is over 500 characters; shorten it' },
  ]).nullish(),
  metadata: mapOf(z.string(), text(), 'a mapping of names to texts').nullish(),
  'allowed-tools': textOrList(),
  'disallowed-tools': textOrList(),
  when_to_use: text().nullish(),
  'argument-hint': text().nullish(),
  arguments: textOrList(),
  'disable-model-invocation': flag(),
  'user-invocable': flag(),
} satisfies Partial<Record<StandardField, z.ZodType>>)

/** The fields of Claude Code that the contract ignores: a value of another type is no violation. */
export const IGNORED_FIELDS = z.object({
  model: text().nullish(),
  effort: text().nullish(),
  context: text().nullish(),
  agent: text().nullish(),
  hooks: z.custom(isMapping, { error: unlike('a mapping') }).nullish(),
  paths: textOrList(),
  shell: text().nullish(),
} satisfies Record<Exclude<StandardField, keyof typeof STANDARD_FIELDS.shape>, z.ZodType>)

const ID: Rule = { holds: isContractId, message: 'must begin with a letter and contain only a-z, 0-9 and hyphens' }

const REFERENCE = z.object(
  {
    path: text([
      { holds: isReferencePath, message: 'must lead to a .md file below references/, without ".." or "\\"' },
    ]).overwrite(referencePathOf),
    mime_type: text([
      { holds: (type) => MEDIA_TYPE.test(type), message: 'is not a media type such as text/markdown' },
    ]).optional(),
    title: text().nullish(),
  },
  { error: unlike('a mapping with a path') },
)

/** The `x-personal-mcp` block. Its icons are read one by one: a malformed one is only left out. */
export const BLOCK = z.object(
  {
    id: text([ID]),
    version: withRules(z.string({ error: notVersion }).overwrite(trimWhitespace), [
      { holds: isVersion, message: 'is not a semantic version with at most one suffix, such as 1.0.0-rc.1' },
    ]),
    tags: listOf(text()).optional(),
    capabilities: listOf(text()).min(1, { error: 'is empty; list resource://skills/<id>/document at least' }),
    depends_on: listOf(text([ID])).optional(),
    references: mapOf(withRules(z.string(), [ID]), REFERENCE, 'a mapping of ids to references').optional(),
    icons: z.unknown().optional(),
  },
  { error: unlike('a mapping') },
)

export type ContractBlock = z.infer<typeof BLOCK>

/** The contract defines the single suffix and its characters. */
function isVersion(text: string): boolean {
  return /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:[-+][0-9A-Za-z.-]+)?$/.test(text)
}

/** True if semver.org accepts the version too: the contract permits `1.0.0-..`. */
export function isSemantic(version: string): boolean {
  return semver().valid(version) !== null
}

/** RFC 6838, 4.2, with the parameters of RFC 9110, 8.3.1. */
const MEDIA_TYPE =
  /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}(?:[ \t]*;[ \t]*[a-z0-9!#$%&'*+.^_`|~-]+=(?:[a-z0-9!#$%&'*+.^_`|~-]+|"[^"\\\p{Cc}]*"))*$/iu

export function isMediaType(text: string): boolean {
  return MEDIA_TYPE.test(text)
}

function charactersOf(text: string): number {
  return Array.from(text).length
}

function text(rules: readonly Rule[] = []): z.ZodString {
  return withRules(z.string({ error: notText }).overwrite(trimWhitespace), rules)
}

/** Reports one fault per text: the rules after a failed one are skipped. */
function withRules(schema: z.ZodString, rules: readonly Rule[]): z.ZodString {
  return rules.reduce(
    (sofar, { holds, message }) =>
      sofar.refine(holds, { abort: true, error: ({ input }) => `${shownValue(input)} ${message}` }),
    schema,
  )
}

function flag(): z.ZodType {
  return z.custom(isSwitch, { error: unlike('true or false') }).nullish()
}

function textOrList(): z.ZodType<string | string[] | null | undefined> {
  return z.union([z.string(), z.array(z.string())], { error: unlike('text or a list of texts') }).nullish()
}

function listOf(item: z.ZodString): z.ZodArray<z.ZodString> {
  return z.array(item, { error: unlike('a list') })
}

/** Reads a map, since a zod object loses a key named `__proto__`. White space around the keys does not count. */
function mapOf<Value extends z.ZodType>(key: z.ZodString, value: Value, what: string) {
  return z.preprocess(
    (input) =>
      isMapping(input) ? new Map(Object.entries(input).map(([name, entry]) => [trimWhitespace(name), entry])) : input,
    z.map(key, value, { error: unlike(what) }),
  )
}

type RawIssue = z.core.$ZodRawIssue

function notText({ input }: RawIssue): string {
  if (typeof input === 'number' || typeof input === 'boolean') {
    // The value that YAML read may differ from the written one: 1.0 is 1.
    return `it is a ${typeof input} and no text; put what is written in quotes`
  }
  return unlike('text')({ input })
}

/** The message for a version that is no text. A number may be written as two, which no quotes make a version. */
function notVersion(issue: RawIssue): string {
  return typeof issue.input === 'number'
    ? 'it is a number and no text; write a semantic version of three numbers, such as "1.0.0"'
    : notText(issue)
}

function unlike(what: string): (issue: Pick<RawIssue, 'input'>) => string {
  return ({ input }) => {
    if (input === undefined) return `is missing; it must be ${what}`
    if (input === null) return `is empty; make it ${what}`
    return `${shownValue(input)} is not ${what}`
  }
}
