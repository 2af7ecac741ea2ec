import { describe, expect, test } from 'vitest'
import { lockEntryOf } from '../../../src/sync/model/decisions/lock.ts'
import type { ObjectId } from '../../../src/sync/model/revision.ts'
import type { Signers } from '../../../src/sync/model/signers.ts'
import type { Skill } from '../../../src/sync/model/skill.ts'
import { NotSigned } from '../../../src/sync/model/sync-error.ts'
import type { PullContext } from '../../../src/sync/pull/pull-context.ts'
import { lockText, readLockText } from '../../../src/sync/store/lock-text.ts'
import { skillText, type Files } from '../../support/git/scripted-upstream.ts'
import { noted, skillAt } from '../survey/surveyed.ts'
import { PDF, Scene, sourceWith } from './pulled.ts'

const KEEP = { onBroken: 'keep' } as const
const BROKEN = '---\nname: pdf\n'
const XLS: Files = { 'xls/SKILL.md': skillText('xls') }
const GOOD: Files = { ...PDF, ...XLS }
/** The commit broke pdf and changed xls. */
const SPOILED: Files = { ...PDF, 'pdf/SKILL.md': BROKEN, 'xls/SKILL.md': skillText('xls', '', 'more') }

/** A scene that serves GOOD and then took `files`. */
async function after(files: Files, edit: Parameters<Scene['pull']>[0] = KEEP): Promise<Scene> {
  const scene = await Scene.open()
  scene.upstream.files = GOOD
  await scene.updated({ ...KEEP, ...edit })
  scene.upstream.files = files
  await scene.updated({ ...KEEP, ...edit })
  return scene
}

function pdfOf(scene: Scene): Skill {
  return skillAt(scene.current!.snapshot, 'pdf')
}

test('a commit that breaks one skill takes the others, and keeps the version before of that one', async () => {
  await using scene = await Scene.open()
  scene.upstream.files = GOOD
  const { snapshot: before } = await scene.updated(KEEP)
  scene.upstream.files = SPOILED

  const { snapshot, changes, revision } = await scene.updated(KEEP)

  const { kept, findings, ...version } = skillAt(snapshot, 'pdf')
  expect({ ...version, findings: [] }).toEqual(skillAt(before, 'pdf'))
  expect(kept).toEqual({
    commit: before.revision.commit,
    since: revision.commit,
    faults: [expect.objectContaining({ rule: 'frontmatter-unterminated', path: 'pdf' })],
  })
  const [said] = findings
  expect(said).toMatchObject({ rule: 'kept-version', path: 'pdf' })
  expect(said?.message).toContain(before.revision.commit.slice(0, 12))
  expect(said?.message).toContain('(frontmatter-unterminated)')
  expect(skillAt(snapshot, 'xls').digest).not.toBe(skillAt(before, 'xls').digest)
  expect(changes).toMatchObject([
    { path: 'pdf', change: 'kept', reason: { code: 'frontmatter-unterminated' } },
    { path: 'xls', change: 'changed' },
  ])
  expect(snapshot.keptFrom).toEqual([{ revision: before.revision, proof: before.proof }])
})

test('without the option such a skill is withheld', async () => {
  await using scene = await after(SPOILED, { onBroken: 'withhold' })

  expect(pdfOf(scene)).toMatchObject({ standing: 'withheld' })
  expect(scene.current!.snapshot).not.toHaveProperty('keptFrom')
})

test('the version stays over commits and collections, and goes when the skill is mended', async () => {
  await using scene = await after(SPOILED)
  const first = pdfOf(scene)
  await scene.collect()

  for (const body of ['1', '2']) {
    scene.upstream.files = { ...SPOILED, 'xls/SKILL.md': skillText('xls', '', body) }
    await scene.updated(KEEP)
    await scene.collect()
    expect(pdfOf(scene)).toEqual(first)
  }
  expect(await scene.textOf('pdf', 'ref.md')).toBe('ref')
  scene.upstream.files = { ...GOOD, 'pdf/ref.md': 'mended' }
  await scene.updated(KEEP)

  expect(pdfOf(scene)).not.toHaveProperty('kept')
  expect(noted(pdfOf(scene).findings)).toEqual([])
  expect(await scene.textOf('pdf', 'ref.md')).toBe('mended')
  expect(scene.current!.snapshot).not.toHaveProperty('keptFrom')
})

