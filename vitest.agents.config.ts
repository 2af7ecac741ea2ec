import { defineConfig, mergeConfig } from 'vitest/config'
import base, { AGENTS } from './vitest.config.ts'

// Real agents, which this lane installs: a gigabyte of programs, so it is no part of the others.
export default mergeConfig(
  { ...base, test: { ...base.test, include: [], exclude: [] } },
  defineConfig({ test: { include: AGENTS, fileParallelism: false } }),
)
