import { defineConfig, mergeConfig } from 'vitest/config'
import base, { PEERS } from './vitest.config.ts'

// Clients and programs of other projects, which judge ours.
export default mergeConfig(
  { ...base, test: { ...base.test, include: [], exclude: [] } },
  defineConfig({ test: { include: PEERS } }),
)
