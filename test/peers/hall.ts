import { dirname } from 'node:path'
import { encoded } from '../conformance/peers.ts'
import type { Place } from '../e2e/clients.ts'
import { buildFixture } from '../support/content/fixture.ts'
import { MAIN } from '../support/process/program.ts'
import { serve } from '../support/served.ts'
import { digestOf } from './skill-peers.ts'
import type { Verified } from './skill-peers.ts'

/** FX, served for peers that are not ours. */
export interface Hall extends AsyncDisposable {
  readonly http: Place
  /** Follows the same state, in a process of its own. Its configuration lies where it runs, or is named. */
  readonly stdio: Place
  readonly folder: string
  /** Every skill with every file of it, digested here. */
  readonly everything: Verified
}

export const uriOf = (skill: string, file = 'SKILL.md'): string => `skill://fx/${encoded(`${skill}/${file}`)}`

export async function openHall(): Promise<Hall> {
  const fixture = await buildFixture()
  const served = await serve(fixture.repository, { source: ['root: skills', 'names: exact'] })
  const digests = (skill: string): Readonly<Record<string, string>> =>
    Object.fromEntries([...fixture.filesOf(skill)].map(([path, bytes]) => [uriOf(skill, path), digestOf(bytes)]))
  return {
    http: { url: served.url },
    stdio: { command: process.execPath, args: [MAIN, 'mcp', '--config', served.configFile], stderr: 'ignore' },
    folder: dirname(served.configFile),
    everything: new Map(fixture.listed.map((skill) => [uriOf(skill), digests(skill)])),
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]()
      await fixture[Symbol.asyncDispose]()
    },
  }
}
