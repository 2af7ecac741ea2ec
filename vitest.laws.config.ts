import { defineConfig, mergeConfig } from 'vitest/config'
import { LANE } from './vitest.config.ts'

// The laws of which `npm test` tries a share of the random values (`lawRuns`), here with all of them.
export default mergeConfig(
  LANE,
  defineConfig({
    test: {
      include: [
        'test/features/channel/publish/channel.law.slow.test.ts',
        'test/features/usage/usage.law.slow.test.ts',
        'test/serve/view.law.test.ts',
        'test/serve/http/packs.law.slow.test.ts',
        'test/features/marketplace/histories.law.slow.test.ts',
        'test/serve/mcp/resources/derived/derived-changes.test.ts',
        'test/sync/catalog/catalog-update.slow.test.ts',
        'test/sync/catalog/changes.slow.test.ts',
        'test/sync/store/crash.slow.test.ts',
        'test/sync/store/backup/backup.slow.test.ts',
        'test/sync/store/checkouts/crash.slow.test.ts',
        'test/sync/upstream/archive/unpack.law.slow.test.ts',
        'test/sync/upstream/folder/passed-over.law.test.ts',
        'test/sync/git/second-opinion/second-opinion.slow.test.ts',
        'test/sync/survey/survey.law.slow.test.ts',
        'test/sync/pull/last-good.law.slow.test.ts',
        'test/sync/upstream/folder/folder.law.slow.test.ts',
        'test/sync/skill/authored-forms.law.slow.test.ts',
        'test/features/rings/promotion.law.test.ts',
      ],
      // A process of its own for each of hundreds of kills.
      testTimeout: 1_800_000,
      env: { LAW_RUNS: 'all' },
    },
  }),
)
