import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { isSourceId } from '../../../src/sync/model/source-id.ts'
import type { SourceId } from '../../../src/sync/model/source-id.ts'
import { openState } from '../../../src/sync/store/files/state-folder.ts'
import { NO_SCANS, ScanRecords } from '../../../src/sync/store/scan-records.ts'
import type { ScanFinding, SkillScan, SourceScans } from '../../../src/sync/store/scan-records.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const TEAM = sourceId('team')
const FINDING: ScanFinding = { tool: 't', rule: 'r', level: 'error', message: 'm', file: 'a', line: 1 }

test('scans survive a restart as they were', async () => {
  await using scene = await sceneOf()
  const judged = { commit: '1'.repeat(40), verdict: 'hold', contents: new Map([['a', 'd']]) } as const
  const scans: SourceScans = { scans: new Map([['d', scanOf([FINDING])]]), judged }

  await scene.records.change(TEAM, () => scans)

  expect(await new ScanRecords(scene.state).read(TEAM)).toEqual(scans)
  expect(scene.records.knownOf(TEAM)).toEqual(scans)
  expect(scene.state.takeChanged()).toEqual(['scans/team.json'])
})

test('a change that changes nothing writes nothing', async () => {
  await using scene = await sceneOf()

  await scene.records.change(TEAM, (before) => before)

  expect(scene.state.takeChanged()).toEqual([])
})

test.each([
  ['no JSON', '{'],
  ['another value', '[]'],
  ['scans of another form', '{"scans":{"a":{"at":1},"b":null,"c":{"at":"2026-01-01T00:00:00.000Z"}}}'],
  ['a commit of another form', '{"scans":{},"judged":{"commit":1,"contents":[]}}'],
])('a file with %s counts as none', async (_, text) => {
  await using scene = await sceneOf()
  const file = scene.state.at('scans', 'team.json')
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)

  expect(await scene.records.read(TEAM)).toEqual(NO_SCANS)
})

test('a state folder of before has no scans', async () => {
  await using scene = await sceneOf()
  await rm(scene.state.at('scans'), { recursive: true })

  expect(await scene.records.read(TEAM)).toEqual(NO_SCANS)
})

test('findings are bounded by content and by source, and their numbers stay', async () => {
  await using scene = await sceneOf()
  const many = Array.from(
    { length: 600 },
    (_, index) => [`d${index}`, scanOf(Array.from({ length: 12 }, () => FINDING))] as const,
  )

  const { scans } = await scene.records.change(TEAM, () => ({ scans: new Map(many) }))

  const kept = [...scans.values()].map(({ findings }) => findings.length)
  expect(Math.max(...kept)).toBe(10)
  expect(kept.reduce((sum, count) => sum + count, 0)).toBe(5_000)
  expect([...scans.values()].every(({ counts }) => counts.error === 12)).toBe(true)
  const text = await readFile(scene.state.at('scans', 'team.json'), 'utf8')
  expect(text.length).toBeLessThan(600_000)
})

function scanOf(findings: readonly ScanFinding[]): SkillScan {
  const counts = { error: findings.length, warning: 0, note: 0, none: 0 }
  return { by: 'b', at: '2026-01-01T00:00:00.000Z', counts, findings }
}

async function sceneOf() {
  const folder = await temporaryFolder()
  const state = await openState(folder.path)
  return { state, records: new ScanRecords(state), [Symbol.asyncDispose]: async () => folder[Symbol.asyncDispose]() }
}

function sourceId(text: string): SourceId {
  if (!isSourceId(text)) throw new TypeError(text)
  return text
}
