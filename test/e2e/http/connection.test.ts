import { expect, test, vi } from 'vitest'
import type { McpAddress } from '../../../src/features/mcp-sources/client/address.ts'
import { MCP_LIMITS } from '../../../src/features/mcp-sources/client/address.ts'
import { McpConnection } from '../../../src/features/mcp-sources/client/mcp-connection.ts'
import { PLAIN_WAY } from '../../../src/sync/upstream/http/host-access.ts'
import { mcpProgram, openSite, runSkillsyncd, startDaemon } from '../programs.ts'
import type { DaemonProcess, Site } from '../programs.ts'

// Each test starts several processes, and waits for polls.
vi.setConfig({ testTimeout: 120_000 })

const SKILL = 'skill://fx/alpha/SKILL.md'

test.each<readonly [string, (daemon: DaemonProcess, site: Site) => McpAddress]>([
  ['http', ({ url }) => ({ kind: 'http', url })],
  ['stdio', (_, site) => programOf(site)],
])('a daemon is the upstream of another over %s: it is listed, read, and tells of a push', async (_, addressOf) => {
  await using site = await openSite({ 'skills/alpha/SKILL.md': text('first') })
  await runSkillsyncd(site, 'sync')
  await using daemon = await startDaemon(site)
  await using connection = await McpConnection.open(addressOf(daemon, site), OPTIONS, NEVER)
  const told = Promise.withResolvers<unknown>()
  await using watch = await connection.watch({ list: true, uris: [SKILL] }, told.resolve, NEVER)

  const listed = await connection.request('skills/list', {}, NEVER)
  await site.push({ 'skills/alpha/SKILL.md': text('second') })
  await told.promise
  const read = await connection.request('resources/read', { uri: SKILL }, NEVER)

  expect(connection.greeting.era).toBe('modern')
  expect(watch.honoured).toEqual({ list: true, uris: [SKILL] })
  expect(listed).toMatchObject({ ok: true, result: { skills: [{ uri: SKILL }] } })
  expect(read).toMatchObject({ ok: true, result: { contents: [{ text: text('second') }] } })
})

const NEVER = new AbortController().signal
const OPTIONS = { way: async () => PLAIN_WAY, limits: MCP_LIMITS, version: '1.2.3' }

function programOf(site: Site): McpAddress {
  const place = mcpProgram(site)
  if (!('command' in place)) throw new Error('No program')
  const { command, args } = place
  return { kind: 'program', command, args, path: process.env['PATH'] ?? '', home: site.state, env: async () => ({}) }
}

function text(body: string): string {
  return `---\nname: alpha\ndescription: The first of them\n---\n${body}\n`
}
