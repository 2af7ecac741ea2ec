import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../../src/sync/model/outcome.ts'
import type { Snapshot } from '../../../src/sync/model/snapshot.ts'
import type { DirectorySource } from '../../../src/sync/model/source.ts'
import type { Workspace } from '../../../src/sync/store/objects/blob-store.ts'
import { DirectoryUpstream } from '../../../src/sync/upstream/folder/directory-upstream.ts'
import { FETCH_LIMITS } from '../../../src/sync/upstream/upstream.ts'
import type { TreeUpstream } from '../../../src/sync/upstream/upstream.ts'
import { asNobody, fillFolder } from '../../support/content/folder.ts'
import { damageObject } from '../../support/damage.ts'
import { skillText, type Files } from '../../support/git/scripted-upstream.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { noted, skillAt, type Edited } from '../survey/surveyed.ts'
import { Scene, sourceWith } from './pulled.ts'

const FILES: Files = {
  'a/SKILL.md': skillText('a'),
  'a/ref.md': 'ref',
  'b/SKILL.md': skillText('b'),
  'b/x': 'x',
  'b/y': 'y',
  'docs/deep/doc.md': 'doc',
  'docs/other.md': 'other',
}

describe('a skill that cannot be read stays as it was', () => {
  test.each<[string, Edited]>([
    ['another exclude', { exclude: ['zzz/**'] }],
    ['other limits', { limits: { skill: { files: 3, bytes: 1000 } } }],
    ['other names', { names: 'exact' }],
  ])('where the rules are edited meanwhile: %s', async (_, edit) => {
    await using hub = await Hub.of(FILES)
    const before = await hub.updated()

    for (const place of ['b/x', 'b']) {
      const after = await hub.without(place, edit)

      expect(skillsIn(after)).toEqual(skillsIn(before))
      expect(noted(skillAt(after, 'b').findings)).toEqual([`not-read ${place}`])
    }
    expect(await hub.scene.textOf('b', 'x')).toBe('x')
  })

  test.each(['b/x', 'b'])('where the stored file of a neighbour is damaged (%s)', async (place) => {
    await using hub = await Hub.of(FILES)
    const before = await hub.updated()
    await hub.scene.damage('a', 'ref.md')
    hub.scene.orders = { ...hub.scene.orders, isDamaged: true }

    const after = await hub.without(place)

    expect(skillsIn(after)).toEqual(skillsIn(before))
    expect(await hub.scene.textOf('a', 'ref.md')).toBe('ref')
    expect(await hub.scene.textOf('b', 'x')).toBe('x')
  })

  test('where the damaged file of it is one that can be read', async () => {
    await using hub = await Hub.of(FILES)
    const before = await hub.updated()
    await hub.scene.damage('b', 'SKILL.md')
    hub.scene.orders = { ...hub.scene.orders, isDamaged: true }

    const after = await hub.without('b/x')

    expect(skillsIn(after)).toEqual(skillsIn(before))
    expect(await hub.scene.textOf('b', 'SKILL.md')).toBe(skillText('b'))
  })

  test('where that damage is found by this very pull', async () => {
    await using hub = await Hub.of(FILES)
    const before = await hub.updated()
    await hub.scene.damage('a', 'ref.md')
    await hub.hold({ ...FILES, 'a/new.md': 'new' })

    const after = await hub.without('b')

    expect(skillsIn(after).slice(1)).toEqual(skillsIn(before).slice(1))
    expect(await hub.scene.textOf('a', 'ref.md')).toBe('ref')
  })

  test('and so do the docs', async () => {
    await using hub = await Hub.of(FILES)
    const before = await hub.updated({ docs: 'docs' })
    hub.scene.orders = { ...hub.scene.orders, isDamaged: true }

    for (const place of ['docs', 'docs/deep', 'docs/deep/doc.md']) {
      const after = await hub.without(place, { docs: 'docs', exclude: ['zzz/**'] })

      expect(after.docs).toEqual(before.docs)
      expect(noted(after.docsFolder?.findings ?? [])).toEqual([`not-read ${place}`])
    }
  })
})

