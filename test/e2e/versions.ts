import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { modernHttp } from '../support/clients/peer.ts'

export const SKILLS = 12
const FILES = 5

/** Skills whose every file says the version of the commit. */
export function written(version: number): Record<string, string> {
  const files: Record<string, string> = {}
  for (let skill = 0; skill < SKILLS; skill += 1) {
    files[`skill-${skill}/SKILL.md`] = `---\nname: skill-${skill}\ndescription: One of many\n---\n${version}\n`
    for (let file = 0; file < FILES; file += 1) files[`skill-${skill}/files/${file}.md`] = `${version}\n`
  }
  return files
}

/** Reads every file of every skill that is listed, checks it against the listing, and says which version each source has. */
export async function versionsServed(url: string): Promise<Record<string, number>> {
  await using peer = await modernHttp(url)
  const { result } = await peer.call('skills/list')
  const found = new Map<string, Set<number>>()
  for (const { resources } of result.skills) {
    expect(resources).toHaveLength(FILES + 1)
    for (const { uri, digest, size } of resources) {
      const { result: read } = await peer.call('resources/read', { uri })
      const bytes = Buffer.from(read.contents[0].text)
      expect(bytes.length).toBe(size)
      expect(`sha256:${createHash('sha256').update(bytes).digest('hex')}`).toBe(digest)
      const source = uri.split('/')[2]
      const version = Number(bytes.toString().trim().split('\n').at(-1))
      found.set(source, (found.get(source) ?? new Set()).add(version))
    }
  }
  expect(result.skills).toHaveLength(SKILLS * found.size)
  return Object.fromEntries(
    [...found].map(([source, versions]) => {
      expect([...versions]).toHaveLength(1)
      return [source, [...versions][0]!]
    }),
  )
}
