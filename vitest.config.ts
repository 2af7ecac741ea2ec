import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig, mergeConfig } from 'vitest/config'

const src = fileURLToPath(new URL('./src/', import.meta.url))
const dist = fileURLToPath(new URL('./dist/', import.meta.url))

/** Tests that inject faults, or need root. */
export const FAULTS = ['test/faults/**/*.test.ts', 'test/systemd/**/*.test.ts', 'test/**/*.faults.test.ts']

/** Tests that run third-party clients and programs; the git program is one of them. */
export const PEERS = ['test/peers/**/*.test.ts', 'test/sync/git/program/**/*.test.ts']

/** Tests of the whole program: started as users start it, as a client of other servers, and by the tools of agents. */
export const E2E = [
  'test/e2e/**/*.test.ts',
  'test/scenarios/**/*.test.ts',
  'test/conformance/host/**/*.test.ts',
  'test/conformance/tools/**/*.test.ts',
  'test/**/*.e2e.test.ts',
]

/** Tests of seconds each: many processes, many values, or waits. */
export const SLOW = ['test/**/*.slow.test.ts']

/** Tests with real agents, which are installed for them. */
export const AGENTS = ['test/agents/**/*.test.ts']

/** The settings of every lane. */
export const LANE = defineConfig({
  plugins: [
    {
      // A worker exists as JavaScript only after the build, so every test runs the built program: what is imported
      // from src is taken from dist.
      name: 'tests-run-the-build',
      enforce: 'pre',
      async resolveId(id, importer) {
        if (importer === undefined || !id.endsWith('.ts')) return null
        const resolved = await this.resolve(id, importer, { skipSelf: true })
        if (resolved === null || !resolved.id.startsWith(src)) return null
        return dist + resolved.id.slice(src.length).replace(/\.ts$/, '.js')
      },
    },
  ],
  test: {
    // The build is JavaScript that Node loads by itself: to transform it once more would take a second in each file.
    server: { deps: { external: [/\/dist\//] } },
    // They end what hangs, and judge nothing: a busy machine may take a minute for what takes a second elsewhere.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    // They watch which errors the tests have the program raise: test/raises/triggers.ts.
    globalSetup: './test/raises/positions.ts',
    setupFiles: './test/raises/recorder.ts',
    execArgv: ['--import', new URL('./test/raises/thread.mjs', import.meta.url).href],
    // Tests that start processes wait for a third of their time.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    env: { NODE_ENV: 'test', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' },
  },
})

// What runs before each commit. The other lanes have a configuration each: vitest.LANE.config.ts.
export default mergeConfig(
  LANE,
  defineConfig({
    test: {
      include: ['test/**/*.test.ts'],
      exclude: [...FAULTS, ...PEERS, ...E2E, ...SLOW, ...AGENTS],
      // Most of these files take less time than what they import: a process loads it once.
      isolate: false,
    },
  }),
)
