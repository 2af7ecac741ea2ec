import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { ask } from '../../serve/http/ask.ts'
import { legacyHttp, modernHttp } from '../../support/clients/peer.ts'
import { Figures, promtool } from '../../support/http/prometheus.ts'
import { World, skill } from '../world.ts'

const OPERATIONS = new URL('../../../docs/operations.md', import.meta.url)

/** The page of a daemon that has served, been refused and failed. */
async function pageOf(world: World): Promise<{ readonly origin: string; readonly text: string }> {
  const daemon = world.home.start('start')
  const url = await daemon.line()
  const { origin } = new URL(url)
  await daemon.said((line) => line.includes('"pull-failed"'))
  await daemon.said((line) => line.includes('"source-updated"'))
  const peer = await modernHttp(url)
  const heard = await peer.subscribe(['skill://team/alpha/SKILL.md'])
  await peer.call('resources/read', { uri: 'skill://team/alpha/SKILL.md' })
  await peer.call('resources/read', { uri: 'skill://team/nowhere/SKILL.md' })
  await peer.call('secret/canary-method', {})
  await ask(origin, '/mcp', { method: 'POST', headers: { 'content-type': 'application/json' }, body: 'no JSON' })
  await ask(origin, '/canary-path')
  await ask(origin, '/healthz', { headers: { host: 'canary.example.com' } })
  await world.repository.commit({ 'alpha/SKILL.md': skill('alpha', 'second'), 'beta/SKILL.md': 'none' })
  await heard.next(({ method }) => method === 'notifications/resources/updated')
  const { text } = await ask(origin, '/metrics')
  await heard[Symbol.asyncDispose]()
  return { origin, text }
}

/** With a source that answers, looked at each second, and one that does not. */
async function twoSources(): Promise<World> {
  const world = await World.create()
  const url = world.git.serve('team', world.repository)
  await world.home.configure({
    team: [`url: ${url}`, 'every: 1s', 'required: true', 'max_age: 2h'],
    gone: [`url: ${url}`, 'ref: refs/heads/gone', 'every: 1h'],
  })
  return world
}

test('/metrics says of sources, of the catalog and of serving what became of them, as a parser of others reads it', async () => {
  await using world = await twoSources()

  const figures = new Figures((await pageOf(world)).text)

  const team = { source: 'team' }
  expect(figures.value('skillsyncd_source_last_success_timestamp_seconds', team)).toBeGreaterThan(1.7e9)
  expect(figures.value('skillsyncd_source_last_attempt_timestamp_seconds', { source: 'gone' })).toBeGreaterThan(1.7e9)
  expect(figures.value('skillsyncd_source_last_success_timestamp_seconds', { source: 'gone' })).toBe(0)
  expect(figures.value('skillsyncd_source_age_seconds', team)).toBeLessThan(60)
  expect(figures.value('skillsyncd_source_age_seconds', { source: 'gone' })).toBe(Number.POSITIVE_INFINITY)
  expect(figures.value('skillsyncd_source_max_age_seconds', team)).toBe(7_200)
  expect(figures.value('skillsyncd_source_stale', team)).toBe(0)
  expect(figures.value('skillsyncd_source_stale', { source: 'gone' })).toBe(1)
  expect(figures.value('skillsyncd_source_problem', { source: 'gone', code: 'ref-not-found' })).toBe(1)
  expect(figures.value('skillsyncd_source_pulls_total', { ...team, outcome: 'updated' })).toBe(2)
  expect(figures.value('skillsyncd_source_pulls_total', { source: 'gone', code: 'ref-not-found' })).toBe(1)
  expect(figures.value('skillsyncd_source_fetched_bytes_total', team)).toBe(
    skill('alpha', 'first').length + skill('alpha', 'second').length + 4,
  )
  expect(figures.value('skillsyncd_source_skills', { ...team, state: 'served' })).toBe(1)
  expect(figures.value('skillsyncd_source_skills', { ...team, state: 'withheld' })).toBe(1)
  expect(figures.value('skillsyncd_source_findings', team)).toBe(1)
  expect(figures.value('skillsyncd_catalog_generation')).toBe(2)
  expect(figures.value('skillsyncd_catalog_skills')).toBe(1)
  expect(figures.value('skillsyncd_ready')).toBe(1)
  const asked = (labels: Record<string, string>) => figures.value('skillsyncd_mcp_requests_total', labels)
  expect(asked({ method: 'resources/read', result: 'ok' })).toBe(1)
  expect(asked({ method: 'resources/read', result: 'error' })).toBe(1)
  expect(asked({ method: 'subscriptions/listen', result: 'ok' })).toBe(1)
  expect(asked({ method: 'other', result: 'error' })).toBe(1)
  expect(figures.value('skillsyncd_mcp_request_duration_seconds_count', { method: 'resources/read' })).toBe(2)
  expect(figures.value('skillsyncd_http_requests_total', { route: '/mcp', code: '400' })).toBe(1)
  expect(figures.value('skillsyncd_http_requests_total', { route: 'none', code: '404' })).toBe(1)
  expect(figures.value('skillsyncd_http_requests_total', { route: 'none', code: '403' })).toBe(1)
  expect(figures.value('skillsyncd_http_streams')).toBe(1)
  expect(figures.value('skillsyncd_notifications_total', { kind: 'updated' })).toBeGreaterThan(0)
  expect(figures.value('skillsyncd_build_info', { version: '0.1.0' })).toBe(1)
  expect(figures.value('process_resident_memory_bytes')).toBeGreaterThan(2 ** 24)
})

