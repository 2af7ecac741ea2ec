import { expect, test } from 'vitest'
import { enabledAt, scannedEntries } from '../../../../src/sync/model/decisions/disabled-entries.ts'
import type { ScanChange } from '../../../../src/sync/model/decisions/disabled-entries.ts'
import { disabledIn } from '../../../../src/sync/model/decisions/disabled-matches.ts'
import type { OutOfService } from '../../../../src/sync/model/decisions/out-of-service.ts'
import type { Snapshot } from '../../../../src/sync/model/snapshot.ts'
import { isSourceId } from '../../../../src/sync/model/source-id.ts'
import type { SourceId } from '../../../../src/sync/model/source-id.ts'
import { NO_DECISIONS, parseDecisions, textForm } from '../../../../src/sync/store/decisions-text.ts'
import { disableRule } from '../../../support/decided.ts'
import { surveyed } from '../../survey/surveyed.ts'

const AT = '2026-01-01T00:00:00.000Z'

test('a scan takes a content out of service, wherever its source has it, and no other content', async () => {
  const { snapshot, scanned } = await sceneOf()
  const moved = { ...snapshot, skills: snapshot.skills.map((skill) => ({ ...skill, path: `new/${skill.path}` })) }
  const changed = { ...snapshot, skills: snapshot.skills.map((skill) => ({ ...skill, digest: 'c'.repeat(64) })) }

  expect([...disabledIn(snapshot, scanned).values()]).toMatchObject([{ path: 'bad', by: 'scan' }])
  expect([...disabledIn(moved, scanned).keys()]).toEqual(['new/bad'])
  expect(disabledIn(changed, scanned).size).toBe(0)
})

test('a later scan brings it back, and leaves what a person disabled', async () => {
  const { snapshot, scanned, digest, team } = await sceneOf()
  const byPerson = [disableRule([{ source: team, path: 'bad' }])]
  const clear = { withheld: [], cleared: [{ source: team, path: 'bad', digest }], at: AT }

  expect(scannedEntries(scanned, clear)).toEqual([])
  expect(scannedEntries(byPerson, clear)).toBe(byPerson)
  expect(scannedEntries(byPerson, finding(team, 'a'.repeat(64)))).toBe(byPerson)
  expect(disabledIn(snapshot, byPerson).get('bad')?.by).toBe('path')
})

test('a person who enables it accepts that content, and the next scan does not ask again', async () => {
  const { snapshot, scanned, digest, team } = await sceneOf()

  const enabled = enabledAt(scanned, { source: team, path: 'bad', at: AT }, [snapshot])
  const again = scannedEntries(enabled, finding(team, digest))

  expect(disabledIn(snapshot, enabled).size).toBe(0)
  expect(again).toBe(enabled)
  expect(enabledAt(enabled, { source: team, path: 'bad', at: AT }, [snapshot])).toBe(enabled)
})

test('the file of decisions keeps them, and one of another form is damaged', async () => {
  const { scanned, snapshot, team } = await sceneOf()
  const written = (rules: OutOfService): string => JSON.stringify(textForm({ ...NO_DECISIONS, rules }))

  for (const rules of [scanned, enabledAt(scanned, { source: team, path: 'bad', at: AT }, [snapshot])])
    expect(parseDecisions(written(rules))?.rules).toEqual(rules)
  expect(parseDecisions(written(scanned).replace(AT, 'yesterday'))).toBeUndefined()
})

async function sceneOf() {
  const team = sourceId('team')
  const texts = ['bad', 'good'].map((name) => [
    `${name}/SKILL.md`,
    `---\nname: ${name}\ndescription: d\n---\n${name}\n`,
  ])
  const snapshot: Snapshot = { ...(await surveyed(Object.fromEntries(texts))), source: team }
  const digest = snapshot.skills.find(({ path }) => path === 'bad')?.digest ?? ''
  const scanned = scannedEntries([], finding(team, digest))
  return { team, snapshot, digest, scanned }
}

/** A scan that refuses this content of a skill. */
function finding(source: SourceId, digest: string): ScanChange {
  return { withheld: [{ source, path: 'bad', digest }], cleared: [], at: AT }
}

function sourceId(text: string): SourceId {
  if (!isSourceId(text)) throw new TypeError(text)
  return text
}