test('another broken version is told as what it is, and the first broken commit stays', async () => {
  await using scene = await after(SPOILED)
  const { since, commit } = pdfOf(scene).kept!
  scene.upstream.files = { ...SPOILED, 'pdf/SKILL.md': skillText('pdf').replace('description', 'about') }

  await scene.updated(KEEP)

  expect(pdfOf(scene).kept).toEqual({
    since,
    commit,
    faults: [expect.objectContaining({ rule: 'description-missing' })],
  })
})

test('without the option any more, the next pull of the same commit withholds it', async () => {
  await using scene = await after(SPOILED)
  const { revision } = scene.current!.snapshot

  const updated = await scene.updated({ onBroken: 'withhold' })

  expect(updated.revision).toEqual(revision)
  expect(pdfOf(scene)).toMatchObject({ standing: 'withheld' })
})

const LARGE = { limits: { skill: { files: 4, bytes: 16_777_216 } } }
test.each<[string, Files, Parameters<Scene['pull']>[0]]>([
  ['no frontmatter', { 'pdf/SKILL.md': '# pdf' }, {}],
  ['a frontmatter that tools alone offer', { 'pdf/SKILL.md': '---\nname: "pdf\n---\n' }, {}],
  ['a name that fits no URI', { 'pdf/SKILL.md': skillText('PDF_') }, {}],
  ['too many files', { 'pdf/a': '', 'pdf/b': '' }, LARGE],
  ['two paths that a disk folds', { 'pdf/REF.md': '' }, {}],
  ['SKILL.md as a link that leads nowhere', { 'pdf/SKILL.md': { link: Buffer.from('gone.md') } }, {}],
  ['another name than its folder, which must be exact', { 'pdf/SKILL.md': skillText('other') }, { names: 'exact' }],
])('a version with %s is a mistake of its author', async (_, edit, rules) => {
  await using scene = await after({ ...GOOD, ...edit }, rules)

  expect(pdfOf(scene)).toMatchObject({ standing: 'served', name: 'pdf', kept: expect.anything() })
})

test('a SKILL.md in another case is a mistake of its author', async () => {
  const { 'pdf/SKILL.md': text = '', ...rest } = GOOD
  await using scene = await after({ ...rest, 'pdf/Skill.md': text })

  expect(pdfOf(scene)).toMatchObject({ standing: 'served', kept: expect.anything() })
})

const TAGS = '\u{E0041}\u{E0042}\u{E0043}\u{E0044}\u{E0045}\u{E0046}\u{E0047}\u{E0048}'
test.each<[string, Files, Parameters<Scene['pull']>[0]]>([
  ['hidden text', { 'pdf/SKILL.md': skillText('pdf', '', TAGS) }, { hiddenUnicode: 'deceptive' }],
  ['hidden text besides a mistake', { 'pdf/SKILL.md': `${BROKEN}${TAGS}` }, { hiddenUnicode: 'deceptive' }],
])('%s is never answered with an earlier version', async (_, edit, rules) => {
  await using scene = await after({ ...GOOD, ...edit }, rules)

  expect(pdfOf(scene)).toMatchObject({ standing: 'withheld' })
  expect(pdfOf(scene)).not.toHaveProperty('kept')
})

test('a skill that is removed or no longer selected is not kept, nor one that was never good', async () => {
  await using scene = await after({ ...XLS, 'new/SKILL.md': BROKEN })
  expect(scene.current!.snapshot.skills.map(({ path, standing }) => `${path} ${standing}`)).toEqual([
    'new withheld',
    'xls served',
  ])
  scene.upstream.files = SPOILED
  await scene.updated(KEEP)
  expect(pdfOf(scene)).toMatchObject({ standing: 'withheld' })

  await using other = await after(SPOILED)
  await other.updated({ ...KEEP, exclude: ['pdf'] })
  expect(other.current!.snapshot.skills.map(({ path }) => path)).toEqual(['xls'])
})

test('a skill of the commit that has the name of a broken one gets its URI', async () => {
  await using scene = await Scene.open()
  const other = { 'b/SKILL.md': skillText('pdf', '', 'other') }
  scene.upstream.files = { 'a/SKILL.md': skillText('pdf'), ...other }
  await scene.updated(KEEP)
  expect(skillAt(scene.current!.snapshot, 'a')).toMatchObject({ standing: 'served', servedPath: 'pdf' })
  scene.upstream.files = { 'a/SKILL.md': BROKEN, ...other }

  await scene.updated(KEEP)

  expect(skillAt(scene.current!.snapshot, 'a')).toMatchObject({ standing: 'withheld' })
  expect(skillAt(scene.current!.snapshot, 'b')).toMatchObject({ standing: 'served', servedPath: 'pdf' })
})

