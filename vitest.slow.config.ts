import { defineConfig, mergeConfig } from 'vitest/config'
import { E2E, FAULTS, LANE, PEERS, SLOW } from './vitest.config.ts'

// The rooms, like `npm test`: what takes seconds.
export default mergeConfig(LANE, defineConfig({ test: { include: SLOW, exclude: [...E2E, ...FAULTS, ...PEERS] } }))
