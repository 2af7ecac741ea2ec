import { McpServer } from '@modelcontextprotocol/server'
import { loadSkills } from '@modelcontextprotocol/server/ext/skills/node'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

// The server that the SDK's own documentation shows, over the folder of skills that it is started with. No TypeScript: what
// strips its types would weigh on the start.

const skills = await loadSkills(process.argv[2] ?? '')
serveStdio(() => {
  const server = new McpServer({ name: 'textbook', version: '1.0.0' })
  skills.attach(server)
  return server
})
