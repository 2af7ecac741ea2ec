import { defineConfig, mergeConfig } from 'vitest/config'
import base, { FAULTS, PEERS } from './vitest.config.ts'

// Clients and programs of other projects, which judge ours, and the git program, which ours runs.
export default mergeConfig(
  { ...base, test: { ...base.test, include: [], exclude: [] } },
  defineConfig({ test: { include: PEERS, exclude: FAULTS } }),
)
