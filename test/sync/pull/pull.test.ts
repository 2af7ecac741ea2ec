import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SyncError } from '../../../src/sync/model/sync-error.ts'
import { type PullContext } from '../../../src/sync/pull/pull-context.ts'
import type { DocumentReader } from '../../../src/sync/skill/document-reader.ts'
import { storedSkill } from '../../../src/sync/store/skills/stored-path.ts'
import { READ_HERE } from '../../../src/sync/survey/document-reading.ts'
import { FETCH_LIMITS } from '../../../src/sync/upstream/upstream.ts'
import { contractFrontmatter, documentOf } from '../../support/content/contract-fixture.ts'
import { histories } from '../../support/content/random-files.ts'
import { loseObject } from '../../support/damage.ts'
import { blobId, skillText, treeId } from '../../support/git/scripted-upstream.ts'
import { sourceId } from '../store/samples.ts'
import { noted, rulesWith, skillAt, surveyed } from '../survey/surveyed.ts'
import { FOLLOW, PDF, Scene } from './pulled.ts'

/** Opens the upstream of the scene; `then` runs each time that it has given blobs. */
function openThen(scene: Scene, then: () => Promise<void>): PullContext['open'] {
  return (_, workspace) => {
    const upstream = scene.upstream.open(workspace)
    const fetch: typeof upstream.fetch = async (revision, known, signal) => {
      const tree = await upstream.fetch(revision, known, signal)
      const take: typeof tree.take = async (blobs, until) => {
        const taken = await tree.take(blobs, until)
        await then()
        return taken
      }
      return { ...tree, take }
    }
    return { ...upstream, fetch }
  }
}

describe('the first pull', () => {
  test('brings every skill to the disk, and says what it found and where', async () => {
    await using scene = await Scene.open()

    const { revision, snapshot, held } = await scene.updated()

    expect(snapshot).toMatchObject({ source: 'team', tree: treeId(PDF), revision })
    expect(held).toEqual({ source: 'team', snapshot: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(await scene.textOf('pdf', 'run.sh')).toBe('run')
    expect(scene.resolved).toEqual([revision.commit])
    expect(Buffer.from(snapshot.proof.commit, 'base64').toString()).toMatch(/^commit/)
  })

  test('leaves no scratch, and nothing of what is withheld once that is collected', async () => {
    await using scene = await Scene.open()
    scene.upstream.files = { ...PDF, 'bad/SKILL.md': '# none', 'odd/SKILL.md': skillText('Odd Name') }

    await scene.updated()
    await scene.collect()

    expect(await readdir(scene.store.folder.at('tmp'))).toEqual([])
    expect(scene.files()).toHaveLength(4)
  })

  test('fails, and the program goes on, where the store loses what was taken meanwhile', async () => {
    await using scene = await Scene.open()
    const open = openThen(scene, async () => {
      for (const digest of scene.files()) loseObject(scene.store, digest)
    })

    const outcome = await scene.pull({}, { open })

    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'store-failed' } })
  })

  test('loses nothing to a collection, not even what lay there in use by nothing', async () => {
    await using scene = await Scene.open()
    await scene.updated()
    scene.current = undefined
    const open = openThen(scene, async () => scene.collect())

    await scene.updated({}, { open })

    expect(scene.upstream.counts.fetch).toBe(2)
    expect(await scene.textOf('pdf', 'ref.md')).toBe('ref')
  })

  test('stores a skill of two sources once, and both have it', async () => {
    await using scene = await Scene.open()
    const [team, house] = await Promise.all([scene.updated(), scene.updated({ id: sourceId('house') })])

    expect(skillAt(house.snapshot, 'pdf').digest).toBe(skillAt(team.snapshot, 'pdf').digest)
    expect(scene.files()).toHaveLength(3)
    expect(await scene.textOf('pdf', 'ref.md')).toBe('ref')
  })

  test('gives each file its own bytes where many files have the same', async () => {
    await using scene = await Scene.open()
    scene.upstream.files = {
      'a/SKILL.md': skillText('a'),
      'a/one': 'same',
      'a/two': 'same',
      'b/SKILL.md': skillText('b'),
      'b/same': { executable: 'same' },
      'b/link': { link: 'same' },
      'copy/a/SKILL.md': skillText('a'),
      'copy/a/one': 'same',
      'copy/a/two': 'same',
    }

    await scene.updated()

    for (const [skill, path] of [
      ['a', 'one'],
      ['a', 'two'],
      ['b', 'same'],
      ['b', 'link'],
      ['copy/a', 'two'],
    ] as const) {
      expect(await scene.textOf(skill, path)).toBe('same')
    }
    expect(scene.files()).toHaveLength(3)
  })
})

