import { shellWord } from '../../base/text/shell-word.ts'
import { EMPTY_HTML, html, isolateText } from './html.ts'
import type { Html } from './html.ts'
import type { PageBody } from './layout.ts'
import type { FeatureSection, PageView } from './page-view.ts'
import { snippet } from './snippet.ts'

/** Renders the setup of clients for this server, ready to copy: one way for each, folders first. */
export function connectView(view: PageView): PageBody {
  const { address, hasInstaller, host, packs } = view
  const { isTokenRequired } = host
  const sections = host.sections?.map((section) => section(view)) ?? []
  const others = new Set(sections.flatMap(({ clients }) => clients))
  const ways = clientWays(address, isTokenRequired).filter(({ client }) => !others.has(client))
  return {
    title: 'Connect',
    place: 'connect',
    content: html`<h1>Connect</h1>
      <p class="lead">Give each agent the skills in one way. With two it shows every skill twice.</p>
      ${
        isTokenRequired
          ? html`<p class="note">
              Each client needs a token: <code>skillsyncd hub token add NAME</code> on the hub creates one. Clients that
              can read it from the environment variable <code>SKILLS_TOKEN</code>. For the others, replace TOKEN with
              it.
            </p>`
          : EMPTY_HTML
      }
      ${sections.map(({ content }) => content)}
      <h2>MCP</h2>
      <p>For the other clients. One address serves every revision of the protocol.</p>
      ${snippet('Address', `${address}/mcp`, 'the address')}
      ${packs.length === 0 ? EMPTY_HTML : packList(packs, address)}
      <div class="ways">${ways.map((way) => wayCard(way, 'MCP'))}</div>
      <p>
        A client on the machine of the hub can start the program <code>skillsyncd mcp</code>, which also gives it the
        paths of files.
      </p>
      ${snippet('Settings of the client', JSON.stringify({ mcpServers: { skills: { command: 'skillsyncd', args: ['mcp'] } } }, undefined, 2), 'the settings')}
      <h2>Installers</h2>
      ${hasInstaller ? installer(address, isTokenRequired) : html`<p class="quiet">This hub serves no files for installers.</p>`}`,
  }
}

/** Renders the way by the folders of these agents. */
export function foldersSection(agents: readonly string[]): FeatureSection {
  return ({ address, host }) => ({
    clients: [],
    content: html`<h2>Folders of agents</h2>
      <p>
        On a machine with skillsyncd, its daemon keeps the folder of an agent current. The names of the agents are
        ${agents.map((name) => html`<code>${name}</code> `)}.
      </p>
      ${snippet('Shell', 'skillsyncd link claude-code', 'the command that links the skills')}
      <p>
        On another machine than the hub, the configuration there names the hub. It may put scripts into the folders.
      </p>
      ${snippet('~/.config/skillsyncd/skillsyncd.yaml', sourceYaml(`${address}/mcp`, host.isTokenRequired), 'the source')}`,
  })
}

function sourceYaml(url: string, isTokenRequired: boolean): string {
  const auth = isTokenRequired ? `\n    auth: { token: { env: ${TOKEN} } }` : ''
  return `sources:\n  - id: hub\n    mcp: ${url}${auth}\n    approval: none\n    folders: true\nlinks: [claude-code]`
}

/** A pack costs a client fewer tokens, and is served like everything else. */
function packList(packs: PageView['packs'], address: string): Html {
  return html`<p>A pack is a part of the skills with its own address:</p>
    <ul>
      ${packs.map(({ id, description }) => html`<li><code>${address}/mcp/${id}</code>${description === undefined ? EMPTY_HTML : html` ${isolateText(description)}`}</li>`)}
    </ul>`
}

/** Renders the steps to add this server to one client. `kind` tells apart what the client gets. */
export function wayCard({ client, steps }: ClientWay, kind: 'MCP' | 'marketplace'): Html {
  return html`<section class="card" aria-label="${client}, ${kind}">
    <h3>${client}</h3>
    ${steps.map(({ where, text }) => snippet(where, text, `for ${client}, ${kind}, ${where}`))}
  </section>`
}

function installer(address: string, isTokenRequired: boolean): Html {
  const needsPublic = html`<p class="quiet">
    Installers send no token, so this works only if the files are public (<code>serve.public: [well-known]</code>).
  </p>`
  return html`<p>An installer writes the skills into the directories that agents read:</p>
    ${snippet('Shell', `npx skills add ${shellWord(address)}`, 'the command of the installer')}
    ${isTokenRequired ? needsPublic : EMPTY_HTML}`
}

/** The steps to add this server to one client. */
interface ClientWay {
  readonly client: string
  readonly steps: readonly SetupStep[]
}

/** A text to copy. `where`: a shell, or the name of its file. */
interface SetupStep {
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
