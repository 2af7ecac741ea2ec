import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { modernHttp } from '../../support/clients/peer.ts'
import { RpcFault } from '../../support/hostile/hostile-answer.ts'
import { HostileServer } from '../../support/hostile/hostile-server.ts'
import { Home } from '../../support/process/program.ts'

const SPACE = 'skill://docs/{product}/SKILL.md'
const PAY = 'skill://docs/pay/SKILL.md'

test('a template is listed with its number and variables, fails without a value, and with one its skill is mirrored', async () => {
  await using au = await older()
  await using home = await homeOf(au)

  const listed = await home.command('mcp-source', 'add')
  const without = await home.command('mcp-source', 'add', 'au', '1')
  const decided = await decisionsOf(home)
  const resolved = await home.command('mcp-source', 'add', 'au', '1', 'product=pay', '--unverified')
  const waiting = await home.command('show', 'au/docs/pay')
  await home.approve('au/docs/pay')
  const served = await home.command('list', '--served')

  expect(listed).toMatchObject({ status: 0, stderr: '' })
  expect(listed.stdout).toBe(`au 1  ${SPACE} (product)  Products: One skill for each\n`)
  expect([without.status, without.stdout]).toEqual([2, ''])
  expect(without.stderr).toContain('"product"')
  expect(decided).toBeUndefined()
  expect(resolved).toMatchObject({ status: 0, stderr: '' })
  expect(resolved.stdout).toContain('au/docs/pay: added, and waiting for skillsyncd approve au/docs/pay')
  expect(waiting.stdout).toContain('not-verifiable')
  expect(served.stdout).toContain('skill://au/docs/pay')
  expect(au.of('completion/complete')).toEqual([])
  expect(au.reads().filter((uri) => uri === PAY)).toHaveLength(1)
})

// The case has the server asked for it; no skill can be called so, and B4 lets no encoded separator out.
test('a slash in a value stays in its segment, encoded, and a URI with one is refused before the server is asked', async () => {
  await using au = await older()
  await using home = await homeOf(au)

  const slash = await home.command('mcp-source', 'add', 'au', '1', 'product=a/b', '--unverified')
  const dots = await home.command('mcp-source', 'add', 'au', '1', 'product=..', '--unverified')
  const nothing = await home.command('mcp-source', 'add', 'au', '1', 'product=', '--unverified')

  expect([slash.status, dots.status, nothing.status]).toEqual([1, 1, 1])
  expect(slash.stderr).toContain('it comes to "skill://docs/a%2Fb/SKILL.md", which is refused')
  expect(dots.stderr).toContain('it comes to "skill://docs/../SKILL.md", which is refused')
  expect(nothing.stderr).toContain('"product" has no value')
  expect(au.reads().filter((uri) => uri !== 'skill://index.json')).toEqual([])
  expect(await decisionsOf(home)).toBeUndefined()
})

test('on a server of today skills/get decides what a template leads to, and its files are asked for by nobody', async () => {
  await using au = await today()
  await using home = await homeOf(au, 'approval: none')

  const resolved = await home.command('mcp-source', 'add', 'au', SPACE, 'product=pay', '--json')
  await home.command('sync')
  const served = await home.command('list', '--served')

  expect(JSON.parse(resolved.stdout)).toEqual({
    skill: { source: 'au', path: 'docs/pay', upstream: PAY, state: 'served', findings: [] },
  })
  expect(served.stdout).toContain('skill://au/docs/pay')
  expect(au.reads()).not.toContain(PAY)
  expect(au.of('skills/get').every(({ params }) => params.uri === PAY)).toBe(true)
})

