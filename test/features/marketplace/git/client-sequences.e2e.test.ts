import fs from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as isomorphic from 'isomorphic-git'
import http from 'isomorphic-git/http/node'
import { describe, expect, test } from 'vitest'
import type { Content } from '../../../support/git/repository.ts'
import { git, Scene, skill } from '../../../support/http/marketplace.ts'
import { temporaryFolder } from '../../../support/temporary.ts'

const FILES: Readonly<Record<string, Content>> = {
  'write-letter/SKILL.md': skill('write-letter', 'first'),
  'write-poem/SKILL.md': skill('write-poem'),
  'tidy/SKILL.md': skill('tidy'),
}

/** In the versions before 2, git itself asks for no commit that it is not shown. */
const REFUSED = /not our ref|Server does not allow request for unadvertised object/

/** One skill changes, and one is withdrawn. */
const CHANGE = { 'write-letter/SKILL.md': skill('write-letter', 'second'), 'write-poem/SKILL.md': null }

/** The calls of git by which a client adds a marketplace, and updates it. Each returns the folder of its clone. */
interface ClientSequence {
  readonly client: string
  readonly add: (call: GitCall, url: string, folder: string, tip: string) => Promise<string>
  readonly update: (call: GitCall, url: string, folder: string, tip: string) => Promise<string>
}

type GitCall = (folder: string, ...args: readonly string[]) => Promise<string>

const SPARSE = ['sparse-checkout', 'set', '--cone', '--', 'plugins/writing']

const SEQUENCES: readonly ClientSequence[] = [
  {
    client: 'Claude Code, which clones anew',
    add: async (call, url, folder) => cloned(call, folder, 'old', '--depth', '1', '--no-recurse-submodules', '--', url),
    update: async (call, url, folder) =>
      cloned(call, folder, 'new', '--depth', '1', '--no-recurse-submodules', '--', url),
  },
  {
    client: 'Claude Code with a commit as its pin',
    add: async (call, url, folder, tip) => pinned(call, url, folder, 'old', tip),
    update: async (call, url, folder, tip) => pinned(call, url, folder, 'new', tip),
  },
  {
    client: 'Claude Code with some of the folders',
    add: async (call, url, folder) => sparse(call, url, folder, 'old', '--depth', '1'),
    update: async (call, url, folder) => sparse(call, url, folder, 'new', '--depth', '1'),
  },
  {
    client: 'Codex, which has its clone of before for a reference',
    add: async (call, url, folder) => cloned(call, folder, 'old', url),
    update: async (call, url, folder) =>
      cloned(call, folder, 'new', '--reference', join(folder, 'old/.git'), '--dissociate', url),
  },
  {
    client: 'Codex with some of the folders, and a filter',
    add: async (call, url, folder) => sparse(call, url, folder, 'old', '--filter=blob:none'),
    update: async (call, url, folder) => sparse(call, url, folder, 'new', '--filter=blob:none'),
  },
  {
    client: 'Copilot, which fetches into a shallow clone',
    add: async (call, url, folder) => cloned(call, folder, 'old', '--depth', '1', '--progress', url),
    async update(call, _, folder) {
      const clone = join(folder, 'old')
      await call(clone, 'fetch', '--progress', 'origin', 'HEAD')
      await call(clone, 'checkout', '--quiet', '--detach', 'FETCH_HEAD')
      return clone
    },
  },
  {
    client: 'Gemini, which fetches after each clone',
    add: async (call, url, folder) => clonedAndFetched(call, url, folder, 'old'),
    update: async (call, url, folder) => clonedAndFetched(call, url, folder, 'new'),
  },
  {
    client: 'VS Code, which pulls and then resets',
    add: async (call, url, folder) => cloned(call, folder, 'old', '--branch', 'main', '--', url),
    async update(call, _, folder) {
      const clone = join(folder, 'old')
      const refused = { code: 128, stderr: expect.stringContaining('Not possible to fast-forward') }
      await expect(call(clone, 'pull', '--ff-only')).rejects.toMatchObject(refused)
      await call(clone, 'fetch', '--prune')
      await expect(call(clone, 'pull', '--ff-only')).rejects.toMatchObject(refused)
      expect(await call(clone, 'status', '--porcelain')).toBe('')
      expect(await call(clone, 'rev-list', '--count', 'HEAD..@{u}')).toBe('1')
      expect(await call(clone, 'rev-list', '--count', '@{u}..HEAD')).toBe('1')
      await call(clone, 'reset', '--quiet', '--hard', '@{u}')
      return clone
    },
  },
]

