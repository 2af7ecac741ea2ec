import { availableParallelism } from 'node:os'
import { defineConfig, mergeConfig } from 'vitest/config'
import base, { FAULTS } from './vitest.config.ts'

// Tests that take things away from a program: disk, time, network, its life. What they need is more than a user has to
// have (root, systemd, strace, ssh, libfaketime), so they are a lane of their own.
export default mergeConfig(
  { ...base, test: { ...base.test, include: [], exclude: [] } },
  defineConfig({
    test: {
      include: FAULTS,
      testTimeout: 600_000,
      hookTimeout: 600_000,
      // They wait for polls, and for times to run out, more than they compute.
      maxWorkers: 2 * availableParallelism(),
    },
  }),
)