test('templates that lead elsewhere or nowhere are left out with the reason, and refused where they are named', async () => {
  await using au = await today()
  const wrong = {
    'file:///x/{y}/SKILL.md': 'its scheme "file" leads out of the server',
    'FILE:/x/{y}/SKILL.md': 'its scheme "file" leads out of the server',
    'https://x.example/{y}/SKILL.md': 'its scheme "https" leads out of the server',
    'skill://{+path}/SKILL.md': '"{+path}" is not a plain variable',
    'skill://x/{path*}/SKILL.md': '"{path*}" is not a plain variable',
    'skill://x/{y}?z={y}/SKILL.md': 'it holds a query',
    'skill://x/{y/SKILL.md': 'it has a brace that belongs to no variable',
    '{scheme}://x/SKILL.md': 'it does not begin with a scheme',
    'skill://{y}/../SKILL.md': 'a segment of it cannot name a file',
  }
  au.templates = [SPACE, ...Object.keys(wrong), 'skill://{any}'].map((uriTemplate) => ({ uriTemplate, name: 'n' }))
  await using home = await homeOf(au)

  const listed = await home.command('mcp-source', 'add', 'au')
  const resolved = []
  for (const template of [...Object.keys(wrong), 'file:///x/{y}']) {
    resolved.push(await home.command('mcp-source', 'add', 'au', template, 'y=1', 'path=1', 'scheme=file'))
  }

  expect([listed.status, listed.stdout]).toEqual([0, `au 1  ${SPACE} (product)  n\n`])
  for (const [template, why] of Object.entries(wrong))
    expect(listed.stderr).toContain(`"au": "${template}" is left out: ${why}`)
  expect(listed.stderr).not.toContain('skill://{any}')
  expect(resolved.map(({ status }) => status)).toEqual(resolved.map(() => 1))
  for (const [index, why] of Object.values(wrong).entries()) expect(resolved[index]?.stderr).toContain(why)
  expect(resolved.at(-1)?.stderr).toContain('its scheme "file" leads out of the server')
  expect(au.of('skills/get')).toEqual([])
})

test('a skill that is there already is refused, whether it was listed or added', async () => {
  await using au = await today()
  au.skills.set('skill://docs/listed/SKILL.md', { 'SKILL.md': skill('listed') })
  await using home = await homeOf(au)
  await home.command('sync')
  await home.command('mcp-source', 'add', 'au', '1', 'product=pay')
  const asked = au.of('skills/get').length

  const listed = await home.command('mcp-source', 'add', 'au', '1', 'product=listed')
  const added = await home.command('mcp-source', 'add', 'au', '1', 'product=pay')
  const spelled = await home.command('mcp-source', 'add', 'au', 'skill://docs/%70ay/SKILL.md')

  expect([listed.status, added.status, spelled.status]).toEqual([1, 1, 1])
  expect(listed.stderr).toContain('"au/docs/listed" is there already')
  expect(added.stderr).toContain('"au/docs/pay" is there already')
  expect(spelled.stderr).toContain('"au/docs/pay" is there already')
  expect(au.of('skills/get')).toHaveLength(asked)
  expect((await decisionsOf(home)).rules.map(({ on }: any) => on)).toEqual([{ source: 'au', uri: PAY }])
})

test.each([
  { how: 'an empty line', lines: [''] },
  { how: 'the end of what is typed', lines: [] },
])('a choice that is cancelled by $how adds nothing', async ({ lines }) => {
  await using au = await today()
  au.completions = { product: ['pay', 'refund'] }
  await using home = await homeOf(au)

  const { status, stdout, stderr } = await home.typing(lines, 'mcp-source', 'add', 'au', '1')

  expect([status, stdout]).toEqual([1, ''])
  expect(stderr).toContain('cancelled; nothing was added')
  expect(au.of('skills/get')).toEqual([])
  expect(await decisionsOf(home)).toBeUndefined()
})

test.each([
  { how: 'by its number', lines: ['2'] },
  { how: 'in full', lines: ['pay'] },
  { how: 'after what is none of them', lines: ['3', 'refunds', 'pay'] },
])('a value that the server completes is chosen $how', async ({ lines }) => {
  await using au = await today()
  au.completions = { product: ['other', 'pay'] }
  await using home = await homeOf(au)

  const { status, stdout, stderr } = await home.typing(lines, 'mcp-source', 'add', 'au', '1')

  expect(status).toBe(0)
  expect(stderr).toContain('  1  other\n  2  pay\n')
  expect(stdout).toContain('au/docs/pay: added')
  const [{ params }, ...others] = au.of('completion/complete') as [any]
  expect(others).toEqual([])
  expect(params).toMatchObject({
    ref: { type: 'ref/resource', uri: SPACE },
    argument: { name: 'product', value: '' },
  })
})

