import { choicesDigestOf, packDigestOf, packMismatches } from '../../../sync/catalog/pack.ts'
import { docsChange } from '../../../sync/model/changes/skill-changes.ts'
import { isLocked, mismatchesOf, lockDifferences, skillsToLock } from '../../../sync/model/decisions/lock.ts'
import type { Lock, LockEntry, Mismatch } from '../../../sync/model/decisions/lock.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { mendOf, SyncError } from '../../../sync/model/sync-error.ts'
import { readLock } from '../../../sync/store/lock-file.ts'
import { recordAt } from '../../../sync/store/source-records.ts'
import { verdicts } from '../../cli/check.ts'
import type { CheckResult } from '../../cli/check.ts'
import type { Config } from '../../config/config.ts'
import { expectProof } from '../../pull/trust/lock-proof.ts'
import { followedBy, followsLock, lockStateOf, lostLock, mismatchText } from '../../pull/trust/lock-rules.ts'
import { placeIn } from './verify-context.ts'
import type { Verifying } from './verify-context.ts'

/** Checks that the lock can be read, fits the configuration, and matches the served content. */
export async function* lockAgrees(verifying: Verifying): AsyncGenerator<CheckResult> {
  const { config } = verifying
  try {
    const lock = config.lock === undefined ? undefined : await readLock(config.lock)
    yield* lost(lock, verifying)
    if (lock === undefined) yield* missing(config)
    else {
      yield* compareEntries(lock, verifying)
      yield* proofsAgree(lock, config)
    }
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    yield verdicts('lock-unreadable').fail(error.message, error.fix)
  }
}

/** Checks the proofs beside the lock: each must be of the locked entry of its source. */
async function* proofsAgree(lock: Lock, { lock: file, sources }: Config): AsyncGenerator<CheckResult> {
  for (const { source } of sources) {
    const entry = lock.sources.get(source.id)
    if (file === undefined || entry === undefined) continue
    try {
      await expectProof(file, source, entry.revision.commit)
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      yield verdicts('lock-mismatch', source.id).fail(error.message, mendOf(error, { source: source.id }))
    }
  }
}

/** Checks that the lock still has each source that followed it. */
async function* lost(read: Lock | undefined, { config, store }: Verifying): AsyncGenerator<CheckResult> {
  for (const { source } of config.sources) {
    const record = recordAt(await store?.records.read(source.id), source)
    const { state, by, commit } = lockStateOf(read, config, source, store?.decisions.known.get(source.id), record)
    if (state !== 'lost' || by !== undefined || commit === undefined) continue
    const { message, fix } = lostLock(read, config, source, commit)
    yield verdicts('lock-mismatch', source.id).fail(message, fix)
  }
}

function* missing(config: Config): Generator<CheckResult> {
  for (const { source } of config.sources) {
    if (followedBy(config, source) !== undefined)
      yield verdicts('lock-missing', source.id).fail('follows the lock, and there is none')
  }
}

function* compareEntries(lock: Lock, verifying: Verifying): Generator<CheckResult> {
  const { config, snapshots, store } = verifying
  const decisions = store?.decisions.known
  const sources = config.sources.map(({ source }) => source)
  for (const mismatch of mismatchesOf(lock, sources)) yield mismatchDiagnostic(mismatch, lock, config)
  for (const source of sources) {
    const entry = lock.sources.get(source.id)
    if (entry === undefined) continue
    const snapshot = snapshots.find((candidate) => candidate.source === source.id)
    const isHeeded = followsLock(config, source, decisions?.get(source.id))
    if (!isHeeded) yield verdicts('lock-not-followed', source.id).warn(unheededText(config))
    const verdict = isHeeded ? 'fail' : 'warn'
    if (snapshot === undefined)
      yield verdicts('lock-not-served', source.id)[verdict]('is in the lock, and nothing of it is served')
    else if (!isLocked(entry, snapshot)) yield* differences(entry, snapshot, verdict)
  }
  yield* packsCompared(lock, verifying)
}

function unheededText({ lockUse }: Config): string {
  if (lockUse === 'ignore') return 'is in the lock, which is not followed (lock: ignore)'
  return 'is in the lock, which is not followed while the source is held'
}

/**
 * Compares the packs' choices and skills with the lock. While a source can move, the skills of a pack can change too.
 */
function* packsCompared(lock: Lock, { config, snapshots }: Verifying): Generator<CheckResult> {
  const verdict = config.mode.locked ? 'fail' : 'warn'
  for (const mismatch of packMismatches(lock.packs, config.packs))
    yield verdicts('lock-mismatch')[verdict](mismatchText(mismatch))
  const areLocked = config.sources.every(({ source }) => followedBy(config, source) !== undefined)
  for (const pack of config.packs) {
    const locked = lock.packs.get(pack.id)
    if (locked === undefined || locked.choices !== choicesDigestOf([pack])) continue
    if (locked.digest !== packDigestOf(pack, snapshots))
      yield verdicts('lock-differs', `pack ${pack.id}`)[areLocked ? 'fail' : 'warn'](
        'holds other skills than the locked ones',
      )
  }
}

/** A lock that is not followed can be incomplete; an entry that contradicts the configuration is always wrong. */
function mismatchDiagnostic(mismatch: Mismatch, lock: Lock, config: Config): CheckResult {
  const configured = config.sources.find(({ source }) => source.id === mismatch.source)
  const follows = configured === undefined ? config.mode.locked : followedBy(config, configured.source) !== undefined
  const isThere = configured !== undefined && lock.sources.has(configured.source.id)
  return verdicts('lock-mismatch', mismatch.source)[follows || isThere ? 'fail' : 'warn'](mismatchText(mismatch))
}

function* differences(entry: LockEntry, snapshot: Snapshot, verdict: 'fail' | 'warn'): Generator<CheckResult> {
  const { source, revision } = snapshot
  const told = verdicts('lock-differs', source)[verdict]
  if (snapshot.url !== entry.url) yield told(`is served from ${snapshot.url}, locked is ${entry.url}`)
  if (revision.commit !== entry.revision.commit)
    yield told(`is served at ${revision.commit}, locked is ${entry.revision.commit}`)
  for (const { path, difference } of lockDifferences(entry.skills, skillsToLock(snapshot)))
    yield verdicts('lock-differs', placeIn(source, path))[verdict](WORDS[difference])
  const docs = docsChange(entry.docs, snapshot.docs?.digest)
  if (docs !== undefined) yield told(`the docs folder ${WORDS[docs]}`)
}

const WORDS = {
  added: 'is served and not in the lock',
  removed: 'is in the lock and not served',
  changed: 'is served with another digest or name than the locked one',
} as const
