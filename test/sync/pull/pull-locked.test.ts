import { describe, expect, test } from 'vitest'
import { lockEntryOf } from '../../../src/sync/model/decisions/lock.ts'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { rulesOf } from '../../../src/sync/survey/survey-rules.ts'
import { contractFrontmatter, documentOf } from '../../support/content/contract-fixture.ts'
import { rulesWith, skillAt, type Edited } from '../survey/surveyed.ts'
import { objectId } from '../upstream/reached.ts'
import { Scene, sourceWith } from './pulled.ts'

const FILES = { 'pdf/SKILL.md': documentOf(contractFrontmatter('pdf')) }

/** A source that was pulled by some rules, and is locked by others as a machine that has those would lock it. */
async function lockedAnew(before: Edited, after: Edited): Promise<Scene> {
  await using other = await Scene.open()
  other.upstream.files = FILES
  const { snapshot } = await other.updated(after)
  const scene = await Scene.open()
  scene.upstream.files = FILES
  await scene.updated(before)
  scene.orders = { ...scene.orders, locked: lockEntryOf(sourceWith(after), snapshot) }
  return scene
}

test.each<[string, Edited, Edited]>([
  ['contract: true', {}, { contract: true }],
  ['contract: false', { contract: true }, {}],
  ['unlisted', {}, { unlisted: ['pdf'] }],
  ['nothing unlisted', { unlisted: ['**'] }, {}],
])('the locked commit is judged anew where it was locked with %s', async (_, before, after) => {
  await using scene = await lockedAnew(before, after)

  const { snapshot, revision, from } = await scene.updated(after)

  expect(revision).toEqual(from)
  const { standing, contract } = skillAt(snapshot, 'pdf')
  expect([standing, contract?.id]).toEqual([after.unlisted ? 'unlisted' : 'served', after.contract ? 'pdf' : undefined])
  expect(await scene.pull(after)).toMatchObject({ kind: 'unchanged' })
})

test('what the store has of a locked commit by other rules is not what is locked', async () => {
  await using scene = await lockedAnew({}, { contract: true })
  scene.current = undefined

  const { snapshot } = await scene.updated({ contract: true })

  expect(skillAt(snapshot, 'pdf')).toHaveProperty('contract')
  scene.current = undefined
  const fetches = scene.upstream.counts.fetch
  await scene.updated({ contract: true })
  expect(scene.upstream.counts.fetch).toBe(fetches)
})

test('a locked set that the configured rules do not make of its commit is refused, and what is served stays', async () => {
  await using scene = await Scene.open()
  scene.upstream.files = { ...FILES, 'xls/SKILL.md': documentOf(contractFrontmatter('xls', { version: 1 })) }
  const { snapshot } = await scene.updated()
  scene.orders = { ...scene.orders, locked: lockEntryOf(sourceWith({ contract: true }), snapshot) }

  const outcome = await scene.pull({ contract: true })

  const message = expect.stringContaining('"xls" is in the lock and not to be served')
  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'lock-mismatch', message } })
  expect(outcome).not.toHaveProperty('withdraw')
})

test.each([
  [true, 'not-stored'],
  [false, 'source-unreachable'],
])(
  'where nobody can be asked what other rules make of it, that is said, and what is served stays (--offline: %s)',
  async (offline, code) => {
    await using scene = await lockedAnew({}, { contract: true })
    scene.orders = { ...scene.orders, offline }
    scene.upstream.failure = new SyncError('source-unreachable', 'Cannot reach "team"')

    const outcome = await scene.pull({ contract: true })

    expect(outcome).toMatchObject({ kind: 'failed', error: { code } })
    expect(outcome).not.toHaveProperty('withdraw')
  },
)

describe('where nobody may be asked', () => {
  test('what other rules made of the locked commit is not served, and what differs and what to try is said', async () => {
    await using scene = await lockedBy(rulesOf(rulesWith({ names: 'exact' })))

    const outcome = await scene.pull()

    const message = expect.stringMatching(/the store has it by other rules .*, and --offline forbids network access$/)
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'not-stored', message } })
    expect(outcome).not.toHaveProperty('withdraw')
  })

  test('what the store has not is said to be so', async () => {
    await using scene = await lockedBy(rulesOf(rulesWith()))
    scene.orders = { ...scene.orders, locked: { ...scene.orders.locked!, revision: OTHER } }

    const message = expect.stringMatching(/the store does not have it, and --offline forbids network access$/)
    expect(await scene.pull()).toMatchObject({ kind: 'failed', error: { code: 'not-stored', message } })
  })
})

const OTHER = { asked: 'main', ref: 'refs/heads/main', commit: objectId('9'.repeat(40)) }

/** Offline, with a snapshot of what was locked that is served, and as if it had been judged by these rules. */
async function lockedBy(rules: string): Promise<Scene> {
  await using other = await Scene.open()
  const { snapshot } = await other.updated()
  const scene = await Scene.open()
  const stored = { ...snapshot, rules }
  const held = { source: snapshot.source, snapshot: await scene.store.snapshots.keep(stored) }
  scene.current = { held, snapshot: stored }
  scene.orders = { ...scene.orders, offline: true, locked: lockEntryOf(sourceWith({}), snapshot) }
  scene.upstream.failure = new SyncError('source-unreachable', 'Cannot reach "team"')
  return scene
}