test('where the server has no values, or no completion, any is taken', async () => {
  await using au = await today()
  await using home = await homeOf(au)

  const empty = await home.typing(['pay'], 'mcp-source', 'add', 'au', '1')
  await home.command('mcp-source', 'add', 'au', PAY, '--remove')
  au.on('completion/complete', () => new RpcFault(-32601, 'Method not found'))
  au.skills.set('skill://docs/other/SKILL.md', { 'SKILL.md': skill('other') })
  au.skills.unlist('skill://docs/other/SKILL.md')
  const none = await home.typing(['other'], 'mcp-source', 'add', 'au', '1')

  expect(empty.stdout).toContain('au/docs/pay: added')
  expect(none.stdout).toContain('au/docs/other: added')
})

test('of several variables the given ones are not asked for, and the server is told of those that have values', async () => {
  await using au = await today()
  const uri = 'skill://docs/eu/pay/SKILL.md'
  au.skills.set(uri, { 'SKILL.md': skill('pay') })
  au.skills.unlist(uri)
  au.templates = [{ uriTemplate: 'skill://docs/{region}/{product}/SKILL.md', name: 'n' }]
  au.completions = { product: ['pay'], region: ['eu'] }
  await using home = await homeOf(au)

  const { stdout } = await home.typing(['1'], 'mcp-source', 'add', 'au', '1', 'region=eu')

  expect(stdout).toContain('au/docs/eu/pay: added')
  const asked = au.of('completion/complete').map(({ params }) => [params.argument.name, params.context])
  expect(asked).toEqual([['product', { arguments: { region: 'eu' } }]])
})

test('with all values given no completion is asked for, on a terminal either', async () => {
  await using au = await today()
  au.completions = { product: ['pay'] }
  await using home = await homeOf(au)

  const { status } = await home.typing([], 'mcp-source', 'add', 'au', '1', 'product=pay')

  expect(status).toBe(0)
  expect(au.of('completion/complete')).toEqual([])
})

test('a URI that a server of today has no skill at is refused after skills/get, verifiable or not', async () => {
  await using au = await today()
  await using home = await homeOf(au)

  const plain = await home.command('mcp-source', 'add', 'au', 'skill://gone/SKILL.md')
  const unverified = await home.command('mcp-source', 'add', 'au', 'skill://gone/SKILL.md', '--unverified')

  for (const { status, stderr, stdout } of [plain, unverified]) {
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^skillsyncd: Cannot add "skill:\/\/gone\/SKILL\.md": .* the server answers -32602/)
    expect(stderr).not.toContain('    at ')
  }
  expect(au.of('skills/get')).toHaveLength(2)
  expect(au.reads()).toEqual([])
  expect(await decisionsOf(home)).toBeUndefined()
})

test('an older server is read at a URI only where the operator says so, and the skill is marked as not verifiable', async () => {
  await using au = await older()
  await using home = await homeOf(au, 'approval: none')

  const plain = await home.command('mcp-source', 'add', 'au', PAY)
  const readBefore = au.reads().includes(PAY)
  const gone = await home.command('mcp-source', 'add', 'au', 'skill://gone/SKILL.md', '--unverified')
  const added = await home.command('mcp-source', 'add', 'au', PAY, '--unverified')
  const shown = await home.command('show', 'au/docs/pay')

  expect([plain.status, readBefore]).toEqual([1, false])
  expect(plain.stderr).toMatch(
    /cannot be verified: the server has no skills\/get.*--unverified accepts what the server sends/,
  )
  expect([gone.status, added.status]).toEqual([1, 0])
  expect(added.stdout).toContain('au/docs/pay: added, and served\n  The server gives no digests of its files')
  expect(shown.stdout).toContain('not-verifiable')
  expect((await decisionsOf(home)).rules).toEqual([
    {
      at: expect.any(String),
      by: 'person',
      who: expect.any(String),
      effect: 'name',
      on: { source: 'au', uri: PAY },
      unverified: true,
    },
  ])
})

