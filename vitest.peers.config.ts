import { defineConfig, mergeConfig } from 'vitest/config'
import { FAULTS, LANE, PEERS } from './vitest.config.ts'

// Clients and programs of other projects, which judge ours, and the git program, which ours runs.
export default mergeConfig(LANE, defineConfig({ test: { include: PEERS, exclude: FAULTS } }))
