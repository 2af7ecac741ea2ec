import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isMassFinding, judgeScans } from '../../../src/features/scan/scan-judgement.ts'
import type { ScanJudgement } from '../../../src/features/scan/scan-judgement.ts'
import { scannedEntries } from '../../../src/sync/model/decisions/disabled-entries.ts'
import type { ScannedContent } from '../../../src/sync/model/decisions/disabled-entries.ts'
import type { Snapshot } from '../../../src/sync/model/snapshot.ts'
import { isSourceId } from '../../../src/sync/model/source-id.ts'
import type { SourceId } from '../../../src/sync/model/source-id.ts'
import { surveyed } from '../../sync/survey/surveyed.ts'

test.each([
  ['one of two', { refused: 1, withheld: 0, all: 2 }, false],
  ['the only one', { refused: 1, withheld: 0, all: 1 }, true],
  ['two of ten', { refused: 2, withheld: 0, all: 10 }, true],
  ['two of twenty', { refused: 2, withheld: 0, all: 20 }, false],
  ['one more, where scans withhold two of twenty', { refused: 1, withheld: 2, all: 20 }, true],
  ['none, where scans withhold all', { refused: 0, withheld: 20, all: 20 }, false],
])('at ten percent, %s', (_, numbers, isMass) => {
  expect(isMassFinding(judgementOf(numbers), 10)).toBe(isMass)
})

test('runs in a row never take more out of service than the share, or one of several', () => {
  const runs = fc.array(fc.nat(30), { maxLength: 10 })
  fc.assert(
    fc.property(runs, fc.integer({ min: 2, max: 200 }), fc.integer({ min: 1, max: 100 }), (finds, all, percent) => {
      let withheld = 0
      for (const found of finds) {
        const refused = Math.min(found, all - withheld)
        if (!isMassFinding(judgementOf({ refused, withheld, all }), percent)) withheld += refused
      }
      expect(withheld).toBeLessThanOrEqual(Math.max(1, (all * percent) / 100))
    }),
  )
})

test('what a scan withheld stays out of service while a later ring has that content', async () => {
  const source = sourceId('team')
  const [bad, mended] = [await snapshotOf(source, 'bad'), await snapshotOf(source, 'mended')]
  const digest = bad.skills[0]?.digest ?? ''
  const at = '2026-01-01T00:00:00.000Z'
  const out = scannedEntries([], { withheld: [{ source, path: 'one', digest }], cleared: [], at })
  const clearedWith = (inRings: readonly Snapshot[]): ScanJudgement['cleared'] =>
    judgeScans([mended, ...inRings], new Map([[source, new Map()]]), out, { refuse: 'error' }).cleared

  expect(clearedWith([bad])).toEqual([])
  expect(clearedWith([])).toEqual([{ source, path: 'one', digest }])
})

async function snapshotOf(source: SourceId, text: string): Promise<Snapshot> {
  const document = `---\nname: one\ndescription: d\n---\n${text}\n`
  return { ...(await surveyed({ 'one/SKILL.md': document })), source }
}

function judgementOf({ refused, ...numbers }: Record<'refused' | 'withheld' | 'all', number>): ScanJudgement {
  const source = sourceId('team')
  const skills = Array.from({ length: refused }, (_, index): ScannedContent => ({
    source,
    path: `${index}`,
    digest: '',
  }))
  return { refused: skills, accepted: [], cleared: [], ...numbers }
}

function sourceId(text: string): SourceId {
  if (!isSourceId(text)) throw new TypeError(text)
  return text
}
