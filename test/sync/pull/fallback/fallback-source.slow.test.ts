import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { lockEntryOf, isLocked } from '../../../../src/sync/model/decisions/lock.ts'
import type { LockEntry } from '../../../../src/sync/model/decisions/lock.ts'
import { digestOf } from '../../../../src/sync/model/digest.ts'
import type { Skill } from '../../../../src/sync/model/skill.ts'
import type { GitSource } from '../../../../src/sync/model/source.ts'
import { NotSigned, SyncError } from '../../../../src/sync/model/sync-error.ts'
import type { Fallback } from '../../../../src/sync/pull/fallback/fallback-source.ts'
import type { PullContext } from '../../../../src/sync/pull/pull-context.ts'
import { storedSkill } from '../../../../src/sync/store/skills/stored-path.ts'
import { histories } from '../../../support/content/random-files.ts'
import { skillText, type Files } from '../../../support/git/scripted-upstream.ts'
import { sourceId } from '../../store/samples.ts'
import { objectId } from '../../upstream/reached.ts'
import { FOLLOW, Scene, sourceWith } from '../pulled.ts'

const HUB = sourceId('hub')

describe('a locked commit that is gone', () => {
  test('is rebuilt from the fallback: the same skills by digest, executable files and those of other folders included', async () => {
    await using lost = await Lost.open({
      'tools/pdf/SKILL.md': skillText('pdf'),
      'tools/pdf/run.sh': { executable: 'run' },
      'tools/pdf/inner/SKILL.md': skillText('inner'),
      'docs/SKILL.md': skillText('writing-docs'),
    })

    const { snapshot, revision } = await lost.scene.updated({}, lost.io)

    expect(revision).toEqual(lost.entry.revision)
    expect(isLocked(lost.entry, snapshot)).toBe(true)
    expect(snapshot).toMatchObject({ rebuiltFrom: 'hub', folders: {}, proof: { commit: '' } })
    expect(await lost.scene.textOf('tools/pdf', 'run.sh')).toBe('run')
    expect(snapshot.skills.map(({ path, servedPath }) => [path, servedPath])).toEqual([
      ['docs', 'writing-docs'],
      ['tools/pdf', 'tools/pdf'],
      ['tools/pdf/inner', 'tools/pdf/inner'],
    ])
  })

  test('is rebuilt below the root of its source', async () => {
    await using lost = await Lost.open({ 'r/pdf/SKILL.md': skillText('pdf') }, { root: 'r' })

    const { snapshot } = await lost.scene.updated({ root: 'r' }, lost.io)

    expect(isLocked(lost.entry, snapshot)).toBe(true)
  })

  test('is rebuilt with the earlier versions that the lock has, as what they are', async () => {
    await using lost = await Lost.open()
    const { entry, scene } = lost
    const from = { ref: 'refs/heads/main', commit: objectId('7'.repeat(40)) }
    const skills = new Map([...entry.skills].map(([path, one]) => [path, { ...one, from }]))
    const locked = { ...entry, selection: { ...entry.selection, onBroken: 'keep' as const }, skills }
    scene.orders = { ...scene.orders, locked }

    const { snapshot } = await scene.updated({ onBroken: 'keep' }, lost.io)

    const [pdf] = snapshot.skills
    expect(pdf).toMatchObject({ kept: { commit: from.commit, since: entry.revision.commit } })
    expect(pdf?.findings).toEqual([expect.objectContaining({ rule: 'kept-version' })])
    expect(lockEntryOf(sourceWith({ onBroken: 'keep' }), snapshot).skills).toEqual(skills)
  })

  test('is not asked for again once it was rebuilt, nor after its source was gone for a while', async () => {
    await using lost = await Lost.open()
    await lost.scene.updated({}, lost.io)

    const again = await lost.scene.pull({}, lost.io)
    lost.scene.current = undefined
    const back = await lost.scene.pull({}, lost.io)

    expect([again.kind, back.kind, lost.lists]).toEqual(['unchanged', 'updated', 1])
  })

  test('is rebuilt once more where a stored file is damaged', async () => {
    await using lost = await Lost.open()
    await lost.scene.updated({}, lost.io)
    await lost.scene.damage('pdf', 'SKILL.md')
    lost.scene.orders = { ...lost.scene.orders, isDamaged: true }

    await lost.scene.updated({}, lost.io)

    expect(await lost.scene.textOf('pdf', 'SKILL.md')).toBe(skillText('pdf'))
  })

  test('is taken from upstream, and nobody else is asked, while that has it', async () => {
    await using lost = await Lost.open()
    lost.scene.upstream.isCollected = false

    const { snapshot } = await lost.scene.updated({}, lost.io)

    expect([snapshot.rebuiltFrom, lost.lists]).toEqual([undefined, 0])
  })

  test('of a repository that is gone stays lost by the same code, and the message has both reasons', async () => {
    await using lost = await Lost.open()
    lost.listed = []
    lost.scene.upstream.failure = new SyncError('repository-not-found', 'Cannot reach "team": no repository is there')

    const outcome = await lost.scene.pull({}, lost.io)

    expect(outcome).toMatchObject({
      kind: 'failed',
      error: {
        code: 'repository-not-found',
        message: expect.stringMatching(/^Cannot reach "team": .* is there, and its fallback "hub" lists nothing/),
      },
    })
  })

  test('stays lost where one of its skills is not listed, and the message names it and the fallback', async () => {
    await using lost = await Lost.open({ 'a/SKILL.md': skillText('a'), 'b/SKILL.md': skillText('b') })
    lost.listed = lost.listed.filter(({ name }) => name !== 'b')

    expect(await lost.scene.pull({}, lost.io)).toMatchObject(
      failedWith(/no longer has it, and its fallback "hub" lists nothing with the digest of "b"; restore/),
    )
  })

  test('stays lost where a skill has an executable file, and the server does not say so', async () => {
    await using lost = await Lost.open({ 'a/SKILL.md': skillText('a'), 'a/x': { executable: 'x' } })
    lost.listed = lost.listed.map(({ upstream, ...skill }) => ({
      ...skill,
      upstream: { ...upstream!, executables: [] },
    }))

    expect(await lost.scene.pull({}, lost.io)).toMatchObject(failedWith(/nothing with the digest of "a"/))
  })

  test('is not called lost where it is our own disk that fails', async () => {
    await using lost = await Lost.open()
    const read: Fallback['read'] = async () => {
      throw new SyncError('store-failed', 'Cannot write "upstreams/hub"')
    }

    const outcome = await lost.scene.pull({}, { fallback: { ...lost.io.fallback, read } })

    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'store-failed' } })
  })

  test('stays lost where a file cannot be had, and nothing of it is served', async () => {
    await using lost = await Lost.open()
    const read: Fallback['read'] = async () => {
      throw new SyncError('content-refused', 'Cannot give out a file of "hub/pdf"')
    }

    const outcome = await lost.scene.pull({}, { fallback: { ...lost.io.fallback, read } })

    expect(outcome).toMatchObject(failedWith(/"hub" does not give it: Cannot give out a file of "hub\/pdf"/))
  })

  test('stays lost where somebody has to have signed it', async () => {
    await using lost = await Lost.open()
    const prove = async () => ({})

    const outcome = await lost.scene.pull({}, { ...lost.io, prove })

    expect(outcome).toMatchObject(failedWith(/cannot restore a source with `signed`/))
    expect(lost.lists).toBe(0)
  })

  test('stays lost where its docs are locked', async () => {
    const files = { 'pdf/SKILL.md': skillText('pdf'), 'docs/a.md': 'a' }
    await using lost = await Lost.open(files, { docs: 'docs' })

    expect(await lost.scene.pull({ docs: 'docs' }, lost.io)).toMatchObject(
      failedWith(/cannot restore a source with `docs`/),
    )
  })
})