describe('a pull of an unmoved ref', () => {
  test('writes nothing, reads no object and tells nobody', async () => {
    await using scene = await Scene.open()
    await scene.updated()
    const [before, counts] = [await scene.state(), { ...scene.upstream.counts }]

    const outcome = await scene.pull()

    const revision = { ref: 'refs/heads/main' }
    expect(outcome).toMatchObject({ kind: 'unchanged', revision, followed: { revision, skills: 1 } })
    expect(await scene.state()).toEqual(before)
    expect(scene.upstream.counts).toEqual({ ...counts, resolve: 2 })
    expect(scene.resolved).toHaveLength(1)
  })

  test.each([
    ['the address', { url: 'https://git.example.com/other.git' }],
    ['the rules', { exclude: ['nothing'] }],
    ['a limit', { limits: { skill: { files: 100, bytes: 1000 } } }],
  ])('looks again where %s was edited', async (_, edit) => {
    await using scene = await Scene.open()
    await scene.updated()

    const outcome = await scene.pull(edit)

    expect(outcome.kind).toBe('updated')
    expect((await scene.pull(edit)).kind).toBe('unchanged')
  })

  test('looks again where the tag is another, or another ref has the commit', async () => {
    await using scene = await Scene.open()
    const tag = (text: string) => ({ ref: 'refs/tags/v1', tag: blobId(text) })
    const kinds: string[] = []

    for (const pointer of [
      tag('first'),
      tag('first'),
      tag('moved'),
      { ref: 'refs/tags/v1' },
      { ref: 'refs/heads/v1' },
    ]) {
      scene.upstream.pointer = pointer
      kinds.push((await scene.pull({ brakes: FOLLOW })).kind)
    }

    expect(kinds).toEqual(['updated', 'unchanged', 'updated', 'updated', 'updated'])
    expect(scene.upstream.taken).toHaveLength(3)
  })
})

describe('a pull of a commit', () => {
  test('takes and writes only what changed', async () => {
    await using scene = await Scene.open()
    scene.upstream.files = { ...PDF, 'xls/SKILL.md': skillText('xls'), 'xls/big.md': 'big' }
    await scene.updated()
    const before = scene.files()
    const taken = scene.upstream.taken.length
    scene.upstream.files = { ...scene.upstream.files, 'xls/new.md': 'new' }

    await scene.updated()

    expect(scene.upstream.taken.slice(taken)).toEqual([blobId('new')])
    expect(scene.files()).toHaveLength(before.length + 1)
    expect(await scene.textOf('xls', 'big.md')).toBe('big')
    expect(scene.upstream.counts.fetch).toBe(2)
  })

  test('that links into a folder that is as it was fetches the whole tree once more', async () => {
    await using scene = await Scene.open()
    scene.upstream.files = { 'vendor/pdf/SKILL.md': skillText('pdf'), 'skills/x': '' }
    await scene.updated()
    scene.upstream.files = { ...scene.upstream.files, 'skills/pdf': { link: '../vendor/pdf' } }

    const { snapshot } = await scene.updated()

    expect(scene.upstream.counts.fetch).toBe(3)
    expect(snapshot.skills).toEqual((await surveyed(scene.upstream.files)).skills)
    expect(await readdir(scene.store.folder.at('tmp'))).toEqual([])
  })

  test('of a repository where links lead from folder to folder fetches its tree once', async () => {
    await using scene = await Scene.open()
    scene.upstream.files = { 'vendor/pdf/SKILL.md': skillText('pdf'), 'skills/pdf': { link: '../vendor/pdf' } }
    await scene.updated()
    scene.upstream.files = { ...scene.upstream.files, 'README.md': 'new' }

    await scene.updated()

    expect(scene.upstream.counts.fetch).toBe(2)
  })

  test('without a skill is an empty source', async () => {
    await using scene = await Scene.open()
    scene.upstream.files = { 'README.md': 'read' }

    expect((await scene.updated()).snapshot.skills).toEqual([])
  })

  test('that makes a copy of a skill in its place, or ends one, writes what is served, and only that', async () => {
    await using scene = await Scene.open()
    const alone = { 'g/a/SKILL.md': skillText('x'), 'g/a/own.md': 'own' }
    scene.upstream.files = { ...alone, 'g/x/SKILL.md': skillText('x'), 'g/x/own.md': 'own' }
    await scene.updated()
    const stored = scene.files()
    scene.upstream.files = alone

    await scene.updated()

    expect(stored).toHaveLength(2)
    expect(scene.files()).toEqual(stored)
    expect(await scene.textOf('g/a', 'own.md')).toBe('own')
  })

  test('under new limits that name a skill at last has it under its name', async () => {
    await using scene = await Scene.open()
    scene.upstream.files = { 'pdf/SKILL.md': skillText('pdf', 'x: [[1]]\n') }
    const frontmatter = (depth: number) => ({ limits: { frontmatter: { bytes: 1000, depth } } })
    const first = await scene.updated(frontmatter(2))

    const second = await scene.updated(frontmatter(3))

    expect([first, second].map(({ snapshot }) => skillAt(snapshot, 'pdf').standing)).toEqual(['tools', 'served'])
    expect(await scene.textOf('pdf', 'SKILL.md')).toBe(skillText('pdf', 'x: [[1]]\n'))
  })
})

