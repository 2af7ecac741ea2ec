import { createHash } from 'node:crypto'
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { exchange, modern } from '../../../conformance/exchange.ts'
import { World } from '../../../e2e/world.ts'

test('add prints the token once, and what is kept is a hash of it, readable by its owner alone', async () => {
  await using world = await World.create()
  const { home } = world
  const file = join(home.state, 'tokens.json')

  const added = await home.command('hub', 'token', 'add', 'ci', '--scope', 'skills,tools', '--expires', '12h')
  const listed = await home.command('hub', 'token', 'list', '--json')

  expect(added).toMatchObject({ status: 0, stdout: expect.stringMatching(/^sks_[\w-]{43}\n$/) })
  const token = added.stdout.trim()
  const kept = await readFile(file, 'utf8')
  expect(kept).toContain(createHash('sha256').update(token).digest('hex'))
  expect(((await stat(file)).mode & 0o777).toString(8)).toBe('600')
  expect(JSON.parse(listed.stdout).tokens).toMatchObject([{ name: 'ci', scopes: ['skills', 'tools'], expired: false }])
  for (const text of [kept, listed.stdout, added.stderr]) expect(text).not.toContain(token)
})

test('a running daemon heeds each change at once', async () => {
  await using world = await World.create()
  const { home } = world
  const daemon = home.start('start')
  const url = await daemon.line()
  const statusFor = async (token: string): Promise<number> => {
    const { headers, body } = modern('skills/list')
    return (await exchange(url, { headers: { ...headers, authorization: `Bearer ${token}` }, body })).status
  }

  const added = JSON.parse((await home.command('hub', 'token', 'add', 'ci', '--expires', 'never', '--json')).stdout)
  const before = await statusFor(added.token)
  const status = JSON.parse((await home.command('status', '--json')).stdout)
  const lines = (await home.command('status')).stdout
  const revoked = await home.command('hub', 'token', 'revoke', 'ci')
  const after = await statusFor(added.token)

  expect(added).toEqual({
    name: 'ci',
    token: added.token,
    scopes: ['skills', 'tools', 'prompts', 'contract', 'page'],
    created: added.created,
    expired: false,
  })
  expect([before, after]).toEqual([200, 401])
  expect(status.http.tokens).toEqual({ required: false, count: 1, expiring: [] })
  expect(lines).toContain('clients need no token; there is 1 token\n')
  expect(revoked).toMatchObject({ status: 0, stdout: 'ci is revoked\n' })
})

test('a token that expires soon is in the status and the metrics, and renew moves its expiry', async () => {
  await using world = await World.create()
  const { home } = world
  const daemon = home.start('start')
  const url = await daemon.line()
  const metrics = async () => (await fetch(new URL('/metrics', url))).text()
  const statusOf = async (token: string): Promise<number> => {
    const { headers, body } = modern('skills/list')
    return (await exchange(url, { headers: { ...headers, authorization: `Bearer ${token}` }, body })).status
  }

  const added = JSON.parse((await home.command('hub', 'token', 'add', 'ci', '--expires', '12h', '--json')).stdout)
  await statusOf(added.token)
  const status = await home.command('status')
  const figures = await metrics()
  await expect
    .poll(async () => (await home.command('hub', 'token', 'list')).stdout)
    .toMatch(/ci +all +in 11 h +(?:now|\d+ s ago) /)
  const renewed = await home.command('hub', 'token', 'renew', 'ci', '--expires', '30d')

  expect(status.stdout).toContain('! token ci: token-expiring: it expires in 11 h (')
  expect(figures).toContain(`skillsyncd_token_next_expiry_timestamp_seconds ${Date.parse(added.expires) / 1_000}`)
  expect(renewed).toMatchObject({ status: 0, stdout: expect.stringMatching(/^ci expires \d{4}-/) })
  expect((await home.command('status')).stdout).not.toContain('! token ci')
  expect((await home.command('hub', 'token', 'list')).stdout).toMatch(/ci +all +in 29 days /)
  expect(await home.command('hub', 'token', 'renew', 'none')).toMatchObject({ status: 1 })
  expect(await home.command('hub', 'token', 'renew', 'ci', '--scope', 'page')).toMatchObject({ status: 2 })
})

