import { expect, test } from 'vitest'
import { clientWays } from '../../../src/serve/page/connect-view.ts'

test('each common client is told the address in its own form, and what is JSON is JSON', () => {
  const ways = clientWays('https://skills.example.com', false)

  expect(ways.map(({ client }) => client)).toEqual([
    'Claude Code',
    'Claude Desktop',
    'Cursor',
    'VS Code',
    'Codex',
    'Gemini CLI',
    'MCP Inspector',
  ])
  const steps = ways.flatMap((way) => way.steps)
  for (const { text } of steps) {
    expect(text).toContain('https://skills.example.com/mcp')
    expect(text).not.toMatch(/token|Authorization/i)
  }
  for (const { text } of steps.filter(({ where }) => where.endsWith('.json')))
    expect(JSON.parse(text)).toBeTypeOf('object')
})

test('where a token is needed each is told where to take it from, and none of them has one', () => {
  const steps = Object.fromEntries(
    clientWays('https://skills.example.com', true).flatMap((way) =>
      way.steps.map(({ where, text }) => [`${way.client}, ${where}`, text]),
    ),
  )

  expect(steps['Claude Code, Shell']).toBe(
    'claude mcp add --transport http skills https://skills.example.com/mcp --header "Authorization: Bearer $SKILLS_TOKEN"',
  )
  expect(steps['Codex, Shell']).toBe(
    'codex mcp add skills --url https://skills.example.com/mcp --bearer-token-env-var SKILLS_TOKEN',
  )
  expect(steps['Codex, ~/.codex/config.toml']).toBe(
    '[mcp_servers.skills]\nurl = "https://skills.example.com/mcp"\nbearer_token_env_var = "SKILLS_TOKEN"',
  )
  const json = (step: string): unknown => JSON.parse(steps[step]!)
  const url = 'https://skills.example.com/mcp'
  expect(json('Cursor, ~/.cursor/mcp.json')).toEqual({
    mcpServers: { skills: { url, headers: { Authorization: 'Bearer ${env:SKILLS_TOKEN}' } } },
  })
  expect(json('Gemini CLI, ~/.gemini/settings.json')).toEqual({
    mcpServers: { skills: { httpUrl: url, headers: { Authorization: 'Bearer $SKILLS_TOKEN' } } },
  })
  expect(json('VS Code, .vscode/mcp.json')).toMatchObject({
    inputs: [{ id: 'skills-token', password: true }],
    servers: { skills: { type: 'http', url, headers: { Authorization: 'Bearer ${input:skills-token}' } } },
  })
  expect(json('Claude Desktop, claude_desktop_config.json')).toMatchObject({
    mcpServers: { skills: { args: ['-y', 'mcp-remote', url, '--header', 'Authorization:${AUTHORIZATION}'] } },
  })
})