test('what was rebuilt leaves service once somebody has to have signed it', async () => {
  await using lost = await Lost.open()
  await lost.scene.updated({}, lost.io)
  const prove: PullContext['prove'] = async ({ commit }) => {
    throw new NotSigned(`Cannot take a commit of ${commit.length} bytes`)
  }

  expect(await lost.scene.pull({}, { ...lost.io, prove })).toMatchObject({ kind: 'failed', withdraw: true })
})

test('what was rebuilt is taken anew from upstream once the source follows its ref again', async () => {
  await using lost = await Lost.open()
  await lost.scene.updated({}, lost.io)
  lost.scene.upstream.files = lost.files
  lost.scene.orders = { decision: {}, offline: false }

  const { snapshot } = await lost.scene.updated(FOLLOW_ALL)

  expect(snapshot.rebuiltFrom).toBeUndefined()
  expect(snapshot.folders).not.toEqual({})
})

test('the marketplace of what was rebuilt is not known, and is read once the commit itself is fetched', async () => {
  const marketplace = JSON.stringify({ plugins: [{ name: 'p', source: './', skills: ['./pdf'] }] })
  const files = { 'pdf/SKILL.md': skillText('pdf'), '.claude-plugin/marketplace.json': marketplace }
  const edit = { brakes: FOLLOW, marketplace: true }
  await using lost = await Lost.open(files, edit)
  const rebuilt = await lost.scene.updated(edit, lost.io)
  lost.scene.upstream.files = files
  lost.scene.upstream.isCollected = false
  lost.scene.orders = { decision: {}, offline: false }

  const { snapshot } = await lost.scene.updated(edit)

  expect(rebuilt.snapshot).toMatchObject({ rebuiltFrom: 'hub', tree: snapshot.tree, findings: [] })
  expect(rebuilt.snapshot.marketplace).toBeUndefined()
  expect(snapshot.marketplace?.groups.map(({ name }) => name)).toEqual(['p'])
})

