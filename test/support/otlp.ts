/** Attributes with texts, as an OpenTelemetry SDK encodes them. */
type Texts = Readonly<Record<string, string>>

/** The attributes of people and sessions that Claude Code sends with each event. No row may have them. */
const STANDARD: Texts = {
  'user.id': 'a68801ea',
  'session.id': '739044cd-ce53-455d-b189-b8946926330a',
  'user.email': 'ada@example.com',
  'organization.id': '14451454-16e1-4f42-8288-6b7f6130f659',
  'terminal.type': 'vscode',
}

/** A record of Claude Code as its SDK encodes it: 64-bit integers are texts. */
export function recordOf(event: string, texts: Texts): object {
  const all = { ...STANDARD, 'event.name': event, 'event.timestamp': '2026-06-15T10:00:00.000Z', ...texts }
  return {
    timeUnixNano: '1781517600000000000',
    observedTimeUnixNano: '1781517600000000000',
    body: { stringValue: `claude_code.${event}` },
    attributes: [
      ...Object.entries(all).map(([key, stringValue]) => ({ key, value: { stringValue } })),
      { key: 'event.sequence', value: { intValue: '7' } },
    ],
    droppedAttributesCount: 0,
    flags: 1,
    traceId: '5b8efff798038103d269b633813fc60c',
    spanId: 'eee19b7ec3c1b174',
  }
}

/** The record of a skill that Claude Code activates. */
export function activationOf(name: string, texts: Texts = {}): object {
  const more = { invocation_trigger: 'claude-proactive', 'skill.source': 'userSettings', ...texts }
  return recordOf('skill_activated', { 'skill.name': name, ...more })
}

/** The record of a skill that the tool `Skill` of Claude Code could not use. */
export function failureOf(name: string, texts: Texts = {}): object {
  const more = { tool_parameters: JSON.stringify({ skill_name: name }), error_type: 'ShellError', ...texts }
  return recordOf('tool_result', { tool_name: 'Skill', success: 'false', duration_ms: '12', ...more })
}

/** An `ExportLogsServiceRequest` of one session. */
export function exportOf(...logRecords: readonly object[]): object {
  const attributes = [{ key: 'service.name', value: { stringValue: 'claude-code' } }]
  const scope = { name: 'com.anthropic.claude_code.events', version: '2.1.248' }
  return {
    resourceLogs: [{ resource: { attributes, droppedAttributesCount: 0 }, scopeLogs: [{ scope, logRecords }] }],
  }
}
