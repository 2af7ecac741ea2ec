import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { discoverSkills, registerSkillResources } from '@olaservo/ext-skills/server'

// The server that the documentation of `@olaservo/ext-skills` shows, over the folder of skills that it is started with. No
// TypeScript: what strips its types would weigh on the start.

const folder = process.argv[2] ?? ''
const skills = discoverSkills(folder)
serveStdio(() => {
  const server = new McpServer({ name: 'ext-skills', version: '1.0.0' }, { capabilities: { resources: {} } })
  registerSkillResources(server, skills, folder, { directoryRead: true })
  return server
})