describe('a pull that fails', () => {
  const failure = new SyncError('source-unreachable', 'Cannot reach "team"')

  test('says so, and leaves everything as it was', async () => {
    await using scene = await Scene.open()
    await scene.updated()
    const before = await scene.state()
    scene.upstream.files = { ...PDF, 'new/SKILL.md': skillText('new') }
    scene.upstream.failure = failure

    const outcome = await scene.pull()

    expect(outcome).toEqual({ kind: 'failed', error: failure })
    expect(await scene.state()).toEqual(before)
  })

  test('for a reason that nobody expected throws it', async () => {
    await using scene = await Scene.open()
    const fault = new TypeError('a fault of ours')
    const fails = async () => Promise.reject(fault)

    const failing = scene.pull({}, { open: () => ({ kind: 'tree', resolve: fails, fetch: fails, relation: fails }) })

    await expect(failing).rejects.toBe(fault)
    expect(await readdir(scene.store.folder.at('tmp'))).toEqual([])
  })

  test('since it was aborted throws the reason, and leaves nothing that a collection does not take', async () => {
    await using scene = await Scene.open()
    const reason = new Error('enough')

    const failing = scene.pull({}, {}, AbortSignal.abort(reason))

    await expect(failing).rejects.toBe(reason)
    expect(await readdir(scene.store.folder.at('tmp'))).toEqual([])
    await scene.collect()
    expect(scene.files()).toEqual([])
  })
})

describe('a source with `on_broken: refuse`', () => {
  test.each([
    ['a skill that is withheld', { 'bad/SKILL.md': '# none' }],
    ['a skill for the tools alone', { 'bad/SKILL.md': skillText('Bad') }],
    ['two skills at one path', { 'bad/SKILL.md': skillText('pdf') }],
  ])('refuses a commit with %s, naming it, and keeps what it has', async (_, more) => {
    await using scene = await Scene.open()
    await scene.updated({ onBroken: 'refuse' })
    await scene.collect()
    const before = scene.files()
    scene.upstream.files = { ...PDF, ...more }

    const outcome = await scene.pull({ onBroken: 'refuse' })

    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'content-refused' } })
    expect(outcome.kind === 'failed' && outcome.error.message).toContain('"bad"')
    await scene.collect()
    expect(scene.files()).toEqual(before)
  })

  test('names every skill that is wrong, by what is wrong with it and not by what is only noted', async () => {
    await using scene = await Scene.open()
    const notes = { 'one/a': { link: '../../b' }, 'one/c': { link: '../../d' } }
    scene.upstream.files = { ...PDF, 'one/SKILL.md': '# none', ...notes, 'two/SKILL.md': skillText('Two') }

    const outcome = await scene.pull({ onBroken: 'refuse' })

    const message = outcome.kind === 'failed' ? outcome.error.message : ''
    expect(message).toContain('2 of its skills are invalid')
    expect(message).toMatch(
      /"one": The file does not begin with a line "---".*; "two": The name "Two" is no name of a skill/,
    )
    expect(message).not.toContain('link')
  })

  test('takes a SKILL.md inside of another skill for a file, where nested: as-files says that it is one', async () => {
    await using scene = await Scene.open()
    const refusing = { onBroken: 'refuse', contract: true } as const
    const document = documentOf(contractFrontmatter('pdf'))
    scene.upstream.files = { 'pdf/SKILL.md': document, 'pdf/example/SKILL.md': skillText('example') }

    const outcomes = [await scene.pull(refusing), await scene.pull({ ...refusing, nested: 'as-files' })]
    scene.upstream.files = { 'pdf/SKILL.md': '# none', 'pdf/example/SKILL.md': document }
    outcomes.push(await scene.pull({ ...refusing, nested: 'as-files' }))

    expect(outcomes.map(({ kind }) => kind)).toEqual(['failed', 'updated', 'failed'])
  })

  test('that begins to refuse looks again at the commit that it has', async () => {
    await using scene = await Scene.open()
    scene.upstream.files = { ...PDF, 'bad/SKILL.md': '# none' }
    await scene.updated()

    const outcome = await scene.pull({ onBroken: 'refuse' })

    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'content-refused' } })
  })

  test('takes a commit whose skills are only noted', async () => {
    await using scene = await Scene.open()
    scene.upstream.files = { 'folder/SKILL.md': skillText('pdf') }

    expect((await scene.pull({ onBroken: 'refuse' })).kind).toBe('updated')
  })
})

