import { expect, test } from 'vitest'
import { stdio } from '../../support/clients/peer.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Mirror } from '../../support/mirror.ts'
import { Home } from '../../support/process/program.ts'

const URI = 'skill://refunds/SKILL.md'
const FILE = 'skill://au/refunds/a.md'
const DOCUMENT = '---\nname: refunds\ndescription: d\n---\nbody\n'
const SPENT =
  'of budgets.hourly_bytes (10) are used up; there is room again as the hour passes, or once the operator raises the budget'
const MENDED = 'after the server is fixed'

test.each<[string, string, (uri: string) => object, readonly string[]]>([
  [
    'other bytes',
    '',
    (uri) => ({ contents: [{ uri, text: 'b' }] }),
    ['its server sent other content than it declares', MENDED],
  ],
  [
    'more bytes',
    '',
    (uri) => ({ contents: [{ uri, text: 'bb' }] }),
    ['its server sent other content than it declares', MENDED],
  ],
  [
    'a flood',
    '',
    (uri) => ({ contents: [{ uri, text: 'x'.repeat(25 * 2 ** 20) }] }),
    ['its server sent other content than it declares', MENDED],
  ],
  ['no base64', '', (uri) => ({ contents: [{ uri, blob: '?' }] }), ['its blob is not base64', MENDED]],
  ['a budget that is used up', ', budgets: { hourly_bytes: 10 }', () => ({}), [SPENT]],
])('of %s a client is given the cause and what helps', async (_, more, answer, causes) => {
  await using au = await HostileServer.start()
  // The budget has no room for the file.
  au.skills.set(URI, { 'SKILL.md': DOCUMENT, 'a.md': more === '' ? 'a' : 'a'.repeat(11) })
  au.on('resources/read', ({ uri }) => (uri.endsWith('a.md') ? answer(uri) : undefined))
  await using mirror = await Mirror.start({ au: `mcp: "${au.url}", approval: none${more}` })

  const { error } = await mirror.read(FILE)

  expect(error?.code).toBe(-32_603)
  for (const cause of causes) expect(error?.message).toContain(cause)
  expect(error?.message).not.toContain('stored content')
})

test('an mcp beside the daemon gives the same causes, and writes them to its log', async () => {
  await using au = await HostileServer.start()
  au.skills.set(URI, { 'SKILL.md': DOCUMENT, 'a.md': 'a'.repeat(11), 'b.md': 'b' })
  au.on('resources/read', ({ uri }) => (uri.endsWith('b.md') ? { contents: [{ uri, blob: '?' }] } : undefined))
  await using home = await Home.create()
  await home.configure({ au: [`mcp: "${au.url}"`, 'approval: none', 'budgets: { hourly_bytes: 10 }'] })
  expect(await home.command('sync')).toMatchObject({ status: 0 })
  await home.start('start').line()
  await using mcp = await stdio([], 'modern', home.env)

  const spent = await mcp.call('resources/read', { uri: FILE })
  const broken = await mcp.call('resources/read', { uri: 'skill://au/refunds/b.md' })

  expect(spent.error?.message).toContain(SPENT)
  expect(broken.error?.message).toContain('its blob is not base64')
  expect(mcp.stderr()).toContain('"content-not-fetched"')
})
