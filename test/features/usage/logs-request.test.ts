import { expect, test } from 'vitest'
import { logsRequestIn, MOST_RECORDS } from '../../../src/features/usage/logs-request.ts'
import { activationOf, exportOf, recordOf } from '../../support/otlp.ts'

const NOTHING = { activations: [], nameless: 0, rejected: 0 }

test('a request has the names of the activated skills, and nothing else of its records', () => {
  const plugin = { 'skill.source': 'plugin', 'plugin.name': 'kit', 'marketplace.name': 'acme' }
  const request = exportOf(
    recordOf('user_prompt', { prompt: 'pdf' }),
    activationOf('pdf'),
    activationOf('kit:letters', plugin),
    activationOf('letters', plugin),
    recordOf('tool_result', { tool_name: 'Skill', 'skill.name': 'pdf' }),
  )

  expect(logsRequestIn(request)).toEqual({
    ...NOTHING,
    activations: [
      { isFailed: false, name: 'pdf', plugin: undefined, marketplace: undefined },
      { isFailed: false, name: 'letters', plugin: 'kit', marketplace: 'acme' },
      { isFailed: false, name: 'letters', plugin: 'kit', marketplace: 'acme' },
    ],
  })
})

test.each([
  ['in its body', { body: { stringValue: 'claude_code.skill_activated' } }, 'any'],
  ['as its event name', { eventName: 'claude_code.skill_activated' }, 'any'],
  ['as an attribute', {}, 'any', 'claude_code.skill_activated'],
  ['without the prefix, in the scope of Claude Code', {}, 'com.anthropic.claude_code.events', 'skill_activated'],
])('an activation may be named %s', (_, record, name, event = '') => {
  const attributes = [
    { key: 'event.name', value: { stringValue: event } },
    { key: 'skill.name', value: { stringValue: 'pdf' } },
  ]
  const request = (scope: string) => ({
    resourceLogs: [{ scopeLogs: [{ scope: { name: scope }, logRecords: [{ ...record, attributes }] }] }],
  })

  expect(logsRequestIn(request(name))?.activations).toHaveLength(1)
  expect(logsRequestIn(request('other'))?.activations).toHaveLength(event === 'skill_activated' ? 0 : 1)
})

test('a skill that is part of Claude Code is not counted', () => {
  const ofClaude = ['bundled', 'builtin'].map((source) => activationOf('pdf', { 'skill.source': source }))

  expect(logsRequestIn(exportOf(...ofClaude))).toEqual(NOTHING)
})

test('activations without a name are told apart from those with a faulty one', () => {
  const faulty = ['', 'kit:', 'x'.repeat(257)].map((name) => activationOf(name))

  expect(logsRequestIn(exportOf(activationOf('custom_skill'), ...faulty))).toEqual({
    ...NOTHING,
    nameless: 1,
    rejected: 3,
  })
})

test('records over the limit are rejected, of whatever kind they are', () => {
  const other = Array.from({ length: MOST_RECORDS - 1 }, () => recordOf('api_request', {}))
  const [last, over] = [activationOf('pdf'), activationOf('pdf')]

  expect(logsRequestIn(exportOf(...other, last))).toMatchObject({
    activations: [{ isFailed: false, name: 'pdf' }],
    rejected: 0,
  })
  expect(logsRequestIn(exportOf(...other, last, over))).toMatchObject({
    activations: [{ isFailed: false, name: 'pdf' }],
    rejected: 1,
  })
})

test.each([
  [{}, NOTHING],
  [{ resourceLogs: null }, NOTHING],
  [{ resource_logs: [] }, NOTHING],
  [{ resourceLogs: [null, 1, {}, { scopeLogs: [null, { logRecords: [null, [], { attributes: 1 }] }] }] }, NOTHING],
  [
    { resourceLogs: [{ scopeLogs: [{ logRecords: [{ ...activationOf(''), attributes: [null, { key: 1 }] }] }] }] },
    { ...NOTHING, rejected: 1 },
  ],
  [{ resourceLogs: {} }, undefined],
  [[], undefined],
  ['text', undefined],
])('%j is read as %j', (json, read) => {
  expect(logsRequestIn(json)).toEqual(read)
})