test('a damaged file is an error for each command, keeps everybody out, and is not written over', async () => {
  await using world = await World.create()
  const { home } = world
  const file = join(home.state, 'tokens.json')
  const token = (await home.command('hub', 'token', 'add', 'ci')).stdout.trim()
  await writeFile(file, (await readFile(file, 'utf8')).slice(0, -20))
  const damaged = await readFile(file, 'utf8')

  const commands = [
    await home.command('hub', 'token', 'list'),
    await home.command('hub', 'token', 'add', 'other'),
    await home.command('hub', 'token', 'revoke', 'ci'),
  ]
  const daemon = home.start('start', '--host', '0.0.0.0')
  const { port } = new URL(await daemon.line())
  const { headers, body } = modern('skills/list')
  const reply = await exchange(`http://127.0.0.1:${port}/mcp`, {
    headers: { ...headers, authorization: `Bearer ${token}` },
    body,
  })

  expect(commands.map(({ status }) => status)).toEqual([1, 1, 1])
  for (const { stderr, stdout } of commands) {
    expect(stderr).toContain('it is damaged; no token is accepted')
    expect(stdout).toBe('')
  }
  expect(reply.status).toBe(401)
  expect(await readFile(file, 'utf8')).toBe(damaged)
  expect(await daemon.said((line) => line.includes('"tokens-not-read"'))).toContain('store-failed')
})

test('once the damaged file is removed, a running daemon makes new tokens and lets them in', async () => {
  await using world = await World.create()
  const { home } = world
  const file = join(home.state, 'tokens.json')
  await home.command('hub', 'token', 'add', 'old')
  await writeFile(file, '{')
  const daemon = home.start('start')
  const url = await daemon.line()

  const before = await home.command('hub', 'token', 'add', 'new')
  await rm(file)
  const after = await home.command('hub', 'token', 'add', 'new')
  const status = JSON.parse((await home.command('status', '--json')).stdout)
  const { headers, body } = modern('skills/list')
  const authorization = `Bearer ${after.stdout.trim()}`
  const reply = await exchange(url, { headers: { ...headers, authorization }, body })

  expect(before).toMatchObject({ status: 1, stderr: expect.stringContaining('it is damaged') })
  expect(after.status).toBe(0)
  expect(reply.status).toBe(200)
  expect(status.http.tokens).toEqual({ required: false, count: 1, expiring: [] })
})

test('with a token that has expired alone, nobody could be let in: the start is refused', async () => {
  await using world = await World.create()
  await world.home.command('hub', 'token', 'add', 'ci', '--expires', '1m')
  const file = join(world.home.state, 'tokens.json')
  const text = await readFile(file, 'utf8')
  const expired = text.replace(/"expires": "[^"]+"/, '"expires": "2026-01-01T00:00:00.000Z"')
  expect(expired).not.toBe(text)
  await writeFile(file, expired)

  const started = await world.home.run('start', '--host', '0.0.0.0')

  expect(started).toMatchObject({ status: 2, stdout: '' })
  expect(started.stderr).toContain('skillsyncd hub token add NAME')
})

test('whatever has clients of other machines come is named where there is no token for them', async () => {
  await using world = await World.create()
  const named = ['public_url: https://skills.example.com', 'allowed_hosts: [skills.example.com]', 'host: 0.0.0.0']

  const config = await readFile(world.home.configFile, 'utf8')

  const said = []
  for (const line of named) {
    await writeFile(world.home.configFile, config.replace('port: 0', `port: 0, ${line}`))
    said.push((await world.home.run('start')).stderr)
  }

  expect(said[0]).toContain('since serve.http.public_url makes it reachable')
  expect(said[1]).toContain('since serve.http.allowed_hosts makes it reachable')
  expect(said[2]).toContain('since the address "0.0.0.0" makes it reachable')
})

