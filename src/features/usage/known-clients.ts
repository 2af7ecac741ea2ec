/** The name of the client in the counts: that of Claude Code over MCP, with a mark. */
export const TELEMETRY_CLIENT = 'claude-code (telemetry)'

/**
 * True for a published name of an MCP client in `clientInfo`, which keeps a row of its own however many other names a day
 * has. The telemetry of Claude Code has one too. The other names are those of
 * https://github.com/apify/mcp-client-capabilities, version 0.0.14.
 */
export function isKnownClient(name: string): boolean {
  return name === TELEMETRY_CLIENT || KNOWN.has(name)
}

const KNOWN: ReadonlySet<string> = new Set([
  '@librechat/api-client',
  '@n8n/n8n-nodes-langchain.mcpClientTool',
  'Alpic',
  'ChatGPT',
  'Cherry Studio',
  'Cline',
  'Codex',
  'Glama',
  'Jan-Streamable-Client',
  'JetBrains-IU-copilot-intellij',
  'JetBrains-JBC-copilot-intellij',
  'Kilo-Code',
  'Mistral',
  'Postman-Client',
  'Q-DEV-CLI',
  'Roo-Code',
  'Visual Studio Code',
  'Visual-Studio-Code',
  'Windsurf',
  'Xcode-copilot-xcode',
  'Zed',
  'amp-mcp-client',
  'antigravity-client',
  'apify-mcp-client',
  'arcade',
  'claude-ai',
  'claude-code',
  'codex-mcp-client',
  'com.raycast.macos',
  'continue-cli-client',
  'crush',
  'cursor-vscode',
  'dust-mcp-client',
  'factory-cli',
  'gemini-cli-mcp-client',
  'gitguardian',
  'github-copilot-developer',
  'goose',
  'lobehub-mcp-client',
  'make-app-mcp-client',
  'opencode',
  'windsurf-client',
])
