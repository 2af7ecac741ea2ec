import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { auditText, auditUri } from '../../src/serve/audit.ts'
import type { AuditEvent } from '../../src/serve/audit.ts'
import { auditMessage, servedTo } from '../../src/serve/mcp/core/audit-message.ts'
import { Registry } from '../../src/serve/registry.ts'

test.each([
  ['skill://team/pdf/SKILL.md', 'skill://team/pdf/SKILL.md'],
  ['skill://team/pdf/logo@2x.png', 'skill://team/pdf/logo%402x.png'],
  ['skill://team/%70df/SKILL%2emd', 'skill://team/pdf/SKILL.md'],
  ['skill://team/pdf/a b.md', 'skill://team/pdf/a%20b.md'],
  ['skill://team/pdf/ü%c3%bc/', 'skill://team/pdf/%C3%BC%C3%BC/'],
  ['skill://team/%2e%2e/SKILL.md', 'skill://team/%2e%2e/SKILL.md'],
  ['resource://skills/%70df/document', 'resource://skills/pdf/document'],
  ['skill://team/pdf/SKILL.md?token=CANARY#CANARY', 'skill://team/pdf/SKILL.md?…'],
  ['https://user:CANARY@host/x', 'https://***@host/x'],
  ['https://user:CANARY/CANARY@host/x', 'https://***@host/x'],
  ['https://user:CANARY?CANARY#CANARY@host/x', 'https://***@host/x'],
  ['https://CANARY/CANARY@host/x?CANARY', 'https://***@host/x?…'],
  ['file.md#CANARY', 'file.md?…'],
])('of the URI %j is remembered %j', (uri, kept) => {
  expect(auditUri(uri)).toBe(kept)
})

test.each([
  ['Is there none? Ask for "https://host/?a=CANARY"!', 'Is there none? Ask for "https://host/?…"!'],
  ['get_skill sks_CANARYCANARYCANARY', 'get_skill ***'],
  ['authorization: Bearer CANARY', 'authorization: ***'],
])('of the text %j is remembered %j', (text, kept) => {
  expect(auditText(text)).toBe(kept)
})

test('a text that is cut in the middle of a character is a text', () => {
  expect(auditText(`${'x'.repeat(511)}😀`)).toBe(`${'x'.repeat(511)}\ufffd…`)
})

test('wherever a password stands, and however long it is, no piece of it is remembered, and never much', () => {
  const length = fc.integer({ min: 0, max: 6_000 })
  fc.assert(
    fc.property(length, length, fc.constantFrom('x', 'x/', 'x '), (before, long, filler) => {
      const text = `${filler.repeat(before / filler.length)} https://user:${'P'.repeat(long)}/PP@host`
      const kept = auditText(text)

      expect(kept).not.toContain('P')
      expect(kept.length).toBeLessThanOrEqual(513)
    }),
  )
})

test('a message is remembered bounded and without secrets, in each of its parts', () => {
  const { events, tell } = asking('tools/call', {
    name: 'https://user:CANARY/x@h',
    arguments: { id: 'x'.repeat(9_999) },
  })

  tell({ error: { message: 'There is no "https://u:CANARY@host"' } })

  expect(events).toEqual([
    {
      asked: 'tools/call',
      of: `https://***@h ${'x'.repeat(512 - 14)}…`,
      generation: 0,
      allowed: false,
      why: 'There is no "https://***@host"',
    },
  ])
})

test('of a method that gives nothing away, that it was refused is remembered', () => {
  const { events, tell } = asking(`no/such?${'x'.repeat(9_999)}`, {})
  const { events: none, tell: tellOther } = asking('ping', {})

  tell({ error: { message: 'Method not found' } })
  tellOther({ result: {} })

  expect(events).toMatchObject([{ asked: expect.stringMatching(/^no\/such\?x{504}…$/), allowed: false }])
  expect(none).toEqual([])
})

test('a client that left and a fault of ours are told apart', async () => {
  const left = new AbortController()
  const fault = new Error('a fault')
  const [gone, wrong] = [asking('skills/list', {}), asking('skills/list', {})]

  const ends = await Promise.allSettled([
    servedTo(gone.tell, left.signal, async (signal) => {
      left.abort()
      signal.throwIfAborted()
      throw fault
    }),
    servedTo(wrong.tell, left.signal, async () => {
      throw fault
    }),
  ])

  expect(ends).toMatchObject([{ reason: left.signal.reason }, { reason: fault }])
  expect([gone, wrong].map(({ events }) => events[0]?.why)).toEqual([
    'the client no longer waited for the answer',
    'internal error',
  ])
})

function asking(method: string, params: object) {
  const events: AuditEvent[] = []
  const serving = { registry: new Registry(), audit: (event: AuditEvent) => void events.push(event) }
  return { events, tell: auditMessage(serving, { method, params }, {}) }
}
