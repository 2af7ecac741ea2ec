import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../e2e/world.ts'

const HTTP = { type: 'http', url: 'http://127.0.0.1:8741/mcp' }

test.each([
  ['claude-code', '.claude.json', JSON.stringify({ mcpServers: { skills: HTTP } })],
  ['claude-code', '.claude.json', JSON.stringify({ projects: { '/work': { mcpServers: { skills: HTTP } } } })],
  ['codex', '.codex/config.toml', '[mcp_servers.skills]\ncommand = "skillsyncd"\nargs = ["mcp"]\n'],
  ['cursor', '.cursor/mcp.json', JSON.stringify({ mcpServers: { skills: { url: 'http://localhost:8741/mcp' } } })],
  ['gemini-cli', '.gemini/settings.json', JSON.stringify({ mcpServers: { skills: { httpUrl: HTTP.url } } })],
  ['copilot', '.copilot/mcp-config.json', JSON.stringify({ mcpServers: { skills: HTTP } })],
  ['opencode', 'config/opencode/opencode.json', `{ "mcp": { /* mine */ "skills": { "url": "${HTTP.url}" } } }`],
  [
    'windsurf',
    '.codeium/windsurf/mcp_config.json',
    JSON.stringify({ mcpServers: { skills: { command: 'skillsyncd' } } }),
  ],
  ['antigravity', '.gemini/config/mcp_config.json', JSON.stringify({ mcpServers: { skills: HTTP } })],
])('link says that %s has the skills over MCP too, by %s', async (agent, file, text) => {
  await using world = await World.create()
  const { home, git, repository } = world
  await home.configure({ team: [`url: ${git.serve('team', repository)}`] }, [])
  await world.synced()
  const path = join(home.path, file)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text.replaceAll('8741', '0'))

  const linked = await home.command('link', '--once', agent)

  expect(linked).toMatchObject({ status: 0, stderr: '' })
  expect(linked.stdout).toContain(` has these skills over MCP too, by ${path}: it may show each twice; `)
})

test.each([
  ['another server', JSON.stringify({ mcpServers: { other: { command: 'other' } } })],
  ['a project of that name', JSON.stringify({ projects: { '/work/skillsyncd': { mcpServers: {} } } })],
  ['no JSON', '{'],
])('link says nothing of MCP to an agent that has %s', async (_, text) => {
  await using world = await World.create()
  await world.synced()
  await writeFile(join(world.home.path, '.claude.json'), text)

  const linked = await world.home.command('link', '--once', 'claude-code')

  expect(linked.stdout).not.toContain('over MCP too')
})

test('doctor says it of a folder that the configuration names, also by an address of IPv6', async () => {
  await using world = await World.create()
  const { home, git, repository } = world
  await home.configure({ team: [`url: ${git.serve('team', repository)}`] }, ['links: [claude-code]'])
  const text = await readFile(home.configFile, 'utf8')
  await writeFile(home.configFile, text.replace('http: { port: 0 }', "http: { host: '::1', port: 0 }"))
  await world.synced()
  const servers = { mcpServers: { skills: { type: 'http', url: 'http://[::1]:0/mcp' } } }
  await writeFile(join(home.path, '.claude.json'), JSON.stringify(servers))

  const { stdout } = await home.command('doctor')

  expect(stdout).toContain('1 skill linked, as served\n')
  expect(stdout).toContain(
    `warn  links ${join(home.path, '.claude/skills')}: Claude Code has these skills over MCP too`,
  )
})

test('doctor and status name a folder of the configuration that is refused', async () => {
  await using world = await World.create()
  const { home, git, repository } = world
  const refused = join(home.state, 'skills')
  await home.configure({ team: [`url: ${git.serve('team', repository)}`] }, [`links: [{ to: ${refused} }]`])
  await world.synced()

  const said = [await home.command('doctor'), await home.command('status')]

  expect(said[0]!.stdout).toContain(`warn  links ${refused}: alpha: not there, or older\n`)
  expect(said[1]!.stdout).toContain(
    `! folder ${refused}: folder-behind: alpha not as served\n  skillsyncd link --to ${refused}\n`,
  )
})

test('link and doctor say that an agent has the skills of a hub twice, if the hub itself is one of its servers', async () => {
  await using world = await World.create()
  const { home, git, repository } = world
  const hub = 'http://127.0.0.1:9/mcp'
  const team = [`url: ${git.serve('team', repository)}`]
  await home.configure({ team, hub: [`mcp: ${hub}`, 'folders: true'] }, ['links: [claude-code]'])
  await home.command('sync')
  await writeFile(
    join(home.path, '.claude.json'),
    JSON.stringify({ mcpServers: { skills: { type: 'http', url: hub } } }),
  )

  const said = [await home.command('link', '--once', 'claude-code'), await home.command('doctor')]
  await home.configure({ team, hub: [`mcp: ${hub}`] }, ['links: [claude-code]'])
  const without = await home.command('link', '--once', 'claude-code')

  for (const { stdout } of said) expect(stdout).toContain('Claude Code has the skills of hub over MCP too, by ')
  expect(without.stdout).not.toContain('over MCP too')
})

test('link, the list of folders, doctor and status say which skills an agent does not show', async () => {
  await using world = await World.create()
  const text = `---\nname: long\ndescription: ${'Does it. '.repeat(120)}\n---\nBody\n`
  await world.repository.commit({ 'long/SKILL.md': text })
  await world.synced()

  const linked = await world.home.command('link', '--once', 'copilot')
  const list = await world.home.command('link')
  const doctor = await world.home.command('doctor')
  const status = await world.home.command('status')

  const line = 'GitHub Copilot does not show long: its description is over 1,024 characters'
  expect(linked).toMatchObject({ status: 0, stderr: '' })
  for (const { stdout } of [linked, list, doctor, status]) expect(stdout).toContain(line)
})
