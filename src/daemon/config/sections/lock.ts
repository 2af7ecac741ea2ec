import { join } from 'node:path'
import { z } from 'zod'
import { isObjectId } from '../../../sync/model/revision.ts'
import type { Schedule } from '../../../sync/model/source.ts'
import { followedLockFile } from '../../../sync/store/followed-lock.ts'
import type { Config, LockOrigin } from '../config.ts'
import { folder, gitUrl, later, path, ref, times } from '../schema/scalars.ts'
import { SHARED, WEBHOOK } from './defaults.ts'
import { unreadRepository } from './sources.ts'
import type { Settling } from './sources.ts'

const LOCK_FROM = later(() =>
  z
    .strictObject({
      git: gitUrl().describe('The repository with the lock; an address as `url` of a source.'),
      ref: ref().optional().describe('The branch of the merges. Default: the default branch.'),
      path: folder()
        .refine((text) => text !== '', 'must name a file')
        .default('skills.lock')
        .describe('The file in the repository. Default: skills.lock.'),
      accept: ref()
        .refine(isObjectId, 'must be the full id of a commit')
        .optional()
        .describe('The full id of a commit that is taken although it does not continue the one in force.'),
      auth: SHARED.auth,
      ca: SHARED.ca,
      proxy: SHARED.proxy,
      backend: SHARED.backend,
      signed: SHARED.signed,
      webhook: WEBHOOK.optional().describe(
        'Reads it at once when the git host sends a notification to /hooks/skills-lock.',
      ),
    })
    .describe('The file of a git repository that is followed as the lock.'),
)

/** The lock: a file of this machine, or that of a repository. */
export const LOCK = z
  .union(
    [
      path(),
      z.strictObject({
        from: LOCK_FROM,
        every: times({ least: '1s', most: '365d' })
          .optional()
          .describe('The time between two polls, or their times as a cron expression. Default: 1m.'),
      }),
    ],
    { error: 'must be a path, ignore, or { from: { git: … }, every: … }' },
  )
  .optional()
  .describe(
    'The path of the lock file, which is followed if it exists; or the repository whose file is followed; or ignore: only sources with update: locked follow skills.lock. Default: skills.lock beside this file.',
  )

/** The lock, with the sources that follow it. A keyword instead of a path means the usual path. */
export function lockOf(
  entry: z.output<typeof LOCK> = 'follow',
  { state, beside, ...settling }: Settling & { readonly state: string; readonly beside: string },
): Pick<Config, 'lock' | 'lockFrom' | 'lockUse'> {
  if (typeof entry === 'object')
    return { lock: followedLockFile(state), lockFrom: lockOriginOf(entry, settling), lockUse: 'follow' }
  const isNamed = entry !== 'follow' && entry !== 'ignore'
  return {
    lock: isNamed ? settling.absolute(entry) : join(beside, 'skills.lock'),
    lockFrom: undefined,
    lockUse: entry === 'ignore' ? 'ignore' : 'follow',
  }
}

function lockOriginOf(
  { from, every = EACH_MINUTE }: Extract<z.output<typeof LOCK>, object>,
  settling: Settling,
): LockOrigin {
  const { git: url, path, accept: accepted, ...rest } = from
  return {
    repository: unreadRepository(LOCK_ID, { ...rest, url, every }, settling),
    path,
    accepted,
  }
}

/** The default, since a person waits for what was merged. */
const EACH_MINUTE: Schedule = { kind: 'every', periodMs: 60_000 }

/** Webhooks, the log and `doctor` name the repository of the lock as a source. */
const LOCK_ID = 'skills-lock'
