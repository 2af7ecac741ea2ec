import { defineConfig, mergeConfig } from 'vitest/config'
import base, { E2E, FAULTS } from './vitest.config.ts'

// The whole program: processes, folders, agents, the page in a browser, and what operators go through.
export default mergeConfig(
  { ...base, test: { ...base.test, include: [], exclude: [] } },
  defineConfig({ test: { include: E2E, exclude: FAULTS } }),
)