test('a skill that comes later with the name of an earlier version gets its URI, although the folder of that did not change', async () => {
  await using scene = await Scene.open()
  for (const text of [skillText('pdf'), BROKEN]) {
    scene.upstream.files = { 'a/SKILL.md': text }
    await scene.updated(KEEP)
  }
  expect(skillAt(scene.current!.snapshot, 'a')).toMatchObject({ servedPath: 'pdf', kept: expect.anything() })
  scene.upstream.files = { 'a/SKILL.md': BROKEN, 'b/SKILL.md': skillText('pdf', '', 'other') }

  await scene.updated(KEEP)

  expect(skillAt(scene.current!.snapshot, 'a')).toMatchObject({ standing: 'withheld' })
  expect(skillAt(scene.current!.snapshot, 'b')).toMatchObject({ standing: 'served', servedPath: 'pdf' })
})

test('an earlier version is judged by the present rules', async () => {
  await using scene = await after(SPOILED)

  await scene.updated({ ...KEEP, limits: { skill: { files: 2, bytes: 1000 } } })

  expect(pdfOf(scene)).toMatchObject({ standing: 'withheld', files: [] })
})

test('a damaged file of an earlier version is fetched again from its commit', async () => {
  await using scene = await after(SPOILED)
  const before = pdfOf(scene)
  await scene.damage('pdf', 'SKILL.md')
  scene.orders = { ...scene.orders, isDamaged: true }

  await scene.updated(KEEP)

  expect(pdfOf(scene)).toEqual(before)
  expect(await scene.textOf('pdf', 'SKILL.md')).toBe(PDF['pdf/SKILL.md'])
})

test('an earlier version whose file is damaged, and whose commit is gone, is withheld', async () => {
  await using scene = await after(SPOILED)
  await scene.damage('pdf', 'SKILL.md')
  scene.orders = { ...scene.orders, isDamaged: true }
  scene.upstream.isCollected = true

  await scene.updated(KEEP)

  expect(pdfOf(scene)).toMatchObject({ standing: 'withheld' })
})

test('a commit that a person chose has no newer version of a skill', async () => {
  await using scene = await Scene.open()
  scene.upstream.files = SPOILED
  const { revision } = await scene.updated(KEEP)
  scene.upstream.files = GOOD
  await scene.updated(KEEP)
  scene.orders = { ...scene.orders, decision: { hold: { commit: revision.commit, at: '2026-06-15T10:00:00.000Z' } } }

  await scene.updated(KEEP)

  expect(scene.current!.snapshot.revision.commit).toBe(revision.commit)
  expect(pdfOf(scene)).toMatchObject({ standing: 'withheld' })
})

test('versions of another repository stay with it', async () => {
  await using scene = await after(SPOILED)

  await scene.updated({ ...KEEP, url: 'https://git.example.com/other.git' })

  expect(pdfOf(scene)).toMatchObject({ standing: 'withheld' })
})

