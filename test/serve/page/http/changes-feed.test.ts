import { expect, test } from 'vitest'
import { changesFeed } from '../../../../src/serve/page/http/changes-feed.ts'
import type { PageHost } from '../../../../src/serve/page/page-data.ts'
import type { PageView } from '../../../../src/serve/page/page-view.ts'

/** The feed of a hub with decisions of these lengths, the newest first. */
async function feedOf(lengths: readonly number[]): Promise<string> {
  const decisions = lengths.map((length, index) => ({
    at: new Date(Date.UTC(2026, 0, 31 - index)).toISOString(),
    id: `${index}`,
    text: 'x'.repeat(length),
  }))
  const host = { history: async () => [], decisions: () => decisions } as unknown as PageHost
  const made = await changesFeed({ address: 'https://skills.example.com', host } as PageView, 'Skills')
  return 'feed' in made ? made.feed : ''
}

function idsIn(feed: string): readonly (string | undefined)[] {
  return Array.from(feed.matchAll(/<id>tag:.*decision\/(\d+)<\/id>/g), ([, id]) => id)
}

test('the feed has the newest entries that fit into a mebibyte, and no older one that would fit', async () => {
  const all = Array.from({ length: 20 }, () => 100_000)

  const feed = await feedOf([...all, 1])

  expect(idsIn(feed)).toEqual(Array.from({ length: 10 }, (_, index) => `${index}`))
  expect(feed.length).toBeLessThan(2 ** 20)
})

test('an entry that fills the feed to its last character is in it, and one with a character more is not', async () => {
  const empty = await feedOf([1])
  const entry = /<entry>.*<\/entry>/s.exec(empty)?.[0] ?? ''
  // A title is cut after 200 characters, and what it leaves out is one character.
  const frame = entry.length - 2 + 201

  const [full, over] = [await feedOf([2 ** 20 - frame]), await feedOf([2 ** 20 - frame + 1])]

  expect(idsIn(full)).toEqual(['0'])
  expect(idsIn(over)).toEqual([])
})
