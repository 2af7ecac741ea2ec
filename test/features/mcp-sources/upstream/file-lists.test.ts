import { expect, test } from 'vitest'
import { CacheHints } from '../../../../src/features/mcp-sources/upstream/cache-hints.ts'
import { FileLists } from '../../../../src/features/mcp-sources/upstream/file-lists.ts'
import { connect, modern, NEVER, result } from './servers.ts'

test('a file that a folder lists twice is one file, and those that lie elsewhere are told of', async () => {
  const listed = ['skill://a/x', 'skill://a/SKILL.md', 'skill://a/x', { no: 'text' }, 'skill://b/y']
  await using server = await modern((heard) => result(heard, { resources: listed.map((uri) => ({ uri })) }))
  await using connection = await connect(server.address)
  const budget = { bytes: 2 ** 20, pages: 10, entries: 100, timeoutMs: 60_000 }

  const lists = new FileLists({ connection, budget, hints: new CacheHints(), signal: NEVER }, true)
  const found = await lists.of('skill://a/SKILL.md', 10)

  const files = ['skill://a/x', 'skill://a/SKILL.md'].map((uri) => ({ uri }))
  expect(found).toMatchObject({ ok: true, files, strays: { first: ['{"no":"text"}', '"skill://b/y"'], count: 2 } })
})