test('names and units keep the conventions, and /metrics has no foreign words but the paths of used skills', async () => {
  await using world = await twoSources()

  const { text } = await pageOf(world)

  const { families } = new Figures(text)
  for (const { name, type, help } of families) {
    expect(name).toMatch(/^(?:skillsyncd|process|nodejs)_[a-z_]+$/)
    expect(name.endsWith('_total'), name).toBe(type === 'COUNTER')
    expect(name, name).not.toMatch(/_(?:ms|milliseconds|kb|mb|minutes|hours|count|sum|bucket)(?:_|$)/)
    expect(help.endsWith('.'), name).toBe(true)
  }
  expect(text.split('\n').length).toBeLessThan(500)
  const withoutSkills = text.replaceAll(/^skillsyncd_skill_(?:loads|reads|failures)_total\{skill="[^"]*"\} /gm, '')
  for (const secret of ['canary', 'alpha', 'http:', world.home.path]) expect(withoutSkills).not.toContain(secret)
})

test('docs/operations.md has each figure with its kind and help as /metrics has it (UPDATE_METRICS=1 writes them anew)', async () => {
  await using world = await twoSources()
  const docs = await readFile(OPERATIONS, 'utf8')

  const { text } = await pageOf(world)

  const rows = new Figures(text).families.map(({ name, type, help }) => `\`${name}\` | ${type.toLowerCase()} | ${help}`)
  const table = ['Name | Kind | Meaning', '--- | --- | ---', ...rows].join('\n')
  const fresh = docs.replace(/(<!-- metrics -->\n)[^]*?(?=<!-- end -->)/, `$1\n${table}\n\n`)
  if (process.env['UPDATE_METRICS'] === '1') await writeFile(OPERATIONS, fresh)
  expect(rows.length).toBeGreaterThan(60)
  expect(await readFile(OPERATIONS, 'utf8'), 'run this test with UPDATE_METRICS=1, and commit the file').toBe(fresh)
})

// Without promtool the parser above alone says whether it is Prometheus' form. CI installs it.
test('promtool, the tool of Prometheus itself, finds nothing wrong with /metrics', async () => {
  await using world = await twoSources()

  const { text } = await pageOf(world)

  expect(promtool(['check', 'metrics'], text)).toEqual({ status: 0, said: '' })
})

test('who asks for OpenMetrics gets the same figures in it, and who likes the older form better gets that', async () => {
  await using world = await World.create()
  const { origin } = new URL(await world.home.start('start').line())
  const accepting = async (accept: string) => ask(origin, '/metrics', { headers: { accept } })

  const open = await accepting(
    'application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
  )
  const plain = await accepting('text/plain, application/openmetrics-text;q=0.5')
  const hostile = await accepting('application/openmetrics-text;q=,'.repeat(400))
  const head = await ask(origin, '/metrics', { method: 'HEAD' })
  const posted = await ask(origin, '/metrics', { method: 'POST' })

  expect(open.headers['content-type']).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
  expect(open.text).toMatch(/\n# EOF\n$/)
  expect(open.text).toContain('# TYPE skillsyncd_mcp_requests counter\nskillsyncd_mcp_requests_total{')
  expect(plain.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(plain.text).toContain('# TYPE skillsyncd_mcp_requests_total counter\n')
  expect(hostile.status).toBe(200)
  expect([head.status, head.text]).toEqual([200, ''])
  expect([posted.status, posted.headers.allow]).toEqual([405, 'GET, HEAD'])
})

test('each message of a batch and the handshake of the older era are counted', async () => {
  await using world = await World.create()
  await world.synced()
  const url = await world.home.start('start').line()
  const peer = await legacyHttp(url, '2025-03-26')
  await peer.call('ping', {})
  const params = { uri: 'skill://team/alpha/SKILL.md' }

  await ask(new URL(url).origin, '/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': peer.session,
    },
    body: JSON.stringify([1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'resources/read', params }))),
  })

  const figures = new Figures((await ask(new URL(url).origin, '/metrics')).text)
  const counted = ['initialize', 'ping', 'resources/read'].map((method) =>
    figures.value('skillsyncd_mcp_requests_total', { method, result: 'ok' }),
  )
  expect(counted).toEqual([1, 1, 2])
})

