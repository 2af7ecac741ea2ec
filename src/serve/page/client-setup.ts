import { shellWord } from '../../base/text/shell-word.ts'

/** The steps to add this server to one client. */
export interface ClientWay {
  readonly client: string
  readonly steps: readonly SetupStep[]
}

/** A text to copy. `where`: a shell, or the name of its file. */
export interface SetupStep {
  readonly where: string
  readonly text: string
}

/** Returns the setup of common clients. Each gets the token in a way that keeps it out of files, if there is one. */
export function clientWays(address: string, isTokenRequired: boolean): ClientWay[] {
  const url = `${address}/mcp`
  return [
    {
      client: 'Claude Code',
      steps: [shell(`claude mcp add --transport http ${NAME} ${shellWord(url)}`, isTokenRequired && HEADER)],
    },
    {
      client: 'Claude Desktop',
      steps: [json('claude_desktop_config.json', { mcpServers: { [NAME]: throughRemote(url, isTokenRequired) } })],
    },
    {
      client: 'Cursor',
      steps: [
        json('~/.cursor/mcp.json', {
          mcpServers: { [NAME]: { url, ...headers(isTokenRequired, `\${env:${TOKEN}}`) } },
        }),
      ],
    },
    { client: 'VS Code', steps: [json('.vscode/mcp.json', vsCode(url, isTokenRequired))] },
    {
      client: 'Codex',
      steps: [
        shell(`codex mcp add ${NAME} --url ${shellWord(url)}`, isTokenRequired && `--bearer-token-env-var ${TOKEN}`),
        { where: '~/.codex/config.toml', text: codexToml(url, isTokenRequired) },
      ],
    },
    {
      client: 'Gemini CLI',
      steps: [
        shell('gemini mcp add --scope user --transport http', isTokenRequired && HEADER, `${NAME} ${shellWord(url)}`),
        json('~/.gemini/settings.json', {
          mcpServers: { [NAME]: { httpUrl: url, ...headers(isTokenRequired, `$${TOKEN}`) } },
        }),
      ],
    },
    {
      client: 'MCP Inspector',
      steps: [
        shell(
          `npx @modelcontextprotocol/inspector --cli ${shellWord(url)} --transport http --method skills/list --verify`,
          isTokenRequired && HEADER,
        ),
      ],
    },
  ]
}

/** The name of the server in a client. */
const NAME = 'skills'

/** The environment variable of the token. */
const TOKEN = 'SKILLS_TOKEN'

const HEADER = `--header "Authorization: Bearer $${TOKEN}"`

function shell(...parts: readonly (string | false)[]): SetupStep {
  return { where: 'Shell', text: parts.filter((part) => part !== false).join(' ') }
}

function json(where: string, value: object): SetupStep {
  return { where, text: JSON.stringify(value, undefined, 2) }
}

function headers(isTokenRequired: boolean, token: string): object {
  return isTokenRequired ? { headers: { Authorization: `Bearer ${token}` } } : {}
}

/**
 * Claude Desktop only starts programs. Windows loses spaces in arguments, so the value of the header comes from the
 * environment.
 */
function throughRemote(url: string, isTokenRequired: boolean): object {
  const args = ['-y', 'mcp-remote', url, ...(url.startsWith('http:') ? ['--allow-http'] : [])]
  if (!isTokenRequired) return { command: 'npx', args }
  return {
    command: 'npx',
    args: [...args, '--header', 'Authorization:${AUTHORIZATION}'],
    env: { AUTHORIZATION: 'Bearer TOKEN' },
  }
}

function vsCode(url: string, isTokenRequired: boolean): object {
  const servers = { [NAME]: { type: 'http', url, ...headers(isTokenRequired, '${input:skills-token}') } }
  if (!isTokenRequired) return { servers }
  const input = { type: 'promptString', id: 'skills-token', description: 'Token of the skills server', password: true }
  return { inputs: [input], servers }
}

function codexToml(url: string, isTokenRequired: boolean): string {
  const token = isTokenRequired ? `\nbearer_token_env_var = "${TOKEN}"` : ''
  return `[mcp_servers.${NAME}]\nurl = ${JSON.stringify(url)}${token}`
}