test('what cannot be done is said, without what looks like a token, and none is made', async () => {
  await using world = await World.create()
  const mistaken = `sks_${'a'.repeat(43)}`
  const wrong = [
    { args: ['add'], status: 2, says: 'takes add NAME' },
    { args: ['add', mistaken], status: 2, says: 'The name of a token' },
    { args: ['add', 'ci', '--scope', 'skills,everything'], status: 2, says: '; "everything" is none' },
    {
      args: ['add', 'ci', '--expires', ''],
      status: 2,
      says: '--expires is a duration such as 12h or 90d, or never; "" is none',
    },
    { args: ['add', 'ci', '--expires', mistaken], status: 2, says: 'what looks like a token is none' },
    {
      args: ['list', '--scope', 'skills'],
      status: 2,
      says: '--scope goes with "hub token add", not with "hub token list"',
    },
    { args: ['revoke', 'ci', '--expires', '1h'], status: 2, says: '--expires goes with "hub token add"' },
    { args: ['add', 'ci', '--expires', '999999999d'], status: 2, says: '--expires is 3650d at most' },
    { args: ['add', 'ci', '--expires', '3651d'], status: 2, says: '--expires is 3650d at most' },
    { args: ['revoke', mistaken], status: 1, says: 'There is no token of that name' },
  ]

  const ends = await inTurn(wrong, ({ args }) => world.home.command('hub', 'token', ...args))
  const listed = await world.home.command('hub', 'token', 'list')

  expect(ends.map(({ status, stdout }) => [status, stdout])).toEqual(wrong.map(({ status }) => [status, '']))
  for (const [index, { says }] of wrong.entries()) expect(ends[index]?.stderr).toContain(says)
  expect(JSON.stringify(ends)).not.toContain(mistaken)
  expect(listed.stdout).toBe('there are no tokens\n')
})

test('a name is given once', async () => {
  await using world = await World.create()
  await world.home.command('hub', 'token', 'add', 'ci')

  const again = await world.home.command('hub', 'token', 'add', 'ci')

  expect(again).toMatchObject({ status: 1, stdout: '' })
  expect(again.stderr).toContain('There is a token "ci" already')
})

async function inTurn<Item, Result>(items: readonly Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (const item of items) results.push(await work(item))
  return results
}

test('a token has one name: revoking that ends it', async () => {
  await using world = await World.create()
  const file = join(world.home.path, 'token')
  await writeFile(file, (await world.home.command('hub', 'token', 'add', 'ada')).stdout.trim(), { mode: 0o600 })

  const again = await world.home.command('hub', 'token', 'add', 'brian', '--from', file)

  expect(again).toMatchObject({ status: 1, stdout: '' })
  expect(again.stderr).toContain('as "ada"')
})

test('add --from takes the token of a file, prints nothing of it, and is content that it is there', async () => {
  await using world = await World.create()
  const { home } = world
  const file = join(home.path, 'token')
  const token = `sks_${'canary_-77'.repeat(4)}abc`
  await writeFile(file, `${token}\n`)

  const first = await home.command('hub', 'token', 'add', 'cluster', '--from', file, '--expires', 'never')
  const again = await home.command('hub', 'token', 'add', 'cluster', '--from', file)
  await writeFile(file, token.replace('abc', 'xyz'))
  const other = await home.command('hub', 'token', 'add', 'cluster', '--from', file)

  expect(first).toMatchObject({ status: 0, stdout: 'cluster is added; never expires\n' })
  expect(again).toMatchObject({ status: 0, stdout: 'cluster is there already, as it was\n' })
  expect(other).toMatchObject({ status: 1, stderr: expect.stringContaining('There is a token "cluster" already') })
  for (const { stdout, stderr } of [first, again, other]) expect(stdout + stderr).not.toContain('canary')
  const daemon = home.start('start', '--host', '0.0.0.0')
  const url = (await daemon.line()).replace('0.0.0.0', '127.0.0.1')
  const { headers, body } = modern('skills/list')
  const asked = await exchange(url, { headers: { ...headers, authorization: `Bearer ${token}` }, body })
  expect(asked.status).toBe(200)
})

