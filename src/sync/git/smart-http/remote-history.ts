import type { ObjectId } from '../../model/revision.ts'
import { SyncError } from '../../model/sync-error.ts'
import { parentsOf } from '../../upstream/objects/git-object.ts'
import type { Relation } from '../../upstream/upstream.ts'
import { HISTORY_LIMITS, relationIn, type Parents } from '../objects/ancestry.ts'
import type { ObjectSink, PackLimits, PackReader } from '../objects/pack-reader.ts'
import type { ByteBudget } from './git-http.ts'
import { ServerRefusedError } from './pkt-line.ts'
import type { PackRequest } from './protocol.ts'

/** Limits for requests of packs. */
export interface Allowance {
  readonly bytes: ByteBudget
  readonly pack: PackLimits
}

type FetchPack = (wanted: PackRequest, found: ObjectSink, allowance: Allowance) => Promise<PackReader>

/**
 * Returns the relation of two commits of a repository over http(s), from packs of commits; a server without filters
 * sends their contents too, within the same limits. The server leaves out the history of `from`, so without a rewrite
 * the first pack has exactly the commits in between.
 */
export async function askRelation(from: ObjectId, to: ObjectId, fetch: FetchPack): Promise<Relation> {
  const { bytes, commits, commitBytes } = HISTORY_LIMITS
  const allowance = {
    bytes: { limit: `${bytes} bytes of commits`, left: bytes },
    pack: { objects: commits, objectBytes: commitBytes },
  }
  const history = new History()
  let filter: Pick<PackRequest, 'filter'> = { filter: 'tree:0' }
  const learn = async (wanted: PackRequest): Promise<Relation> => {
    try {
      using _ = await fetch({ ...wanted, ...filter }, history.found, allowance)
    } catch (cause) {
      // A server can refuse this filter alone, or may have had filters when its capabilities were remembered.
      if (!(cause instanceof ServerRefusedError && cause.said.includes('filter')) || filter.filter === undefined)
        throw cause
      filter = {}
      return learn(wanted)
    }
    return relationIn(history.parents, from, to)
  }
  for (const depth of DEPTHS) {
    const relation = await learn({ ids: [to], have: from, depth })
    if (relation !== 'unknown') return relation
    // Only the server claims that `from` contains what it left out. The commits behind `from` prove it, if they still
    // exist.
    const proven = await learn({ ids: [from], depth }).catch(unlessRefused)
    if (proven !== 'unknown') return proven
  }
  return 'unknown'
}

/** A branch usually moves by few commits, and a server takes long to compute a large depth. */
const DEPTHS = [64, HISTORY_LIMITS.depth]

/** The commits of several packs. */
class History {
  readonly #parents = new Map<ObjectId, readonly ObjectId[]>()
  #named = 0

  get parents(): Parents {
    return this.#parents
  }

  readonly found: ObjectSink = (id, { type, bytes }) => {
    if (type !== 'commit' || this.#parents.has(id)) return
    const parents = parentsOf(bytes)
    this.#named += parents.length
    if (this.#named > HISTORY_LIMITS.parents) {
      throw new SyncError('limit-exceeded', `Cannot read the history: over ${HISTORY_LIMITS.parents} parents`)
    }
    this.#parents.set(id, parents)
  }
}

function unlessRefused(cause: unknown): 'unknown' {
  if (cause instanceof ServerRefusedError) return 'unknown'
  throw cause
}
