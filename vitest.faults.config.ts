import { defineConfig, mergeConfig } from 'vitest/config'
import base from './vitest.config.ts'

// Tests that take things away from a program: disk, time, network, its life. What they need is more than a user has to
// have (root, strace, ssh, libfaketime), so they are a lane of their own.
export default mergeConfig(
  { ...base, test: { ...base.test, include: [], exclude: [] } },
  defineConfig({ test: { include: ['test/faults/**/*.test.ts'], testTimeout: 600_000, hookTimeout: 600_000 } }),
)
