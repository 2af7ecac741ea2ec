import { afterAll, beforeAll, expect, test } from 'vitest'
import { openHall, uriOf } from './hall.ts'
import type { Hall } from './hall.ts'
import { inspect } from './skill-peers.ts'
import type { InspectorReport, Verified } from './skill-peers.ts'

let hall: Hall

beforeAll(async () => {
  hall = await openHall()
})

afterAll(async () => {
  await hall[Symbol.asyncDispose]()
})

// Over stdio `auto` becomes what `modern` is, by the way that HTTP shows.
test.each([
  ['http', 'legacy'],
  ['http', 'auto'],
  ['http', 'modern'],
  ['stdio', 'legacy'],
  ['stdio', 'modern'],
] as const)(
  'the inspector over %s verifies every skill in the era %s',
  async (transport, era) => {
    const { reports, stderr } = await inspect(era, hall[transport], hall.folder)

    expect(stderr).toContain('no conformance errors')
    expect(new Map(reports.map((report) => [report.uri, digestsIn(report)]))).toEqual(whatItReads(hall.everything))
    expect(reports.filter(({ outcome }) => outcome !== 'verified').map(({ uri }) => uri)).toEqual([uriOf('edge-size')])
  },
  60_000,
)

function digestsIn({ files }: InspectorReport): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    files.map(({ uri, status, actualDigest }) => [uri, status === 'verified' ? actualDigest : status]),
  )
}

/**
 * All but the last file of the largest skill there can be: it holds the 16 MiB of a skill against the characters of blobs in
 * base64, which are a third more than their bytes.
 */
function whatItReads(everything: Verified): Verified {
  const last = uriOf('edge-size', 'part-4.bin')
  return new Map(
    [...everything].map(([skill, files]) => [
      skill,
      Object.fromEntries(Object.entries(files).filter(([uri]) => uri !== last)),
    ]),
  )
}
