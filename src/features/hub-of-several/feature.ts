import type { Feature } from '../../daemon/cli/feature.ts'
import type { ReplicasStatus } from '../../daemon/runtime/hub-replica.ts'

/** A hub of several processes, which share a PostgreSQL database. */
export const replicasFeature: Feature<{ readonly replica?: { readonly status: ReplicasStatus } | undefined }> = {
  commands: {
    'store copy': async () => (await import('./store-copy.ts')).storeCopy,
    'store migrate': async () => (await import('./store-migrate.ts')).storeMigrate,
  },
  async surfaces() {
    const { replicaFamilies } = await import('./replica-families.ts')
    return { families: ({ replica }) => replicaFamilies(replica?.status) }
  },
}