test('a daemon that runs adds what a command names, serves it through later looks, and lets go of it when it is taken back', async () => {
  await using au = await today()
  au.skills.set('skill://listed/SKILL.md', { 'SKILL.md': skill('listed') })
  await using home = await homeOf(au, 'approval: none', 'every: 1h')
  const daemon = home.start('start')
  await using peer = await modernHttp(await daemon.line())
  await home.command('sync')

  const added = await home.command('mcp-source', 'add', 'au', PAY)
  await home.command('sync')
  const there = await peer.call('resources/read', { uri: 'skill://au/docs/pay/SKILL.md' })
  const removed = await home.command('mcp-source', 'add', 'au', PAY, '--remove')
  const gone = await peer.call('resources/read', { uri: 'skill://au/docs/pay/SKILL.md' })
  const again = await home.command('mcp-source', 'add', 'au', PAY, '--remove')

  expect(added).toMatchObject({ status: 0, stderr: '' })
  expect(there.result.contents[0].text).toBe(skill('pay'))
  expect(removed).toMatchObject({ status: 0, stdout: 'au/docs/pay: removed\n' })
  expect(gone.error?.code).toBe(-32_602)
  expect([again.status, again.stderr]).toEqual([
    1,
    `skillsyncd: Cannot remove "${PAY}" from "au": no operator added it\n`,
  ])
  const { history, ...inForce } = await decisionsOf(home)
  expect(inForce).toEqual({ rules: [] })
  expect(history.map(({ decision }: any) => decision)).toEqual(['add', 'remove'])
  await daemon.stop()
})

test('templates of an index of the first revision are listed too, each once, and a source that cannot be asked hides no other', async () => {
  await using au = await older()
  au.templates = [{ uriTemplate: SPACE, name: 'Listed' }]
  au.skills.addEntry({ type: 'mcp-resource-template', description: 'One for each', url: SPACE })
  au.skills.addEntry({ type: 'mcp-resource-template', description: 'Guides', url: 'skill://guides/{guide}/SKILL.md' })
  au.skills.addEntry({ type: 'mcp-resource-template', description: 'Files', url: 'file:///srv/{name}/SKILL.md' })
  await using home = await Home.create()
  await home.configure({ gone: ['mcp: "http://127.0.0.1:1/mcp"'], au: [`mcp: "${au.url}"`] })

  const { status, stdout, stderr } = await home.command('mcp-source', 'add', '--json')

  const { sources } = JSON.parse(stdout)
  expect([status, stderr]).toEqual([1, ''])
  expect(sources[0]).toMatchObject({ source: 'gone', spaces: [], problem: { code: 'source-unreachable' } })
  expect(sources[1].spaces).toEqual([
    { number: 1, template: SPACE, variables: ['product'], name: 'Listed' },
    { number: 2, template: 'skill://guides/{guide}/SKILL.md', variables: ['guide'], description: 'Guides' },
  ])
  expect(sources[1].refused).toEqual([
    { template: '"file:///srv/{name}/SKILL.md"', why: 'its scheme "file" leads out of the server' },
  ])
})