describe('a stored skill that was damaged', () => {
  test('is written anew by a pull that knows nothing', async () => {
    await using scene = await Scene.open()
    await scene.updated()
    await scene.damage('pdf', 'ref.md')
    await expect(scene.textOf('pdf', 'ref.md')).rejects.toMatchObject({ code: 'store-failed' })
    scene.current = undefined

    await scene.updated()

    expect(await scene.textOf('pdf', 'ref.md')).toBe('ref')
    expect(await scene.textOf('pdf', 'run.sh')).toBe('run')
  })

  test.each([
    ['another file of it', { 'pdf/new.md': 'new' }],
    ['a copy of the file', { 'xls/SKILL.md': skillText('xls'), 'xls/copy.md': 'ref' }],
  ])('does not keep a commit out that brings %s', async (_, more) => {
    await using scene = await Scene.open()
    await scene.updated()
    await scene.damage('pdf', 'ref.md')
    scene.upstream.files = { ...PDF, ...more }

    await scene.updated()

    expect(await scene.textOf('pdf', 'ref.md')).toBe('ref')
  })

  test('does not keep a commit out that is read by its SKILL.md', async () => {
    await using scene = await Scene.open()
    await scene.updated()
    await scene.damage('pdf', 'SKILL.md')
    scene.upstream.files = { ...PDF, 'pdf/new.md': 'new' }

    await scene.updated()

    expect(await scene.textOf('pdf', 'SKILL.md')).toBe(skillText('pdf'))
  })
})

test('a commit that is held for what it lost is not shown to the gate before a person has approved it', async () => {
  await using scene = await Scene.open()
  const many = Array.from({ length: 9 }, (_, at) => [`s${at}/SKILL.md`, skillText(`s${at}`)] as const)
  scene.upstream.files = { ...PDF, ...Object.fromEntries(many) }
  await scene.updated()
  scene.upstream.files = PDF
  const shown: string[] = []
  const gate: PullContext['gate'] = async ({ revision }) => {
    shown.push(revision.commit)
    return new SyncError('content-refused', 'The gate refuses it')
  }

  const held = await scene.pull({}, { gate })
  const shownWhileHeld = [...shown]
  if (held.kind !== 'waiting') throw new Error(`The pull ended ${held.kind}`)
  const { commit } = held.revision!
  scene.orders = { ...scene.orders, decision: { approved: { commit } } }
  const approved = await scene.pull({}, { gate })

  expect(held.reason.code).toBe('mass-deletion')
  expect(shownWhileHeld).toEqual([])
  expect(approved).toMatchObject({ kind: 'failed', error: { code: 'content-refused' } })
  expect(shown).toEqual([commit])
})

