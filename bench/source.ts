import { NO_PROGRAMS } from '../test/support/no-programs.ts'
import './run-the-build.ts'

const { configOfSources } = await import('../src/daemon/config/adhoc.ts')
const { Publisher } = await import('../src/sync/publisher.ts')
const { pull } = await import('../src/sync/pull.ts')
const { Store } = await import('../src/sync/store/store.ts')
const { openUpstream } = await import('../src/sync/upstream/open.ts')
const { PLAIN_WAY } = await import('../src/sync/upstream/way.ts')

/** One source with a store of its own, as the daemon works with them, but for the daemon. */
export interface OpenSource {
  /** Pulls what the store does not have, and publishes it. Returns how many skills are served then. */
  firstSync(): Promise<number>
  /** A pull that finds nothing new. */
  pullUnchanged(): Promise<void>
  /** What such a pull asks the other side. */
  resolve(): Promise<void>
}

export async function openSource(url: string, state: string): Promise<OpenSource> {
  const { sources, limits } = configOfSources([url])
  const [configured] = sources
  if (configured === undefined) throw new TypeError('There is no source')
  const { source } = configured
  const store = await Store.open(state)
  const { publisher } = await Publisher.open(store, [source.id], { admits: async () => true, reviewed: new Set() })
  const way = async (): Promise<typeof PLAIN_WAY> => PLAIN_WAY
  const io = { store, open: openUpstream, limits, way, programs: NO_PROGRAMS }
  const { signal } = new AbortController()
  return {
    async firstSync() {
      const outcome = await pull(source, undefined, ORDERS, io, signal)
      if (outcome.kind !== 'updated') throw new Error(`The first sync ended with "${outcome.kind}"`)
      const { held, snapshot } = outcome
      const cause = { action: 'update', trigger: 'command', source: source.id } as const
      return (await publisher.publish(new Map([[source.id, { held, snapshot }]]), cause, new Date(), signal)).skills
        .size
    },
    async pullUnchanged() {
      const { kind } = await pull(source, publisher.currentOf(source.id), ORDERS, io, signal)
      if (kind !== 'unchanged') throw new Error(`The poll ended with "${kind}"`)
    },
    async resolve() {
      const reach = { scratch: state, limits: limits.fetch, way, programs: NO_PROGRAMS }
      await openUpstream(source, reach).resolve(signal)
    },
  }
}

/** Nobody decided anything, and nothing is locked. */
const ORDERS = { decision: {}, offline: false }