describe('a skill that cannot be read does not stay', () => {
  test('where what is stored of it is damaged too', async () => {
    await using hub = await Hub.of(FILES)
    await hub.updated()
    await hub.scene.damage('b', 'x')
    hub.scene.orders = { ...hub.scene.orders, isDamaged: true }

    const after = await hub.without('b/x')

    expect(noted(skillAt(after, 'b').findings)).toEqual(['path-refused b/x'])
    expect(skillAt(after, 'a').standing).toBe('served')
  })

  test.each<[string, Edited & Partial<DirectorySource>]>([
    ['leave it out', { exclude: ['b'] }],
    ['do not take it in', { include: ['a'] }],
    ['withhold it', { limits: { skill: { files: 2, bytes: 1000 } } }],
    ['are those of another folder', { url: 'file:///elsewhere' }],
  ])('where the rules of now %s', async (_, edit) => {
    await using hub = await Hub.of(FILES)
    await hub.updated()

    const after = await hub.without('b', edit)

    expect(after.skills.map(({ path }) => path)).not.toContain('b')
  })

  test('where paths are relative to another root by now', async () => {
    await using hub = await Hub.of({
      ...FILES,
      'in/b/SKILL.md': skillText('b', '', 'another'),
      'in/c/SKILL.md': skillText('c'),
    })
    await hub.updated()

    const after = await hub.without('in/b', { root: 'in' })

    expect(after.skills.map(({ path }) => path)).toEqual(['c'])
  })
})

test('a doc that cannot be read does not stay where the docs folder is another one, or where it is damaged', async () => {
  await using hub = await Hub.of({ ...FILES, 'more/other.md': 'more' })
  await hub.updated({ docs: 'docs' })

  const elsewhere = await hub.without('more/other.md', { docs: 'more' })
  expect(elsewhere.docs).toBeUndefined()

  const { docs } = await hub.updated({ docs: 'docs' })
  for (const { path, sha256 } of docs!.files) if (path.startsWith('deep/')) damageObject(hub.scene.store, sha256)
  const damaged = await hub.without('docs', { docs: 'docs', exclude: ['zzz/**'] })
  expect(damaged.docs?.files.map(({ path }) => path)).toEqual(['other.md'])
})

function skillsIn({ skills }: Snapshot) {
  return skills.map(({ path, standing, digest }) => ({ path, standing, digest }))
}

/** A folder as a source, and a store on the disk. */
class Hub implements AsyncDisposable {
  readonly scene: Scene
  readonly #temporary: Awaited<ReturnType<typeof temporaryFolder>>

  private constructor(scene: Scene, temporary: Awaited<ReturnType<typeof temporaryFolder>>) {
    this.scene = scene
    this.#temporary = temporary
  }

  static async of(files: Files): Promise<Hub> {
    const hub = new Hub(await Scene.open(), await temporaryFolder())
    await hub.hold(files)
    return hub
  }

  async hold(files: Files): Promise<void> {
    await fillFolder(this.#folder, files)
  }

  async updated(edit: Edited & Partial<DirectorySource> = {}): Promise<Snapshot> {
    return (await this.#pull(edit, (look) => look())).snapshot
  }

  /** What a pull brings while this place of the folder may not be looked into. */
  async without(place: string, edit: Edited & Partial<DirectorySource> = {}): Promise<Snapshot> {
    return (await this.#pull(edit, (look) => asNobody(join(this.#folder, place), look))).snapshot
  }

  get #folder(): string {
    return join(this.#temporary.path, 'folder')
  }

  async #pull(
    { limits, ...edit }: Edited & Partial<DirectorySource>,
    looking: Looking,
  ): Promise<Extract<Outcome, { kind: 'updated' }>> {
    const { brakes, schedule, id, ...selection } = sourceWith({})
    const of = { kind: 'directory', path: this.#folder, url: `file://${this.#folder}`, ref: undefined } as const
    const source: DirectorySource = { links: 'inside', ...selection, brakes, schedule, id, ...of, ...edit }
    const open = (_: unknown, { blobs }: Workspace): TreeUpstream =>
      new Watched(new DirectoryUpstream(source, { blobs, limits: FETCH_LIMITS }), looking)
    const { kind: _kind, path: _path, ref: _ref, ...rest } = source
    return this.scene.updated({ ...rest, ...(limits && { limits }) }, { open })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.scene[Symbol.asyncDispose]()
    await this.#temporary[Symbol.asyncDispose]()
  }
}

type Looking = <Seen>(look: () => Promise<Seen>) => Promise<Seen>

/** Looks at a folder in a way of the test's: what is stored is not looked at in that way. */
class Watched implements TreeUpstream {
  readonly kind = 'tree'
  readonly #upstream: TreeUpstream
  readonly #looking: Looking

  constructor(upstream: TreeUpstream, looking: Looking) {
    this.#upstream = upstream
    this.#looking = looking
  }

  resolve: TreeUpstream['resolve'] = (signal) => this.#looking(() => this.#upstream.resolve(signal))
  fetch: TreeUpstream['fetch'] = (revision, known, signal) => this.#upstream.fetch(revision, known, signal)
  relation: TreeUpstream['relation'] = (from, to, signal) => this.#upstream.relation(from, to, signal)
}
