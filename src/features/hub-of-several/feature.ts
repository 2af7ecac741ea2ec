import type { Feature } from '../../daemon/cli/feature.ts'
import type { ReplicasStatus } from '../../daemon/runtime/hub-replica.ts'
import type { PullParts } from './pull-for-member.ts'

interface Measured {
  readonly replica?: { readonly status: ReplicasStatus } | undefined
}

/** A hub of several processes, which share a PostgreSQL database. */
export const replicasFeature: Feature<PullParts & Measured> = {
  commands: {
    'store copy': async () => (await import('./store-copy.ts')).storeCopy,
    'store migrate': async () => (await import('./store-migrate.ts')).storeMigrate,
  },
  checks: async () => ({ ofNetwork: (await import('./database-checks.ts')).databaseChecks }),
  status: async () => ({ lines: (await import('./replica-lines.ts')).replicaLines }),
  items: async () => (await import('./replica-lines.ts')).replicaItems,
  requests: async () => [(await import('./pull-for-member.ts')).pullRequest],
  async surfaces() {
    const { replicaFamilies } = await import('./replica-families.ts')
    return { families: ({ replica }) => replicaFamilies(replica?.status) }
  },
}
