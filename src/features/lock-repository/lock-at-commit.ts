import type { Revision } from '../../sync/model/revision.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { Tree, TreeEntry } from '../../sync/model/tree.ts'
import type { PullContext } from '../../sync/pull/pull-context.ts'
import { utf8 } from '../../sync/skill/frontmatter.ts'
import { readLockText } from '../../sync/store/lock-text.ts'
import type { TreeUpstream } from '../../sync/upstream/upstream.ts'

/** The place of a lock in a repository, and the check of the signatures that it needs. */
export interface LockPlace {
  readonly upstream: TreeUpstream
  readonly revision: Revision
  /** The path of the file from the root of the repository. */
  readonly path: string
  readonly prove: PullContext['prove']
}

/**
 * Fetches the text of the lock in a commit: signed as required, and readable as a lock. Nothing else of the repository
 * is fetched but its trees.
 */
export async function lockTextAt({ upstream, revision, path, prove }: LockPlace, signal: AbortSignal): Promise<string> {
  await using tree = await upstream.fetch(revision, { byPath: new Map(), within: [path] }, signal)
  await prove?.(tree.proof, tree.revision, 'first')
  const entry = entryAt(tree, path)
  const place = `"${path}" in commit ${revision.commit}`
  if (entry === undefined) throw new SyncError('lock-mismatch', `Cannot follow the lock: there is no ${place}`)
  if (entry.kind !== 'file' && entry.kind !== 'executable')
    throw new SyncError('lock-mismatch', `Cannot follow the lock: ${place} is not a plain file`)
  const blob = (await tree.take([entry.id], signal)).get(entry.id)
  if (blob?.kind === 'refused' && blob.reason === 'too-large')
    throw new SyncError('limit-exceeded', `Cannot follow the lock: ${place} is over limits.skill.bytes`, {
      place: 'limits.skill.bytes',
    })
  if (blob?.kind !== 'blob')
    throw new SyncError('source-unreachable', `Cannot follow the lock: the repository did not send ${place}`)
  const text = utf8(tree.bytesOf(blob))
  if (text === undefined) throw new SyncError('lock-mismatch', `Cannot follow the lock: ${place} is not valid UTF-8`)
  readLockText(text, `${path} in commit ${revision.commit}`)
  return text
}

function entryAt(tree: Tree, path: string): TreeEntry | undefined {
  const names = path.split('/')
  let folder = tree.root
  let found: TreeEntry | undefined
  for (const name of names) {
    if (found !== undefined) {
      if (found.kind !== 'folder') return undefined
      folder = found.id
    }
    found = tree.list(folder).find((entry) => entry.name === name)
    if (found === undefined) return undefined
  }
  return found
}
