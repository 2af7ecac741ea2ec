import type { Outcome } from '../model/outcome.ts'
import type { Revision } from '../model/revision.ts'
import type { OpenPull, ResolvedPull } from './pull-context.ts'

/**
 * Finds the revision that a source should have: the target of its ref. If the operator froze the source at a commit
 * that is not served yet, it is that commit, without a request to upstream.
 */
export async function resolveRevision(pull: OpenPull): Promise<ResolvedPull> {
  const { source, current, orders, io, upstream, signal } = pull
  // Whatever the ref says, it is to be fetched.
  if (current === undefined && source.kind === 'git') io.onFetchExpected?.()
  const { frozen } = orders.decision
  if (frozen !== undefined && current?.snapshot.revision.commit !== frozen.commit)
    return { ...pull, revision: { asked: source.ref, ref: frozen.commit, commit: frozen.commit }, isSeen: false }
  return { ...pull, revision: await upstream.resolve(signal), isSeen: true }
}

/** Adds the target of the ref, which upstream reported, whatever revision was taken. */
export function withSeen(outcome: Outcome, seen: Revision): Outcome {
  return outcome.kind === 'updated' ? { ...outcome, seen } : outcome
}
