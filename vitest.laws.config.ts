import { defineConfig, mergeConfig } from 'vitest/config'
import base from './vitest.config.ts'

// The laws of which `npm test` tries a share of the random values (`lawRuns`), here with all of them.
export default mergeConfig(
  { ...base, test: { ...base.test, include: [] } },
  defineConfig({
    test: {
      include: [
        'test/features/channel/publish/channel.law{,.slow}.test.ts',
        'test/features/usage/usage.law{,.slow}.test.ts',
        'test/serve/http/packs.law{,.slow}.test.ts',
        'test/features/marketplace/histories.law{,.slow}.test.ts',
        'test/serve/mcp/resources/derived/derived-changes{,.slow}.test.ts',
        'test/sync/catalog/{catalog-update,changes}{,.slow}.test.ts',
        'test/sync/store/{crash,migration/migrate-state,backup/backup,checkouts/crash}{,.slow}.test.ts',
        'test/sync/upstream/archive/unpack.law{,.slow}.test.ts',
        'test/sync/upstream/folder/passed-over.law{,.slow}.test.ts',
        'test/sync/git/second-opinion/second-opinion{,.slow}.test.ts',
        'test/sync/survey/survey.law{,.slow}.test.ts',
        'test/sync/pull/last-good.law{,.slow}.test.ts',
        'test/sync/upstream/folder/folder.law{,.slow}.test.ts',
        'test/sync/skill/authored-forms.law{,.slow}.test.ts',
        'test/features/rings/promotion.law{,.slow}.test.ts',
      ],
      // A process of its own for each of hundreds of kills.
      testTimeout: 1_800_000,
      env: { LAW_RUNS: 'all' },
    },
  }),
)
