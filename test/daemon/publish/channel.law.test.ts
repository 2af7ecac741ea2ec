import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { lawRuns } from '../../support/law-runs.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { Follower } from '../../sync/upstream/channel/follower.ts'
import { skillNamed, startFileServer } from '../../sync/upstream/channel/site.ts'
import type { Meddle } from '../../sync/upstream/channel/site.ts'
import { Hub, skillsOf } from './hub.ts'
import type { Content } from './hub.ts'

/** Which skills of two sources are served, each with the number of its text, and which are disabled. */
const STEP = fc.record({
  served: fc.dictionary(fc.constantFrom('a/one', 'a/two', 'a/three', 'b/one', 'b/two'), fc.nat(2), { maxKeys: 5 }),
  disabled: fc.uniqueArray(fc.constantFrom('a/one', 'b/one', 'b/two'), { maxLength: 2 }),
  /** The answer of this number is cut off, then the others of the pull are not given. */
  cutAfter: fc.option(fc.nat(8), { nil: undefined }),
  followerReopens: fc.boolean(),
  hubReopens: fc.boolean(),
  isPulled: fc.boolean(),
})

test('a follower that is cut off at any time has the whole of some entry, and then the newest one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { minLength: 1, maxLength: 8 }), fc.boolean(), async (steps, isFolder) => {
      await using folder = await temporaryFolder()
      const to = join(folder.path, 'channel')
      await using hub = await Hub.create()
      await using server = await startFileServer(hub.read)
      await using follower = await Follower.open({ place: isFolder ? to : server.url })
      const had = [JSON.stringify({})]

      for (const { served, disabled, cutAfter, followerReopens, hubReopens, isPulled } of steps) {
        if (hubReopens) await hub.reopen()
        const content = contentOf(served)
        await hub.serve(content, disabled)
        await hub.publish(to)
        had.push(JSON.stringify(sorted(skillsOf(content, disabled))))
        if (cutAfter !== undefined) {
          server.meddle = cuttingAfter(cutAfter)
          await follower.pull()
          server.meddle = () => false
        }
        expect(had).toContain(JSON.stringify(sorted(await follower.skills())))
        if (followerReopens) await follower.reopen()
        expect(had).toContain(JSON.stringify(sorted(await follower.skills())))
        if (!isPulled) continue
        await follower.pull()
        expect(sorted(await follower.skills())).toEqual(sorted(skillsOf(content, disabled)))
      }
    }),
    { numRuns: lawRuns(60, 1 / 3) },
  )
})

function contentOf(served: Readonly<Record<string, number>>): Content {
  const content: Record<string, ReturnType<typeof skillNamed>[]> = { a: [], b: [] }
  for (const [path, text] of Object.entries(served)) {
    const [source = '', name = ''] = path.split('/')
    content[source]?.push(skillNamed(name, `${source} ${text}`, { 'notes.md': `${text}\n`.repeat(100) }))
  }
  return content
}

function cuttingAfter(most: number): Meddle {
  let count = 0
  return (_, response) => {
    count += 1
    if (count <= most) return false
    response.writeHead(200, { 'content-length': 1_000 }).write('half of it')
    response.socket?.end()
    return true
  }
}

function sorted(skills: object): object {
  return Object.fromEntries(Object.entries(skills).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