describe('what is served and has to be taken anew', () => {
  const NEWEST = { ...PDF, 'pdf/ref.md': 'changed', 'bad/SKILL.md': '# none' }
  const MANY = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`s${at}/SKILL.md`, skillText(`s${at}`)]))

  test('is so where it is damaged and a source with `on_broken: refuse` refuses the newest commit, which is told', async () => {
    await using scene = await Scene.open()
    const { revision } = await scene.updated({ onBroken: 'refuse' })
    await scene.damage('pdf', 'ref.md')
    scene.upstream.files = NEWEST
    scene.orders = { ...scene.orders, isDamaged: true }

    const outcome = await scene.updated({ onBroken: 'refuse' })

    const newest = { commit: scene.resolved[1] }
    expect(outcome).toMatchObject({ revision, from: revision, drift: { error: { code: 'content-refused' }, newest } })
    expect(await scene.textOf('pdf', 'ref.md')).toBe('ref')
    scene.orders = { ...scene.orders, isDamaged: false }
    expect(await scene.pull({ onBroken: 'refuse' })).toMatchObject({
      kind: 'failed',
      error: { code: 'content-refused' },
    })
  })

  test('is so where it is damaged and the newest commit is held for what it lost', async () => {
    await using scene = await Scene.open()
    scene.upstream.files = { ...PDF, ...MANY }
    const { revision } = await scene.updated()
    await scene.damage('pdf', 'ref.md')
    scene.upstream.files = PDF
    scene.orders = { ...scene.orders, isDamaged: true }

    const { drift, ...outcome } = await scene.updated()

    expect(outcome).toMatchObject({ revision })
    expect(drift).toMatchObject({ error: { code: 'mass-deletion' }, newest: { commit: scene.resolved[1] } })
    expect(drift?.newest.commit).not.toBe(revision.commit)
    expect(await scene.textOf('pdf', 'ref.md')).toBe('ref')
  })

  test('is so where the rules were edited and the newest commit is refused', async () => {
    await using scene = await Scene.open()
    scene.upstream.files = { ...PDF, ...MANY }
    const { revision } = await scene.updated({ onBroken: 'refuse' })
    scene.upstream.files = { ...NEWEST, ...MANY }

    const { snapshot, drift } = await scene.updated({ onBroken: 'refuse', exclude: ['s1'] })

    expect(snapshot.revision).toEqual(revision)
    expect(snapshot.skills.map(({ path }) => path)).not.toContain('s1')
    // A value, and no exception: it has to be the same after JSON.
    const text: unknown = expect.any(String)
    expect(drift?.error).toStrictEqual({ code: 'content-refused', message: text, fix: text, place: 'on_broken' })
  })

  test.each(['damaged', 'by other rules'])(
    'is so where it is %s while a move waits, which is told at once',
    async (how) => {
      await using scene = await Scene.open()
      const { revision } = await scene.updated()
      scene.upstream.files = NEWEST
      scene.orders = { ...scene.orders, isDamaged: how === 'damaged' }
      const edit = { update: 'review', exclude: how === 'damaged' ? [] : ['s1'] } as const

      const { drift, ...outcome } = await scene.updated(edit)

      scene.orders = { ...scene.orders, isDamaged: false }
      const held = await scene.pull(edit)
      expect(outcome).toMatchObject({ revision })
      expect(held).toEqual({ kind: 'waiting', reason: drift?.error, revision: drift?.newest })
      expect(drift?.error).toStrictEqual({ code: 'awaiting-approval', message: expect.any(String) })
      expect(drift?.newest.commit).not.toBe(revision.commit)
    },
  )

  test('is not told to wait for what upstream has moved on from', async () => {
    await using scene = await Scene.open()
    scene.upstream.files = { ...PDF, ...MANY }
    await scene.updated()
    scene.upstream.files = PDF
    const waiting = await scene.pull()
    if (waiting.kind !== 'waiting') throw new Error(`The pull ended ${waiting.kind}`)
    await scene.damage('pdf', 'ref.md')
    scene.upstream.files = { ...PDF, ...MANY, 'pdf/new.md': 'new' }
    scene.orders = { ...scene.orders, waiting, isDamaged: true }

    const { snapshot, drift } = await scene.updated()

    expect(skillAt(snapshot, 'pdf').files.map(({ path }) => path)).toContain('new.md')
    expect(drift).toBeUndefined()
  })

  test('stays as it is where nobody gives it any more', async () => {
    await using scene = await Scene.open()
    await scene.updated({ onBroken: 'refuse' })
    await scene.damage('pdf', 'ref.md')
    scene.upstream.files = NEWEST
    scene.upstream.isCollected = true
    scene.orders = { ...scene.orders, isDamaged: true }

    const outcome = await scene.pull({ onBroken: 'refuse' })

    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'content-refused' } })
    expect(outcome).not.toHaveProperty('withdraw')
  })
})