test('where nobody records who asked, it is counted all the same', async () => {
  await using world = await World.create()
  await world.synced()
  await append(world, 'audit: { enabled: false }')
  const url = await world.home.start('start').line()
  const peer = await modernHttp(url)

  await peer.call('skills/list', {})

  const figures = new Figures((await ask(new URL(url).origin, '/metrics')).text)
  expect(figures.value('skillsyncd_mcp_requests_total', { method: 'skills/list', result: 'ok' })).toBe(1)
})

test('with -metrics in serve.forms there is no /metrics', async () => {
  await using world = await World.create()
  await serveAs(world, 'http: { port: 0 }, forms: [default, -metrics]')
  const { origin } = new URL(await world.home.start('start').line())

  expect((await ask(origin, '/metrics')).status).toBe(404)
})

test('off loopback there is no /metrics beside MCP, and who asks for one is told where it can be', async () => {
  await using world = await World.create()
  await world.home.command('hub', 'token', 'add', 'prometheus', '--scope', 'metrics')
  await serveAs(world, 'http: { host: 0.0.0.0, port: 0 }')
  const { port } = new URL(await world.home.start('start').line())

  const beside = await ask(`http://127.0.0.1:${port}`, '/metrics')
  await serveAs(world, 'http: { host: 0.0.0.0, port: 0 }, forms: [default, metrics]')
  const { status, stderr } = await world.home.run('start', '--state', `${world.home.path}/other`)
  const named = ['--skills-dir', world.home.path, '--host', '0.0.0.0', '--port', '0', '--form', 'metrics']
  const byOption = await world.home.command('start', ...named)

  expect(beside.status).toBe(404)
  expect(status).toBe(2)
  expect(stderr).toContain(
    'Cannot listen on "0.0.0.0": off loopback, /metrics is at an address of its own; set serve.operations, or remove metrics from serve.forms',
  )
  expect(byOption).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('at an address of its own; leave out --form metrics\n'),
  })
})

test('off loopback /metrics is at serve.operations, for a token that opens it; webhooks and health need none', async () => {
  await using world = await World.create()
  const token = async (...scope: string[]) =>
    (await world.home.command('hub', 'token', 'add', ['t', ...scope].join('-'), '--scope', ...scope)).stdout.trim()
  const [reader, prometheus] = [await token('skills'), await token('metrics')]
  await serveAs(world, 'http: { host: 0.0.0.0, port: 0 }, operations: { host: 0.0.0.0, port: 0 }')
  const daemon = world.home.start('start')
  await daemon.line()
  const { operations } = JSON.parse(await daemon.said((line) => line.includes('"started"')))
  const origin = `http://127.0.0.1:${new URL(operations).port}`
  const by = async (token: string) => ask(origin, '/metrics', { headers: { authorization: `Bearer ${token}` } })

  const none = await ask(origin, '/metrics')
  const wrong = await by(reader)
  const right = await by(prometheus)
  const health = await ask(origin, '/healthz')
  const rebound = await ask(origin, '/metrics', {
    headers: { host: 'evil.example', authorization: `Bearer ${prometheus}` },
  })

  expect([none.status, wrong.status, right.status, health.status, rebound.status]).toEqual([401, 403, 200, 200, 403])
  expect(new Figures(right.text).value('skillsyncd_http_requests_total', { route: '/metrics', code: '401' })).toBe(1)
  expect(right.text).not.toContain(reader)
})

