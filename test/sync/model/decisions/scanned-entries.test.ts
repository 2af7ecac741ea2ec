import { expect, test } from 'vitest'
import { enabledAt, scannedEntries } from '../../../../src/sync/model/decisions/disabled-entries.ts'
import { disabledIn } from '../../../../src/sync/model/decisions/disabled-matches.ts'
import { NO_DISABLED_SKILLS, withEntry } from '../../../../src/sync/model/decisions/disabled-skills.ts'
import type { DisabledSkills, ScanChange } from '../../../../src/sync/model/decisions/disabled-skills.ts'
import type { OutOfService } from '../../../../src/sync/model/decisions/out-of-service.ts'
import { NO_RECALLS } from '../../../../src/sync/model/decisions/recalled-skills.ts'
import type { Snapshot } from '../../../../src/sync/model/snapshot.ts'
import { isSourceId } from '../../../../src/sync/model/source-id.ts'
import type { SourceId } from '../../../../src/sync/model/source-id.ts'
import { parseDecisions, textForm } from '../../../../src/sync/store/decisions-text.ts'
import { surveyed } from '../../survey/surveyed.ts'

const AT = '2026-01-01T00:00:00.000Z'

test('a scan takes a content out of service, wherever its source has it, and no other content', async () => {
  const { snapshot, scanned } = await sceneOf()
  const moved = { ...snapshot, skills: snapshot.skills.map((skill) => ({ ...skill, path: `new/${skill.path}` })) }
  const changed = { ...snapshot, skills: snapshot.skills.map((skill) => ({ ...skill, digest: 'c'.repeat(64) })) }

  expect([...disabledIn(snapshot, out(scanned)).values()]).toMatchObject([{ path: 'bad', by: 'scan' }])
  expect([...disabledIn(moved, out(scanned)).keys()]).toEqual(['new/bad'])
  expect(disabledIn(changed, out(scanned)).size).toBe(0)
})

test('a later scan brings it back, and leaves what a person disabled', async () => {
  const { snapshot, scanned, digest, team } = await sceneOf()
  const byPerson = withEntry(NO_DISABLED_SKILLS, team, 'bad', { places: [{ source: team, path: 'bad' }], beside: [] })
  const clear = new Map([['bad', { withheld: [], cleared: new Set([digest]) }]])

  expect(scannedEntries(scanned, team, clear).size).toBe(0)
  expect(scannedEntries(byPerson, team, clear)).toBe(byPerson)
  expect(scannedEntries(byPerson, team, finding('a'.repeat(64)))).toBe(byPerson)
  expect(disabledIn(snapshot, out(byPerson)).get('bad')?.by).toBe('path')
})

test('a person who enables it accepts that content, and the next scan does not ask again', async () => {
  const { snapshot, scanned, digest, team } = await sceneOf()

  const enabled = enabledAt(scanned, team, 'bad', [snapshot])
  const again = scannedEntries(enabled, team, finding(digest))

  expect(disabledIn(snapshot, out(enabled)).size).toBe(0)
  expect(again).toBe(enabled)
  expect(enabledAt(enabled, team, 'bad', [snapshot])).toBe(enabled)
})

test('the file of decisions keeps them, and one of another form is damaged', async () => {
  const { scanned, snapshot, team } = await sceneOf()
  const written = (disabled: DisabledSkills): string =>
    JSON.stringify(
      textForm({
        sources: new Map(),
        disabled,
        approvals: new Map(),
        namings: new Map(),
        recalls: NO_RECALLS,
        obeyed: new Map(),
        history: [],
      }),
    )

  for (const disabled of [scanned, enabledAt(scanned, team, 'bad', [snapshot])])
    expect(parseDecisions(written(disabled))?.disabled).toEqual(disabled)
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
  const scanned = scannedEntries(NO_DISABLED_SKILLS, team, finding(digest))
  return { team, snapshot, digest, scanned }
}

/** A scan that refuses this content of a skill. */
function finding(digest: string): ReadonlyMap<string, ScanChange> {
  return new Map([['bad', { withheld: [{ digest, at: AT }], cleared: new Set() }]])
}

function out(disabled: DisabledSkills): OutOfService {
  return { disabled, recalls: NO_RECALLS }
}

function sourceId(text: string): SourceId {
  if (!isSourceId(text)) throw new TypeError(text)
  return text
}