describe.each(['0', '1', '2'])('by version %s of the protocol', (version) => {
  test.each(SEQUENCES.map((sequence) => [sequence.client, sequence] as const))(
    '%s has what is served, after a change too',
    async (_, { add, update }) => {
      await using scene = await Scene.serving(FILES)
      await using folder = await temporaryFolder()
      const call: GitCall = async (cwd, ...args) => git(['-c', `protocol.version=${version}`, ...args], cwd)

      const first = await add(call, scene.url, folder.path, await scene.tip())
      expect(await seenIn(first)).toEqual(whole(await scene.tip(), { 'write-letter': 'first', 'write-poem': 'body' }))
      await scene.commit(CHANGE)
      const second = await update(call, scene.url, folder.path, await scene.tip())

      expect(await seenIn(second)).toEqual(whole(await scene.tip(), { 'write-letter': 'second' }))
    },
  )

  test('a commit of before cannot be fetched by its id, from a clone of now or an empty one', async () => {
    await using scene = await Scene.serving(FILES)
    const before = await git(['rev-parse', 'HEAD'], await scene.clone())
    await scene.commit(CHANGE)

    for (const clone of [await scene.clone(), await scene.emptyClone()])
      await expect(git(['-c', `protocol.version=${version}`, 'fetch', scene.url, before], clone)).rejects.toThrow(
        REFUSED,
      )
  })
})

test.each([
  ['whole', {}],
  ['shallow', { depth: 1, singleBranch: true }],
])('isomorphic-git with a %s clone has what is served, after a change too', async (_, depth) => {
  await using scene = await Scene.serving(FILES)
  await using folder = await temporaryFolder()
  const at = { fs, http, dir: folder.path }

  await isomorphic.clone({ ...at, url: scene.url, ...depth })
  expect(await seenIn(folder.path)).toEqual(whole(await scene.tip(), { 'write-letter': 'first', 'write-poem': 'body' }))
  await scene.commit(CHANGE)
  const { fetchHead } = await isomorphic.fetch({ ...at, ref: 'main', ...depth })
  await isomorphic.checkout({ ...at, ref: fetchHead ?? '', force: true })

  expect(await seenIn(folder.path)).toEqual(whole(await scene.tip(), { 'write-letter': 'second' }))
})

async function cloned(call: GitCall, folder: string, name: string, ...args: readonly string[]): Promise<string> {
  await call(folder, 'clone', '--quiet', ...args, name)
  return join(folder, name)
}

async function pinned(call: GitCall, url: string, folder: string, name: string, tip: string): Promise<string> {
  const clone = await cloned(call, folder, name, '--depth', '1', '--no-checkout', '--', url)
  await call(clone, 'fetch', '--depth', '1', 'origin', tip)
  await call(clone, 'checkout', '--quiet', tip)
  return clone
}

async function sparse(call: GitCall, url: string, folder: string, name: string, how: string, ...more: string[]) {
  const clone = await cloned(call, folder, name, how, ...more, '--no-checkout', '--', url)
  await call(clone, ...SPARSE)
  await call(clone, 'checkout', '--quiet', 'HEAD')
  return clone
}

async function clonedAndFetched(call: GitCall, url: string, folder: string, name: string): Promise<string> {
  const clone = await cloned(call, folder, name, '--depth', '1', '--', url)
  await call(clone, 'fetch', 'origin', 'HEAD')
  await call(clone, 'checkout', '--quiet', 'FETCH_HEAD')
  return clone
}

/** A clone, as its folder and git have it. */
interface SeenClone {
  readonly tip: string
  readonly status: string
  readonly faults: string
  /** The bodies of the skills of the plugin. */
  readonly skills: Readonly<Record<string, string>>
}

function whole(tip: string, skills: SeenClone['skills']): SeenClone {
  return { tip, status: '', faults: '', skills }
}

async function seenIn(clone: string): Promise<SeenClone> {
  const folder = join(clone, 'plugins/writing/skills')
  const files = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith('.md')).toSorted()
  const read = async (path: string) => {
    const text = await readFile(join(folder, path), 'utf8')
    return [path.slice(0, -'/SKILL.md'.length), text.trim().split('\n').at(-1) ?? ''] as const
  }
  return {
    tip: await git(['rev-parse', 'HEAD'], clone),
    status: await git(['status', '--porcelain'], clone),
    faults: await git(['fsck', '--full', '--strict'], clone),
    skills: Object.fromEntries(await Promise.all(files.map(read))),
  }
}