describe('for any history', () => {
  test('a snapshot is the same after JSON, and every byte of what it offers is in the store', async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        await using scene = await Scene.open()
        for (const files of history) {
          scene.upstream.files = files

          const { snapshot, held } = await scene.updated({ brakes: FOLLOW })

          const read = await scene.store.snapshots.read(held.snapshot)
          expect(read).toEqual(snapshot)
          expect(JSON.parse(JSON.stringify(snapshot))).toEqual(snapshot)
          expect(noted(read.findings)).toEqual(noted((await surveyed(files)).findings))
          expect(read.skills).toEqual((await surveyed(files)).skills)
          for (const skill of read.skills.filter(({ standing }) => standing !== 'withheld')) {
            for (const file of skill.files) {
              const bytes = await scene.store.skills.read(storedSkill(skill), file)
              expect(createHash('sha256').update(bytes).digest('hex')).toBe(file.sha256)
              expect(blobId(bytes)).toBe(file.blob)
            }
          }
        }
        expect(await readdir(scene.store.folder.at('tmp'))).toEqual([])
      }),
      { numRuns: 40 },
    )
  })
})

describe('a SKILL.md over which its reader ends', () => {
  test('is withheld alone, says so, and is read again with the next commit', async () => {
    await using scene = await Scene.open()
    const files = { ...PDF, 'group/heavy/SKILL.md': skillText('heavy'), 'group/light/SKILL.md': skillText('light') }
    scene.upstream.files = files
    const frontmatter = { ok: false, rule: 'frontmatter-too-large', message: 'no end', isUnfinished: true } as const
    const ending: DocumentReader = {
      ...READ_HERE,
      read: async (bytes, ...rest) => {
        const isHeavy = Buffer.from(bytes).includes('name: heavy')
        return isHeavy
          ? { frontmatter, unrendered: [], lookAlikes: undefined, unsearched: 0, hidden: undefined }
          : READ_HERE.read(bytes, ...rest)
      },
    }

    const { snapshot } = await scene.updated({}, { reader: ending })
    scene.upstream.files = { ...files, 'pdf/ref.md': 'changed' }
    const next = await scene.updated()

    expect(noted(skillAt(snapshot, 'group/heavy').findings)).toEqual(['frontmatter-too-large group/heavy'])
    const standings = ['group/heavy', 'group/light', 'pdf'].map((path) => skillAt(snapshot, path).standing)
    expect(standings).toEqual(['withheld', 'served', 'served'])
    expect(skillAt(next.snapshot, 'group/heavy').standing).toBe('served')
    // Every other folder is taken for what it was.
    expect(snapshot.folders).toHaveProperty('group/light')
  })
})

describe('a disk budget', () => {
  test('that is used up keeps the next fetch from starting, and what is served stays', async () => {
    await using scene = await Scene.open()
    await scene.updated()
    await scene.collect()
    scene.upstream.files = { ...PDF, 'pdf/ref.md': 'changed' }
    const full = { ...rulesWith().limits, fetch: FETCH_LIMITS, disk: { bytes: scene.store.bytes - 1 } }

    const refused = await scene.pull({}, { limits: full })
    const text = await scene.textOf('pdf', 'ref.md')
    const taken = await scene.pull({}, { limits: { ...full, disk: { bytes: scene.store.bytes } } })

    expect(refused).toMatchObject({ kind: 'failed', error: { code: 'limit-exceeded' } })
    expect(text).toBe('ref')
    expect(taken.kind).toBe('updated')
  })
})

test('skills of more bytes than may be kept are refused, with the limit to raise', async () => {
  await using scene = await Scene.open()
  const { bytes } = scene.store
  scene.upstream.files = { ...PDF, 'pdf/large.txt': 'x'.repeat(bytes) }

  const outcome = await scene.pull({}, { limits: { ...rulesWith().limits, disk: { bytes } } })

  expect(outcome).toMatchObject({
    kind: 'failed',
    error: {
      code: 'limit-exceeded',
      message: `Cannot keep the skills: they come to over limits.disk.bytes (${bytes})`,
      fix: expect.stringMatching(/^Raise `limits\.disk\.bytes`/),
    },
  })
})
