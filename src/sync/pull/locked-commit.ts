import { docsChange, isLocked, skillChanges, skillsToLock } from '../model/decisions/lock.ts'
import type { Snapshot } from '../model/snapshot.ts'
import { SyncError } from '../model/sync-error.ts'
import type { Workspace } from '../store/objects/blob-store.ts'
import { fetchSnapshot } from './fetch-snapshot.ts'
import { VersionLost } from './last-good-versions.ts'
import type { LockedPull, OpenPull } from './pull-context.ts'
import { rebuildCommit } from './rebuild-commit.ts'

/** A locked pull with its upstream open, and with the place for rebuilt files. */
type OpenLockedPull = LockedPull & OpenPull & Pick<Workspace, 'blobs'>

/** Takes the locked commit from upstream, or from the fallback if upstream no longer has it. */
export async function fetchLocked(pull: OpenLockedPull): Promise<Snapshot> {
  const snapshot = await snapshotOfLocked(pull)
  expectLocked(pull, snapshot)
  return snapshot
}

async function snapshotOfLocked(pull: OpenLockedPull): Promise<Snapshot> {
  const { io, entry } = pull
  const { revision } = entry
  try {
    return await fetchSnapshot({ ...pull, revision })
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    if (error.code === 'repository-not-found' && io.fallback !== undefined) return fromFallback(pull, error)
    if (error.code !== 'ref-not-found') throw error
    if (error instanceof VersionLost) {
      if (io.fallback === undefined) throw error
      return fromFallback(pull)
    }
    // The tag may have been created anew and the old one collected, while the commit still exists.
    const { tag, ...bare } = revision
    if (tag === undefined || io.prove !== undefined) return fromFallback(pull)
    return { ...(await snapshotOfLocked({ ...pull, entry: { ...entry, revision: bare } })), revision }
  }
}

/** `missing`: the whole repository is missing, and not only its commit. */
async function fromFallback(pull: OpenLockedPull, missing?: SyncError): Promise<Snapshot> {
  const gone = 'upstream no longer has it'
  const { fallback } = pull.io
  if (fallback === undefined) throw notHere(pull, gone)
  const found = await rebuildCommit(pull, { fallback, blobs: pull.blobs })
  if (!('why' in found)) return found
  if (missing === undefined) throw notHere(pull, `${gone}, and ${found.why}`)
  throw new SyncError(missing.code, `${missing.message}, and ${found.why}`, { cause: missing })
}

function notHere({ source: { id }, entry }: LockedPull, why: string): SyncError {
  const tries = `restore the state folder of a machine that has it, or move the lock with skillsyncd update ${id}`
  return new SyncError(
    'ref-not-found',
    `Cannot fetch commit ${entry.revision.commit} of "${id}", which is locked: ${why}; ${tries}`,
  )
}

/**
 * Throws unless the snapshot has what is locked. The commit is the locked one, and so are its bytes: other skills are
 * caused by other rules, or by an edited lock.
 */
function expectLocked({ source, entry }: LockedPull, snapshot: Snapshot): void {
  if (isLocked(entry, snapshot)) return
  const changes = skillChanges(entry.skills, skillsToLock(snapshot))
  const some = changes.slice(0, 5).map(({ path, change }) => `"${path}" ${WORDS[change]}`)
  const more = changes.length > some.length ? ` and ${changes.length - some.length} more` : ''
  const docs = docsChange(entry.docs, snapshot.docs?.digest)
  const wrong = docs === undefined ? some : [...some, `the docs folder ${WORDS[docs]}`]
  const message = `Cannot serve "${source.id}": commit ${entry.revision.commit} does not have what is locked: ${wrong.join(', ')}${more}`
  throw new SyncError('lock-mismatch', message)
}

const WORDS = {
  added: 'is not in the lock',
  removed: 'is in the lock and not to be served',
  changed: 'has another digest or name',
} as const