test.each([
  ['is not there', undefined, 'Cannot read the token'],
  ['holds something else', 'canary-password', 'sks_ and 32 random bytes'],
  ['holds two', `sks_${'a'.repeat(43)}\nsks_${'canary7890'.repeat(4)}abc\n`, 'sks_ and 32 random bytes'],
  ['is large', 'canary'.repeat(100_000), 'sks_ and 32 random bytes'],
])('a file for --from that %s is wrong usage, and nothing of it is repeated', async (_, text, says) => {
  await using world = await World.create()
  const file = join(world.home.path, 'token')
  if (text !== undefined) await writeFile(file, text)

  const end = await world.home.command('hub', 'token', 'add', 'cluster', '--from', file)

  expect(end).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(says) })
  expect(end.stderr).not.toContain('canary')
  expect(JSON.parse((await world.home.command('hub', 'token', 'list', '--json')).stdout)).toEqual({ tokens: [] })
})

test('several names are several tokens, each on a line with its name, and a name that is none makes no token', async () => {
  await using world = await World.create()
  const { home } = world

  const wrong = await home.command('hub', 'token', 'add', 'ada', 'no name')
  const added = await home.command('hub', 'token', 'add', 'ada', 'grace', '--scope', 'skills')
  const json = await home.command('hub', 'token', 'add', 'alan', 'edsger', '--json')
  const given = await home.command('hub', 'token', 'add', 'one', 'two', '--from', '/dev/null')
  const listed = await home.command('hub', 'token', 'list')

  expect(wrong).toMatchObject({ status: 2, stdout: '' })
  expect(added).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^ada sks_[\w-]{43}\ngrace sks_[\w-]{43}\n$/),
  })
  expect(JSON.parse(json.stdout).tokens.map(({ name }: { name: string }) => name)).toEqual(['alan', 'edsger'])
  expect(given).toMatchObject({ status: 2, stderr: expect.stringContaining('--from goes with one name') })
  expect(listed.stdout.match(/^\w+/gm)).toEqual(['ada', 'grace', 'alan', 'edsger'])
})

test('a token lives a minute at least', async () => {
  await using world = await World.create()

  const short = await world.home.command('hub', 'token', 'add', 'ada', '--expires', '59s')
  const least = await world.home.command('hub', 'token', 'add', 'ada', '--expires', '1m')

  expect(short).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('--expires is 1m at least') })
  expect(least).toMatchObject({ status: 0 })
})

test('at 80 columns the list has the packs of each token', async () => {
  await using world = await World.create()
  const { home } = world
  await writeFile(
    home.configFile,
    `${await readFile(home.configFile, 'utf8')}packs: [{ id: engineering, include: [{ path: "**" }] }]\n`,
  )
  await home.command('hub', 'token', 'add', 'ada', '--pack', 'engineering')

  const { stdout } = await home.typing([], 'hub', 'token', 'list')

  expect(stdout).toMatch(/NAME +PACKS +EXPIRES +LAST USED +CREATED +SCOPES/)
  expect(stdout).toMatch(/ada +engineering +in 89 days +never +now +skills,/)
})

test('a state folder that the command makes is told, and one of a daemon that has another by --state is found', async () => {
  await using world = await World.create()
  const { home } = world
  const elsewhere = join(home.path, 'elsewhere')
  const daemon = home.start('start', '--state', elsewhere)
  await daemon.line()

  const found = await home.command('hub', 'token', 'add', 'ada')
  const listed = JSON.parse((await home.command('hub', 'token', 'list', '--state', elsewhere, '--json')).stdout)
  const status = await home.command('status')
  await daemon.stop()
  const alone = await home.command('hub', 'token', 'add', 'grace')

  expect(found.stderr).not.toContain('note:')
  expect(listed.tokens).toMatchObject([{ name: 'ada' }])
  expect(status.stdout).toContain(elsewhere)
  expect(alone.stderr).toContain(`note: no daemon has used the state folder "${home.state}", which is new; `)
})

test('a backup of a state folder in which nothing was published is refused', async () => {
  await using world = await World.create()
  const { home } = world
  await home.command('hub', 'token', 'add', 'ada')

  const refused = await home.command('store', 'backup', join(home.path, 'backup'))

  expect(refused).toMatchObject({ status: 1, stdout: '' })
  expect(refused.stderr).toContain(
    'nothing is published there yet\n  Run skillsyncd sync first, or name the state folder of the daemon with --state\n',
  )
})
