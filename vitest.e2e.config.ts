import { defineConfig, mergeConfig } from 'vitest/config'
import { E2E, FAULTS, LANE } from './vitest.config.ts'

// The whole program: processes, folders, agents, the page in a browser, and what operators go through.
export default mergeConfig(LANE, defineConfig({ test: { include: E2E, exclude: FAULTS } }))
