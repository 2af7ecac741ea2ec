import { availableParallelism } from 'node:os'
import { defineConfig, mergeConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'
import { FAULTS, LANE } from './vitest.config.ts'

// Minutes each: one that starts last would run on alone.
const LONGEST = [
  'replicas/leader',
  'replicas/database',
  'crash-publish',
  'crash-channel',
  'crash-follower',
  'bombs',
  'crash',
  'full-disk',
  'hosts',
  'crash-daemon',
]

/** Starts the longest files first, which vitest would otherwise guess from the size of a file. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b))
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = LONGEST.findIndex((name) => moduleId.endsWith(`/faults/${name}.test.ts`))
  return place === -1 ? LONGEST.length : place
}

// Tests that take things away from a program: disk, time, network, its life. What they need is more than a user has to
// have (root, systemd, strace, ssh, libfaketime), so they are a lane of their own.
export default mergeConfig(
  LANE,
  defineConfig({
    test: {
      include: FAULTS,
      sequence: { sequencer: LongestFirst },
      testTimeout: 600_000,
      hookTimeout: 600_000,
      // They wait for polls, and for times to run out, more than they compute.
      maxWorkers: 2 * availableParallelism(),
    },
  }),
)
