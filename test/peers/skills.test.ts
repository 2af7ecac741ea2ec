import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLIENT_NAMES } from '../e2e/clients.ts'
import { openHall, uriOf } from './hall.ts'
import type { Hall } from './hall.ts'
import { MOST_FILES, readWithClient, readWithExtSkills } from './skill-peers.ts'
import type { Verified } from './skill-peers.ts'

let hall: Hall

beforeAll(async () => {
  hall = await openHall()
})

afterAll(async () => {
  await hall[Symbol.asyncDispose]()
})

const TRANSPORTS = ['http', 'stdio'] as const

test.each(CLIENT_NAMES.flatMap((name) => TRANSPORTS.map((transport) => [name, transport] as const)))(
  '%s over %s lists, reads and verifies every skill',
  async (name, transport) => {
    const verified = await readWithClient(name, hall[transport])

    const most = new Map([...sizes(hall.everything)].map(([skill, files]) => [skill, Math.min(files, MOST_FILES)]))
    expect(sizes(verified)).toEqual(most)
    for (const [skill, files] of verified) expect(hall.everything.get(skill)).toMatchObject(files)
  },
  60_000,
)

/** How many files of each skill. */
function sizes(verified: Verified): ReadonlyMap<string, number> {
  return new Map([...verified].map(([skill, files]) => [skill, Object.keys(files).length]))
}

// Each version in each era, and over each transport.
test.each([
  ['0.14.0', 'http', 'auto'],
  ['0.14.0', 'stdio', 'legacy'],
  ['0.12.1', 'http', 'legacy'],
  ['0.12.1', 'stdio', 'auto'],
] as const)(
  'ext-skills %s over %s, %s, lists, reads, verifies and walks every skill',
  async (version, transport, mode) => {
    const { verified, walked, refused } = await readWithExtSkills(version, mode, hall[transport])

    expect(verified).toEqual(hall.everything)
    expect(walked).toEqual(
      new Map([...hall.everything].map(([skill, files]) => [skill, Object.keys(files).toSorted()])),
    )
    // It does not see frontmatter behind a byte order mark: of that file it verifies the bytes, not the frontmatter.
    expect([...refused]).toEqual([[uriOf('bom-skill'), expect.stringContaining('Frontmatter mismatch')]])
  },
  60_000,
)
