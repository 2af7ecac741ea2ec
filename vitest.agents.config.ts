import { defineConfig, mergeConfig } from 'vitest/config'
import { AGENTS, LANE } from './vitest.config.ts'

// Real agents, which this lane installs: a gigabyte of programs, so it is no part of the others.
export default mergeConfig(LANE, defineConfig({ test: { include: AGENTS, fileParallelism: false } }))
