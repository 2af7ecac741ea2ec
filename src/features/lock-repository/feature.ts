import type { Feature } from '../../daemon/cli/feature.ts'
import type { FollowedLock } from '../../sync/store/followed-lock.ts'

interface Measured {
  readonly config: { readonly lockFrom?: unknown }
  readonly followedLock: { readonly known: FollowedLock }
}

/** The lock of a repository, which a daemon follows. */
export const lockRepositoryFeature: Feature<Measured> = {
  surfaces: async () => ({
    families: ({ config, followedLock: { known } }) => [
      {
        name: 'skillsyncd_lock_current',
        kind: 'gauge',
        help: '1 if the newest lock of its repository was in force when that was last read, else 0.',
        samples: config.lockFrom === undefined ? [] : [{ value: Number(isCurrent(known)) }],
      },
    ],
  }),
}

function isCurrent({ taken, problem }: FollowedLock): boolean {
  return taken !== undefined && problem === undefined
}
