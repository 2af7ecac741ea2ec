import type { HoldReason, Outcome } from '../../sync/model/outcome.ts'
import type { Source } from '../../sync/model/source.ts'
import { plainProblemOf, type Problem, SyncError } from '../../sync/model/sync-error.ts'
import type { OpenUpstream, Reach } from '../../sync/pull/open-upstream.ts'
import type { PullContext } from '../../sync/pull/pull-context.ts'
import type { DocumentReader } from '../../sync/skill/document-reader.ts'
import type { Workspace } from '../../sync/store/objects/blob-store.ts'
import type { Keyring } from '../access/keyring.ts'
import { sshAccessOf } from '../config/auth.ts'
import { ownFolders } from '../config/config.ts'
import type { ConfiguredSource } from '../config/config.ts'
import type { DaemonCore } from '../runtime/context.ts'
import type { Redactor } from '../runtime/log/redactor.ts'
import { proverOf } from './trust/signature-policy.ts'

/** The dependencies for reaching sources. */
export interface ReachingParts extends DaemonCore {
  readonly reader: DocumentReader
  /** The gate of the operator; `undefined` if there is none. */
  readonly gate: PullContext['gate'] | undefined
  readonly open: OpenUpstream
  /** The makers of snapshots for the kinds of sources that have no trees. */
  readonly snapshots: Readonly<Partial<Record<Source['kind'], PullContext['snapshotOf']>>>
}

/** Creates the context of one pull of this source. */
export function newPullContext(
  configured: ConfiguredSource,
  parts: ReachingParts,
  keyring: Keyring,
  extra: Partial<Omit<Reach, keyof Workspace>> = {},
): PullContext {
  const { config, store, clock, environment, redactor, reader, snapshots, gate } = parts
  const prove = proverOf(configured, () => clock.now())
  const { git, ssh } = config.programs
  const access = sshAccessOf(configured.access, environment, redactor)
  const programs = { git, ssh, path: environment.path, access }
  const reach = { limits: config.limits.fetch, way: keyring.wayTo(configured), programs, ...extra }
  const open = openerOf(reach, parts)
  const wait: PullContext['wait'] = (ms, signal) => clock.wait(ms, signal)
  const snapshotOf = snapshots[configured.source.kind]
  const given = { ...(snapshotOf && { snapshotOf }), ...(gate && { gate }), ...(prove && { prove }) }
  return { store, open, limits: config.limits, reader, wait, ...given }
}

/** Opens any source. What this program keeps for itself is part of no folder. */
function openerOf(
  reach: Omit<Reach, keyof Workspace>,
  { config, environment, open }: ReachingParts,
): PullContext['open'] {
  const apart = ownFolders(config, environment)
  return (source, { scratch, blobs }) => open(source, { ...reach, scratch, blobs, apart })
}

/**
 * Removes secrets from an outcome: a server can quote in its error what it was sent. No secret may reach a file or a
 * client.
 */
export function cleanOutcome(outcome: Outcome, redactor: Redactor): Outcome {
  switch (outcome.kind) {
    case 'failed':
      return { ...outcome, error: cleanError(outcome.error, redactor) }
    case 'waiting':
      return { ...outcome, reason: cleanProblem(outcome.reason, redactor) }
    case 'unchanged':
    case 'updated': {
      const { drift } = outcome
      return drift ? { ...outcome, drift: { ...drift, error: cleanProblem(drift.error, redactor) } } : outcome
    }
    default:
      return outcome satisfies never
  }
}

/** The problem without secrets: its message and its fix may quote what the other side sent. */
export function cleanProblem(problem: Problem, redactor: Redactor): HoldReason {
  const [message, fix] = [redactor.clean(problem.message), problem.fix && redactor.clean(problem.fix)]
  return plainProblemOf({ code: problem.code, message, fix, place: problem.place })
}

export function cleanError(error: SyncError, redactor: Redactor): SyncError {
  const { code, message, ...remedy } = cleanProblem(error, redactor)
  return new SyncError(code, message, { cause: error.cause, retryAfterMs: error.retryAfterMs, ...remedy })
}
