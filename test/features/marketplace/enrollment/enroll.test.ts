import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { World } from '../../../e2e/world.ts'

let world: World

beforeAll(async () => {
  world = await World.createShared()
})
afterAll(async () => world?.[Symbol.asyncDispose]())

async function serving(lines: string): Promise<void> {
  const { configFile } = world.home
  const text = await readFile(configFile, 'utf8')
  const rest = text.replace(/^(?:serve|packs): .*\n/gm, '')
  await writeFile(configFile, `${rest}packs: [{ id: docs, include: [{ source: team }] }]\nserve: { ${lines} }\n`)
}

test('without a marketplace the command says how to get one', async () => {
  await serving('http: { port: 0 }')

  expect(await world.home.command('hub', 'enroll')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('give it a name in serve.marketplace'),
  })
})

test('each agent has its commands, and git gets the token', async () => {
  await serving('http: { public_url: "https://hub.example.com" }, marketplace: { name: acme }')

  const { status, stdout } = await world.home.command('hub', 'enroll')

  expect(status).toBe(0)
  for (const text of [
    'machine hub.example.com login token password TOKEN',
    'claude plugin marketplace add https://hub.example.com/marketplace.git',
    'claude plugin install docs@acme',
    'codex plugin add skills@acme',
    'copilot plugin install docs@acme',
    '"chat.plugins.marketplaces"',
    'gemini skills install https://hub.example.com/marketplace.git --path plugins/docs/skills --consent',
    'skillsyncd hub publish --git https://github.com/ORGANIZATION/REPOSITORY.git',
  ])
    expect(stdout).toContain(text)
})

test('an organization has the files of the agents that it names, for some packs', async () => {
  await serving('http: { public_url: "https://hub.example.com" }, marketplace: { name: acme }')

  const args = ['codex', 'claude-code', '--organization', '--pack', 'docs', '--json']
  const { agents, token } = JSON.parse((await world.home.command('hub', 'enroll', ...args)).stdout)

  expect(token.where).toBe('~/.netrc')
  expect(agents.map(({ agent }: { agent: string }) => agent)).toEqual(['claude-code', 'codex'])
  expect(JSON.parse(agents[0].steps[0].text)).toEqual({
    extraKnownMarketplaces: {
      acme: { source: { source: 'git', url: 'https://hub.example.com/marketplace.git' }, autoUpdate: true },
    },
    enabledPlugins: { 'docs@acme': true },
    strictKnownMarketplaces: [{ source: 'hostPattern', hostPattern: String.raw`^hub\.example\.com$` }],
  })
  expect(agents[1].steps.map(({ where }: { where: string }) => where)).toEqual([
    '/etc/codex/config.toml',
    '/etc/codex/requirements.toml',
  ])
  expect(agents[1].steps[1].text).toContain(String.raw`host_pattern = '^hub\.example\.com$'`)
})

test.each([
  [['nobody'], 'is no agent that is known'],
  [['gemini', '--organization'], 'has no file for all users'],
  [['claude-code', 'vscode', '--organization'], 'vscode has no file for all users'],
  [['--url', 'ftp://x'], 'is no http(s) address'],
  [['--url', 'https://user:secret@hub.example.com'], 'without a user'],
  [['--pack', 'none'], 'names packs of the configuration'],
])('%j is refused', async (args, message) => {
  await serving('http: { port: 8741 }, marketplace: { name: acme }')

  const { status, stderr } = await world.home.command('hub', 'enroll', ...args)

  expect(status).toBe(2)
  expect(stderr).toContain(message)
  expect(stderr).not.toContain('secret@')
})
