import { isObject } from '../../base/json-object.ts'
import { parsedBody } from '../../serve/http/server/request-body.ts'

/**
 * A skill that a session of Claude Code activated: by the model, by a slash command or from another skill. Or one that its
 * tool `Skill` could not. The attributes are those of "Skill activated event" and "Tool result event" in
 * https://code.claude.com/docs/en/monitoring-usage, as of version 2.1.248.
 */
export interface SkillActivation {
  /** True for a result of the tool `Skill` with `success` of `false`. */
  readonly isFailed: boolean
  /** `skill.name`, or `skill_name` in `tool_parameters`, without the plugin that it begins with. */
  readonly name: string
  /** The plugin before the colon in the name, else `plugin.name`; `undefined` for a skill of no plugin. */
  readonly plugin: string | undefined
  /** `marketplace.name`, if Claude Code sends it. */
  readonly marketplace: string | undefined
}

/** The activations in a request, also those that failed; everything else of it is dropped. */
export interface LogsRequest {
  readonly activations: readonly SkillActivation[]
  /** The number of these that Claude Code sent without the name of the skill, since `OTEL_LOG_TOOL_DETAILS` is not set. */
  readonly nameless: number
  /** The number of records that were not taken: those over the limit, and activations with a faulty name. */
  readonly rejected: number
}

/**
 * Finds the activations in an `ExportLogsServiceRequest` in JSON, by names in lowerCamelCase only, as
 * https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding has it. `undefined` if the value is no such request.
 */
export function logsRequestIn(json: unknown): LogsRequest | undefined {
  if (!isObject(json) || !isAbsentOrList(json['resourceLogs'])) return undefined
  const activations: SkillActivation[] = []
  let [nameless, rejected, count] = [0, 0, 0]
  for (const { record, scope } of recordsOf(json['resourceLogs'])) {
    count += 1
    const found = count > MOST_RECORDS ? 'rejected' : activationIn(record, scope)
    if (found === 'nameless') nameless += 1
    else if (found === 'rejected') rejected += 1
    else if (found !== undefined) activations.push(found)
  }
  return { activations, nameless, rejected }
}

/** The records of one request that are read. The batches of an OpenTelemetry SDK have 512. */
export const MOST_RECORDS = 4_096

interface ScopedRecord {
  readonly record: unknown
  /** The name of the instrumentation scope. */
  readonly scope: unknown
}

function* recordsOf(resourceLogs: unknown): Generator<ScopedRecord> {
  for (const resource of listOf(resourceLogs)) {
    for (const scoped of listOf(isObject(resource) ? resource['scopeLogs'] : undefined)) {
      if (!isObject(scoped)) continue
      const scope = isObject(scoped['scope']) ? scoped['scope']['name'] : undefined
      for (const record of listOf(scoped['logRecords'])) yield { record, scope }
    }
  }
}

function activationIn(record: unknown, scope: unknown): SkillActivation | 'nameless' | 'rejected' | undefined {
  if (!isObject(record)) return undefined
  const texts = textsIn(record['attributes'])
  if (isEvent('tool_result', record, texts.get('event.name'), scope)) return failureIn(texts)
  if (!isEvent('skill_activated', record, texts.get('event.name'), scope)) return undefined
  if (OF_CLAUDE_CODE.has(texts.get('skill.source') ?? '')) return undefined
  const full = texts.get('skill.name') ?? ''
  return full === REDACTED ? 'nameless' : namedSkill(full, texts, false)
}

/** A call of the tool that succeeded is an activation, which has an event of its own. */
function failureIn(texts: ReadonlyMap<string, string>): SkillActivation | 'nameless' | 'rejected' | undefined {
  if (texts.get('tool_name') !== 'Skill' || texts.get('success') !== 'false') return undefined
  const parameters = texts.get('tool_parameters')
  if (parameters === undefined) return 'nameless'
  const name = parameters.length > MOST_PARAMETERS ? undefined : skillNameIn(parameters)
  return name === undefined ? 'rejected' : namedSkill(name, texts, true)
}

function skillNameIn(parameters: string): string | undefined {
  const parsed = parsedBody(Buffer.from(parameters))
  const name = parsed.ok && isObject(parsed.json) ? parsed.json['skill_name'] : undefined
  return typeof name === 'string' ? name : undefined
}

function namedSkill(full: string, texts: ReadonlyMap<string, string>, isFailed: boolean): SkillActivation | 'rejected' {
  const colon = full.indexOf(':')
  const name = full.slice(colon + 1)
  if (name === '' || full.length > MOST_CHARACTERS) return 'rejected'
  const plugin = colon === -1 ? texts.get('plugin.name') : full.slice(0, colon)
  return { isFailed, name, plugin, marketplace: texts.get('marketplace.name') }
}

/** The name without the prefix could be that of another program's event, so its scope must be that of Claude Code. */
function isEvent(
  short: string,
  { body, eventName }: Readonly<Record<string, unknown>>,
  attribute: unknown,
  scope: unknown,
): boolean {
  const names = [attribute, eventName, isObject(body) ? body['stringValue'] : undefined]
  return names.includes(`claude_code.${short}`) || (scope === SCOPE && attribute === short)
}

const SCOPE = 'com.anthropic.claude_code.events'

/** Sent in place of the name of each skill that does not come from Anthropic, unless `OTEL_LOG_TOOL_DETAILS` is set. */
const REDACTED = 'custom_skill'

/** The values of `skill.source` for skills that are part of Claude Code. */
const OF_CLAUDE_CODE: ReadonlySet<string> = new Set(['bundled', 'builtin'])

/** The texts among the attributes that are of use; no other is read. */
function textsIn(attributes: unknown): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  for (const attribute of listOf(attributes).slice(0, MOST_ATTRIBUTES)) {
    if (!isObject(attribute)) continue
    const { key, value } = attribute
    const text = isObject(value) ? value['stringValue'] : undefined
    if (typeof key === 'string' && USED.has(key) && typeof text === 'string') texts.set(key, text)
  }
  return texts
}

const USED: ReadonlySet<string> = new Set([
  'event.name',
  'skill.name',
  'skill.source',
  'plugin.name',
  'marketplace.name',
  'tool_name',
  'success',
  'tool_parameters',
])

/** Claude Code sends some twenty; `OTEL_RESOURCE_ATTRIBUTES` can add to them. */
const MOST_ATTRIBUTES = 128

/** The names of a plugin and of a skill have 64 characters each. */
const MOST_CHARACTERS = 256

/** The parameters of the tool `Skill` have the name alone. */
const MOST_PARAMETERS = 4_096

function isAbsentOrList(value: unknown): boolean {
  return value === undefined || value === null || Array.isArray(value)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