test.each([
  { args: ['mcp-source', 'add', 'au', '--unverified'], status: 2, says: 'wants a source and the URI of a SKILL.md' },
  { args: ['mcp-source', 'add', 'au', '1', '--remove'], status: 2, says: '--remove with a URI' },
  { args: ['mcp-source', 'add', 'au', PAY, 'product=pay'], status: 2, says: 'goes with a template alone' },
  { args: ['mcp-source', 'add', 'au', '2', 'product=pay'], status: 1, says: '"au" has no template "2"' },
  { args: ['mcp-source', 'add', 'au', 'skill://x/{y}/SKILL.md', 'y=1'], status: 1, says: 'has no template' },
  { args: ['mcp-source', 'add', 'au', '1', 'pay'], status: 2, says: '"pay" is not of the form VARIABLE=VALUE' },
  { args: ['mcp-source', 'add', 'au', '1', 'product=a', 'product=b'], status: 2, says: '"product" has two values' },
  { args: ['mcp-source', 'add', 'au', '1', 'colour=red'], status: 2, says: 'has no variable "colour"' },
  { args: ['mcp-source', 'add', 'nobody', '1', 'product=pay'], status: 2, says: 'No source is called "nobody"' },
  { args: ['mcp-source', 'add', 'local'], status: 1, says: '"local" is not an MCP source' },
  { args: ['mcp-source', 'add', 'local', PAY], status: 1, says: '"local" is not an MCP source' },
  { args: ['mcp-source', 'add', 'au', 'file:///etc/x/SKILL.md'], status: 1, says: 'leads out of the server' },
  { args: ['mcp-source', 'add', 'au', 'skill://docs/%2e%2e/SKILL.md'], status: 1, says: 'cannot name a file' },
  { args: ['mcp-source', 'add', 'au', 'skill://docs/pay/notes.md'], status: 1, says: 'does not name the SKILL.md' },
  {
    args: ['mcp-source', 'add', 'au', 'skill://left/out/SKILL.md'],
    status: 1,
    says: 'include and exclude of "au" leave it out',
  },
  { args: ['mcp-source', 'add', 'au', PAY, '--remove'], status: 1, says: 'no operator added it' },
  { args: ['mcp-source', 'add', 'au', PAY, '--remove', '--unverified'], status: 2, says: 'exclude each other' },
])('what cannot be added is refused with the reason, and nothing is added: $says', async ({ args, status, says }) => {
  await using au = await today()
  await using home = await Home.create()
  await home.configure({ au: [`mcp: "${au.url}"`, 'exclude: [left/*]'], local: [`path: ${home.path}/tmp`] })

  const ended = await home.command(...args)

  expect([ended.status, ended.stderr]).toEqual([status, expect.stringContaining(says)])
  expect(au.of('skills/get')).toEqual([])
  expect(await decisionsOf(home)).toBeUndefined()
})

test('what a server says of its templates steers no terminal, and no number of them fills an answer', async () => {
  await using au = await today()
  au.templates = Array.from({ length: 300 }, (_, index) => ({
    uriTemplate: `skill://s${index}/{v}/SKILL.md`,
    name: `\u001B]0;gotcha\u0007${'n'.repeat(5_000)}`,
    description: 'é'.repeat(5_000),
  }))
  au.pageSize = 20
  await using home = await homeOf(au)

  const { status, stdout, stderr } = await home.command('mcp-source', 'add')

  expect(status).toBe(0)
  expect(stdout.split('\n')).toHaveLength(201)
  expect([stdout.includes('\u001B'), stdout.includes('\u0007')]).toEqual([false, false])
  expect(stderr).toContain('100 more is left out: a server has at most 200 here')
})

/** A server of the first revision, with one template and one skill that it lists nowhere. */
async function older(): Promise<HostileServer> {
  const au = await today()
  au.offers = 'index-r0'
  return au
}

async function today(): Promise<HostileServer> {
  const au = await HostileServer.start()
  au.templates = [{ uriTemplate: SPACE, name: 'Products', description: 'One skill for each' }]
  au.skills.set(PAY, { 'SKILL.md': skill('pay') })
  au.skills.unlist(PAY)
  return au
}

async function homeOf(au: HostileServer, ...more: string[]): Promise<Home> {
  const home = await Home.create()
  await home.configure({ au: [`mcp: "${au.url}"`, ...more] })
  return home
}

/** Undefined where nothing was decided. */
async function decisionsOf(home: Home): Promise<any> {
  const text = await readFile(join(home.state, 'decisions.json'), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : JSON.parse(text)
}

function skill(name: string): string {
  return `---\nname: ${name}\ndescription: d\n---\nbody\n`
}
