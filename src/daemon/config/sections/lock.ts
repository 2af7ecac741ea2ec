import { z } from 'zod'
import { isObjectId } from '../../../sync/model/revision.ts'
import { duration, folder, gitUrl, id, ref } from '../schema/scalars.ts'
import { SHARED, WEBHOOK } from './defaults.ts'
import { FOLLOWING, SELECTION } from './sources.ts'

const LOCK_FROM = z.strictObject({
  git: gitUrl().describe('The repository that has the lock: the addresses of `url` of a source.'),
  ref: ref().optional().describe('The branch of the merges. Default: the default branch of the repository.'),
  path: folder()
    .refine((text) => text !== '', 'must name a file')
    .default('skills.lock')
    .describe('The file in the repository. Default: skills.lock.'),
  accept: ref()
    .refine(isObjectId, 'must be the full id of a commit')
    .optional()
    .describe('A commit whose lock is taken although it does not continue the one in force: its full id.'),
  auth: SHARED.auth,
  ca: SHARED.ca,
  proxy: SHARED.proxy,
  backend: SHARED.backend,
  signed: SHARED.signed,
  webhook: WEBHOOK.optional().describe('Accept notifications of the git host at /hooks/skills-lock.'),
})

/** The lock of another repository, which is followed in place of a file of this machine. */
export const FOLLOWED_LOCK = z.strictObject({
  from: LOCK_FROM.describe('The file of a git repository that is followed as the lock.'),
  every: duration({ least: '1s', most: '365d' })
    .optional()
    .describe('The interval to check for a new commit. Default: 1m.'),
})

/** The other keys of the repository of a lock, of which no skill is read. */
export const OF_LOCK = z.object({ id: id(), ...SELECTION, ...FOLLOWING }).parse({ id: 'skills-lock' })
