import { defineConfig, mergeConfig } from 'vitest/config'
import base, { E2E, FAULTS, PEERS, SLOW } from './vitest.config.ts'

// The rooms, like `npm test`: what takes seconds.
export default mergeConfig(
  { ...base, test: { ...base.test, include: [], exclude: [] } },
  defineConfig({ test: { include: SLOW, exclude: [...E2E, ...FAULTS, ...PEERS] } }),
)