test('whatever is locked of a repository without links can be rebuilt from a server that lists the same', async () => {
  const plain = histories.filter((history) => !Object.values(history[0] ?? {}).some(isLink))
  await fc.assert(
    fc.asyncProperty(plain, async ([files = {}]) => {
      await using lost = await Lost.open(files)

      const { snapshot } = await lost.scene.updated({}, lost.io)

      expect(isLocked(lost.entry, snapshot)).toBe(true)
    }),
    { numRuns: 40 },
  )
})

const FOLLOW_ALL = { brakes: FOLLOW }

function failedWith(message: RegExp): object {
  return { kind: 'failed', error: { code: 'ref-not-found', message: expect.stringMatching(message) } }
}

function isLink(content: Files[string]): boolean {
  return typeof content === 'object' && 'link' in content
}

/** A machine with a lock and an empty store, whose upstream has lost the commit that a server still lists the skills of. */
class Lost implements AsyncDisposable {
  readonly scene: Scene
  readonly entry: LockEntry
  readonly files: Files
  listed: readonly Skill[]
  lists = 0
  readonly #before: Scene
  readonly #skills: readonly Skill[]

  private constructor(scenes: { readonly before: Scene; readonly scene: Scene }, entry: LockEntry, files: Files) {
    this.#before = scenes.before
    this.scene = scenes.scene
    this.entry = entry
    this.files = files
    this.#skills = (scenes.before.current?.snapshot.skills ?? []).filter(({ standing }) => standing !== 'withheld')
    this.listed = this.#skills.map(asListed)
    this.scene.orders = { decision: {}, offline: false, locked: entry }
  }

  static async open(files: Files = { 'pdf/SKILL.md': skillText('pdf') }, edit: Partial<GitSource> = {}): Promise<Lost> {
    const before = await Scene.open()
    before.upstream.files = files
    const { snapshot } = await before.updated(edit)
    const scene = await Scene.open()
    scene.upstream.files = files
    await using workspace = await scene.store.workspace()
    await scene.upstream.open(workspace).resolve(new AbortController().signal)
    scene.upstream.files = { 'other/SKILL.md': skillText('other') }
    scene.upstream.isCollected = true
    return new Lost({ before, scene }, lockEntryOf(sourceWith(edit), snapshot), files)
  }

  get io(): { readonly fallback: Fallback } {
    return {
      fallback: {
        id: HUB,
        list: async () => {
          this.lists += 1
          return this.listed
        },
        read: async ({ upstream }, file) => {
          const skill = this.#skills[Number(upstream.uri)]!
          return this.#before.store.skills.read(
            storedSkill(skill),
            skill.files.find(({ path }) => path === file.path)!,
          )
        },
      },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#before[Symbol.asyncDispose]()
    await this.scene[Symbol.asyncDispose]()
  }
}

/** As a listing has it: at another path, with no executable flag in its digest. */
function asListed(skill: Skill, index: number): Skill {
  const executables = skill.files.flatMap(({ path, executable }) => (executable ? [path] : []))
  const files = skill.files.map(({ path, size, sha256 }) => {
    return { path, size, sha256, blob: objectId(sha256), executable: false }
  })
  const upstream = { source: HUB, uri: String(index), executables }
  return { ...skill, path: `mirror/${index}`, files, digest: digestOf(files), upstream }
}