describe('a lock', () => {
  /** Another machine of the same upstream, with the lock that the first one writes. */
  async function lockedBy(other: Scene, scene?: Scene): Promise<Scene> {
    const { id } = sourceWith(KEEP)
    const entry = lockEntryOf(sourceWith(KEEP), other.current!.snapshot)
    const text = lockText({ sources: new Map([[id, entry]]), packs: new Map(), rest: {} })
    const machine = scene ?? (await Scene.open(other.upstream))
    machine.orders = { ...machine.orders, locked: readLockText(text, 'skills.lock').sources.get(id)! }
    return machine
  }

  test('names the commit of an earlier version, and an empty machine gets the same bytes', async () => {
    await using other = await after(SPOILED)
    await using scene = await lockedBy(other)

    const { snapshot } = await scene.updated(KEEP)

    const { skills, keptFrom } = other.current!.snapshot
    expect(snapshot.skills).toEqual(skills)
    expect(snapshot.keptFrom).toEqual(keptFrom)
    expect(await scene.textOf('pdf', 'ref.md')).toBe('ref')
    expect(lockEntryOf(sourceWith(KEEP), snapshot)).toEqual(scene.orders.locked)
    expect(await scene.pull(KEEP)).toMatchObject({ kind: 'unchanged' })
  })

  test('is followed by a machine that serves that commit, without another fetch of it', async () => {
    await using other = await Scene.open()
    await using scene = await Scene.open(other.upstream)
    other.upstream.files = GOOD
    for (const one of [other, scene]) await one.updated(KEEP)
    other.upstream.files = SPOILED
    await other.updated(KEEP)
    const fetches = other.upstream.counts.fetch

    await (await lockedBy(other, scene)).updated(KEEP)

    expect(other.upstream.counts.fetch).toBe(fetches + 1)
    expect(scene.current!.snapshot.skills).toEqual(other.current!.snapshot.skills)
  })

  test('is refused where upstream lost the commit of an earlier version', async () => {
    await using other = await after(SPOILED)
    await using scene = await lockedBy(other)
    scene.upstream.isCollected = true

    const outcome = await scene.pull(KEEP)

    const message = expect.stringContaining(`which the lock has "pdf" from: upstream no longer has it`)
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'ref-not-found', message } })
  })

  test('that names a commit with another good version of the skill is refused', async () => {
    await using other = await Scene.open()
    const commits: ObjectId[] = []
    for (const files of [{ ...GOOD, 'pdf/ref.md': 'older' }, GOOD, SPOILED]) {
      other.upstream.files = files
      commits.push((await other.updated(KEEP)).revision.commit)
    }
    await using scene = await lockedBy(other)
    const entry = scene.orders.locked!
    const pdf = entry.skills.get('pdf')!
    const older = { ...pdf, from: { ...pdf.from!, commit: commits[0]! } }
    scene.orders = { ...scene.orders, locked: { ...entry, skills: new Map([...entry.skills, ['pdf', older]]) } }

    const outcome = await scene.pull(KEEP)

    const message = expect.stringContaining('"pdf" is in the lock and not to be served')
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'lock-mismatch', message } })
  })
})

describe('with signatures', () => {
  const SIGNERS: Signers = { commit: { scheme: 'ssh', principal: 'ann', fingerprint: 'SHA256:a' } }
  /** Proves every commit but those of revoked keys. */
  const provedBut =
    (revoked: ReadonlySet<string>): NonNullable<PullContext['prove']> =>
    async ({ commit }) => {
      if (revoked.has(Buffer.from(commit).toString())) throw new NotSigned('No trusted key signed the commit')
      return SIGNERS
    }
  const ALL = provedBut(new Set())
  const BUT_THE_FIRST = provedBut(new Set(['commit 1']))

  async function kept(): Promise<Scene> {
    const scene = await Scene.open()
    scene.upstream.files = GOOD
    await scene.updated(KEEP, { prove: ALL })
    scene.upstream.files = SPOILED
    await scene.updated(KEEP, { prove: ALL })
    return scene
  }

  test('an earlier version whose commit no trusted key signs any more is withheld at the next pull', async () => {
    await using scene = await kept()
    expect(pdfOf(scene)).toMatchObject({ standing: 'served', kept: expect.anything() })

    const { snapshot, changes } = await scene.updated(KEEP, { prove: BUT_THE_FIRST })

    expect(skillAt(snapshot, 'pdf')).toMatchObject({ standing: 'withheld', files: [] })
    expect(snapshot).not.toHaveProperty('keptFrom')
    expect(changes).toMatchObject([{ path: 'pdf', change: 'withheld' }])
    expect(skillAt(snapshot, 'xls').standing).toBe('served')
  })

  test('such a version is not kept in the first place', async () => {
    await using scene = await Scene.open()
    scene.upstream.files = GOOD
    await scene.updated(KEEP, { prove: ALL })
    scene.upstream.files = SPOILED

    await scene.updated(KEEP, { prove: BUT_THE_FIRST })

    expect(pdfOf(scene)).toMatchObject({ standing: 'withheld' })
  })

  test('a locked one takes the source out of service', async () => {
    await using scene = await kept()
    const locked = lockEntryOf(sourceWith(KEEP), scene.current!.snapshot)
    scene.orders = { ...scene.orders, locked }

    const outcome = await scene.pull(KEEP, { prove: BUT_THE_FIRST })

    expect(outcome).toMatchObject({ kind: 'failed', withdraw: true, error: { code: 'revision-unverified' } })
  })
})
