import { expect, test } from 'vitest'
import { AuditRate } from '../../../../src/daemon/status/audit/audit-rate.ts'

const HOUR_MS = 3_600_000

test('clients that came once take no place from those that come an hour later, though none was counted in between', () => {
  const rate = new AuditRate()
  // More than it keeps apart, all lines of each, and nothing that a number would have to be written of.
  for (let client = 0; client < 300; client += 1)
    for (let line = 0; line < 30; line += 1) rate.admits(eventOf(`before-${client}`, line), 0)
  rate.takeDue(HOUR_MS / 60)
  expect(rate.isCounting).toBe(false)

  const admitted = [...Array(40).keys()].flatMap((client) =>
    [...Array(30).keys()].filter((line) => rate.admits(eventOf(`after-${client}`, line), HOUR_MS)),
  )

  expect(admitted).toHaveLength(40 * 30)
})

function eventOf(principal: string, line: number) {
  return { asked: 'skills/list', of: `skill://team/${line}/SKILL.md`, principal, generation: 1, allowed: true }
}