test('at serve.operations /metrics is public where that is said on purpose', async () => {
  await using world = await World.create()
  await world.home.command('hub', 'token', 'add', 'reader')
  await serveAs(world, 'http: { host: 0.0.0.0, port: 0 }, operations: { host: 0.0.0.0, port: 0 }, public: [metrics]')
  const daemon = world.home.start('start')
  await daemon.line()
  const { operations } = JSON.parse(await daemon.said((line) => line.includes('"started"')))

  const { status } = await ask(`http://127.0.0.1:${new URL(operations).port}`, '/metrics')

  expect(status).toBe(200)
})

test('behind a proxy that brings others to loopback, /metrics needs a token too, unless it is public on purpose', async () => {
  await using world = await World.create()
  await world.home.command('hub', 'token', 'add', 'reader')
  const proxied = `http: { port: 0, public_url: 'https://skills.example.com' }`
  await serveAs(world, proxied)
  const closed = world.home.start('start')
  const before = await ask(new URL(await closed.line()).origin, '/metrics')
  await closed.stop()
  await serveAs(world, `${proxied}, public: [metrics]`)

  const open = await ask(new URL(await world.home.start('start').line()).origin, '/metrics')

  expect([before.status, open.status]).toEqual([401, 200])
})

test('what was counted goes on through a reload, and says of the sources that there are then', async () => {
  await using world = await World.create()
  await world.synced()
  const daemon = world.home.start('start')
  const url = await daemon.line()
  const { origin } = new URL(url)
  const peer = await modernHttp(url)
  await peer.call('skills/list', {})
  await world.home.command('sync')
  const before = new Figures((await ask(origin, '/metrics')).text)
  const repository = world.git.serve('team', world.repository)
  await world.home.configure({
    team: [`url: ${repository}`, 'every: 2h'],
    more: [`url: ${repository}`, 'every: 1h'],
  })

  const { status } = await world.home.command('reload')
  await peer.call('skills/list', {})
  await world.home.command('sync')

  const after = new Figures((await ask(origin, '/metrics')).text)
  expect(status).toBe(0)
  const listed = { method: 'skills/list', result: 'ok' }
  expect(after.value('skillsyncd_mcp_requests_total', listed)).toBe(2)
  const unchanged = (figures: Figures) =>
    figures.value('skillsyncd_source_pulls_total', { source: 'team', outcome: 'unchanged' }) ?? 0
  expect(unchanged(before)).toBeGreaterThan(0)
  expect(unchanged(after)).toBeGreaterThan(unchanged(before))
  expect(after.value('skillsyncd_source_fetched_bytes_total', { source: 'more' })).toBe(skill('alpha', 'first').length)
})

test('a reload that moves the figures is refused, as all that is set up once', async () => {
  await using world = await World.create()
  await world.home.start('start').line()
  await serveAs(world, 'http: { port: 0 }, forms: [default, -metrics]')

  const { status, stderr } = await world.home.command('reload')

  expect(status).not.toBe(0)
  expect(stderr).toContain('metrics in serve.forms')
})

async function serveAs({ home }: World, serve: string): Promise<void> {
  const config = await readFile(home.configFile, 'utf8')
  await writeFile(home.configFile, config.replace(/^serve: .*$/m, `serve: { ${serve} }`))
}

async function append({ home }: World, line: string): Promise<void> {
  await writeFile(home.configFile, `${await readFile(home.configFile, 'utf8')}${line}\n`)
}

test('who leaves in the middle of a request is counted as having left, and not as a fault of ours', async () => {
  await using world = await World.create()
  const { origin } = new URL(await world.home.start('start').line())
  const { hostname, port } = new URL(origin)
  const head = `POST /mcp HTTP/1.1\r\nhost: ${hostname}:${port}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n`

  const socket = connect(Number(port), hostname)
  socket.write(head)
  // By then the request is in hand, and waits for its body.
  const [told] = await once(socket, 'data')
  socket.destroy()

  const left = async () =>
    new Figures((await ask(origin, '/metrics')).text).value('skillsyncd_http_requests_total', {
      route: '/mcp',
      code: '499',
    })
  expect(String(told)).toMatch(/^HTTP\/1\.1 100 /)
  await expect.poll(left).toBe(1)
})
