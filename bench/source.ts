import { inspect } from 'node:util'
import type { Programs } from '../src/sync/git/objects/git-host.ts'
import type { ObjectId } from '../src/sync/model/revision.ts'
import type { GitSource, Source } from '../src/sync/model/source.ts'
import type { Tree } from '../src/sync/model/tree.ts'
import type { Workspace } from '../src/sync/store/objects/blob-store.ts'
import type { TreeUpstream } from '../src/sync/upstream/upstream.ts'
import { NO_PROGRAMS } from '../test/support/process/no-programs.ts'
import './run-the-build.ts'

const { configOfSources } = await import('../src/daemon/configuration.ts')
const { Publisher } = await import('../src/sync/pull/publisher.ts')
const { pullSource } = await import('../src/sync/pull/pull.ts')
const { inParallel } = await import('../src/base/async/parallel.ts')
const { Store } = await import('../src/sync/store/store.ts')
const { storedSkill } = await import('../src/sync/store/skills/stored-path.ts')
const { temporaryWorkspace } = await import('../src/sync/store/objects/temporary-blobs.ts')
const { FetchThreads } = await import('../src/sync/git/fetch-threads.ts')
const { openTreeUpstream } = await import('../src/sync/pull/open-upstream.ts')
const { NOTHING_KNOWN } = await import('../src/sync/upstream/upstream.ts')
const { PLAIN_WAY } = await import('../src/sync/upstream/http/host-access.ts')

/** Sources with a store of their own, as the daemon works with them, but for the daemon. Four at once. */
export interface OpenSources {
  /** Pulls all, or the one at this address, and publishes what is new of each. Returns how many had something new. */
  pull(url?: string): Promise<number>
  /** What a pull that finds nothing new asks the other side. */
  resolve(): Promise<void>
  /** How many skills are served. */
  readonly skills: number
  /** Reads every file of what is served, as it is read for a client. Returns how many those are. */
  read(): Promise<number>
  /** Brings every file of every commit into a workspace of its own, whatever it belongs to, and drops them again. */
  bring(): Promise<void>
}

/** How sources are to be reached, besides their addresses. */
export interface Reached {
  readonly programs?: Programs
  /** What their configuration says besides. */
  readonly settings?: Partial<GitSource> | undefined
}

export async function openSources(urls: readonly string[], state: string, reached: Reached = {}): Promise<OpenSources> {
  const { sources: configured, limits: set } = configOfSources({ urls })
  // A repository of 10,000 skills has a few entries more than are let in where nobody sets anything.
  const limits = { ...set, fetch: { ...set.fetch, files: 1_000_000 } }
  const sources = configured.flatMap(({ source }) =>
    source.kind === 'git' ? [{ ...source, ...reached.settings }] : [],
  )
  const ids = sources.map(({ id }) => id)
  const store = await Store.open(state)
  const { publisher } = await Publisher.open(store, ids, { admits: async () => true, reviewed: new Set() })
  const way = async (): Promise<typeof PLAIN_WAY> => PLAIN_WAY
  const programs = reached.programs ?? NO_PROGRAMS
  const threads = new FetchThreads()
  const open = (source: Source, workspace: Workspace) => {
    if (source.kind !== 'git') throw new Error(`"${source.id}" is no repository`)
    return openTreeUpstream(source, { ...reach(workspace), threads })
  }
  const io = { store, open, limits, onFetchExpected: () => threads.prepare() }
  const { signal } = new AbortController()
  const reach = ({ scratch, blobs }: Workspace) => ({ scratch, blobs, limits: limits.fetch, way, programs })
  return {
    async pull(url) {
      let updated = 0
      const wanted = url === undefined ? sources : sources.filter((source) => source.url === url)
      const pullOne = async (source: GitSource): Promise<void> => {
        const current = publisher.currentOf(source.id)
        const outcome = await pullSource({ source, current, orders: ORDERS, io, signal })
        if (outcome.kind === 'unchanged') return
        if (outcome.kind !== 'updated') throw new Error(`The pull of "${source.url}" ended so: ${inspect(outcome)}`)
        const { held, snapshot } = outcome
        const cause = { action: 'update', trigger: 'command', source: source.id } as const
        await publisher.publish(new Map([[source.id, { held, snapshot }]]), cause, new Date(), { signal })
        updated += 1
      }
      await inParallel(wanted, AT_ONCE, pullOne, signal)
      return updated
    },
    async resolve() {
      await using workspace = await store.workspace()
      const resolveOne = async (source: GitSource): Promise<void> =>
        void (await openTreeUpstream(source, reach(workspace)).resolve(signal))
      await inParallel(sources, AT_ONCE, resolveOne, signal)
    },
    get skills() {
      return publisher.catalog.skills.size
    },
    async read() {
      const files = [...publisher.catalog.files.values()]
      await inParallel(
        files,
        AT_ONCE,
        async ({ skill, file }) => void (await store.skills.read(storedSkill(skill), file)),
        signal,
      )
      return files.length
    },
    async bring() {
      const bringOne = async (source: GitSource): Promise<void> => {
        await using workspace = await temporaryWorkspace()
        await bringAll(openTreeUpstream(source, reach(workspace)), signal)
      }
      await inParallel(sources, AT_ONCE, bringOne, signal)
    },
  }
}

/** How many are worked on at once: of ours and of git's alike, as many as the daemon fetches. */
const AT_ONCE = 4

/** Does something with each of them, as many at once. */
export async function eachOf<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  await inParallel(items, AT_ONCE, work, new AbortController().signal)
}

/** One source with a store of its own. */
export interface OpenSource {
  /** Pulls what the store does not have, and publishes it. Returns how many skills are served then. */
  firstSync(): Promise<number>
  /** A pull that finds nothing new. */
  pullUnchanged(): Promise<void>
  /** What such a pull asks the other side. */
  resolve(): Promise<void>
}

export async function openSource(url: string, state: string, reached: Reached = {}): Promise<OpenSource> {
  const sources = await openSources([url], state, reached)
  return {
    async firstSync() {
      if ((await sources.pull()) !== 1) throw new Error('The first sync found nothing')
      return sources.skills
    },
    async pullUnchanged() {
      if ((await sources.pull()) !== 0) throw new Error('The poll found something new')
    },
    resolve: () => sources.resolve(),
  }
}

async function bringAll(upstream: TreeUpstream, signal: AbortSignal): Promise<void> {
  await using tree = await upstream.fetch(await upstream.resolve(signal), NOTHING_KNOWN, signal)
  const taken = await tree.take(blobsIn(tree, tree.root), signal)
  const missing = [...taken.values()].filter(({ kind }) => kind !== 'blob').length
  if (missing > 0) throw new Error(`${missing} files were not brought`)
}

function blobsIn(tree: Tree, id: ObjectId): ObjectId[] {
  return tree.list(id).flatMap((entry) => (entry.kind === 'folder' ? blobsIn(tree, entry.id) : [entry.id]))
}

/** Nobody decided anything, and nothing is locked. */
const ORDERS = { decision: {}, offline: false }
