import { expect, test } from 'vitest'
import { FetchedBytes } from '../../../src/daemon/runtime/fetched-bytes.ts'
import { FetchBudget } from '../../../src/features/mcp-sources/fetch-budget.ts'
import { VerifiedReader } from '../../../src/features/mcp-sources/verified-reader.ts'
import type { UpstreamContentsParts } from '../../../src/features/mcp-sources/verified-reader.ts'
import type { SkillFile, UpstreamSkill } from '../../../src/sync/model/skill.ts'
import { Store } from '../../../src/sync/store/store.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { sample, sourceId } from '../../sync/store/samples.ts'

const HUB = sourceId('hub')
const TEXTS = { 'a.md': '12345', 'b.md': '1234', 'c.md': '123' }

test('a file that budgets.stored_bytes has no room for is not asked of its server, and nothing of it is stored', async () => {
  await using folder = await temporaryFolder()
  using store = await Store.open(folder.path)
  const asked: string[] = []
  await using reader = readerOf(store, asked)
  const { skill, fileOf } = skillOfHub()
  const bring = async (path: keyof typeof TEXTS): Promise<string> =>
    Buffer.from(await reader.bring(skill, fileOf(path))).toString()

  const first = await bring('a.md')
  const refused = bring('b.md')
  await expect(refused).rejects.toMatchObject({ code: 'limit-exceeded', place: 'budgets.stored_bytes' })
  const last = await bring('c.md')

  expect([first, last]).toEqual(['12345', '123'])
  expect(asked).toEqual(['a.md', 'c.md'])
  expect(await store.upstreams.bytes(HUB)).toBe(8)
})

function skillOfHub(): { readonly skill: UpstreamSkill; readonly fileOf: (path: string) => SkillFile } {
  const made = sample('pdf', { 'SKILL.md': '---\nname: pdf\n---\n', ...TEXTS }).skill
  const skill = { ...made, upstream: { source: HUB, uri: 'skill://pdf/SKILL.md' } }
  const fileOf = (path: string): SkillFile => {
    const found = skill.files.find((file) => file.path === path)
    if (found === undefined) throw new Error(`The skill has no file "${path}"`)
    return found
  }
  return { skill, fileOf }
}

/** Reads from a server that gives each file as declared, with room for 8 stored bytes. */
function readerOf(store: Store, asked: string[]): VerifiedReader {
  const clock = new FakeClock()
  const budgets = { hourlyBytes: 1_000, storedBytes: 8 }
  const server = {
    read: async (uri: string) => {
      const path = uri.slice(uri.lastIndexOf('/') + 1)
      asked.push(path)
      return { bytes: Buffer.from(Object.entries(TEXTS).find(([name]) => name === path)?.[1] ?? '') }
    },
  }
  const parts = {
    store,
    clock,
    log: { failure: () => {}, recovery: () => {}, warn: () => {} },
    config: { sources: [{ source: { kind: 'mcp', id: HUB, budgets } }], mode: { offline: false }, limits: {} },
    servers: { at: () => server },
    spendings: new FetchBudget(clock, store.upstreams, new FetchedBytes()),
    texts: { refusalOf: async () => undefined, learn: async () => false },
    mismatches: { refusalOf: async () => undefined },
    onStored: () => {},
  }
  return new VerifiedReader(parts as unknown as UpstreamContentsParts)
}
