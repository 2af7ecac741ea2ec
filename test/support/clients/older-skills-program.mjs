import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { discoverSkills, registerSkillResources } from 'ext-skills-0.12/server'

// The published server of the revision before sizes, on standard input and output, over the folder that is named. It lists
// folders if `folders` comes after that.
const [, , folder, ...options] = process.argv

serveStdio(() => {
  const server = new McpServer({ name: 'older', version: '1' }, { capabilities: { resources: {} } })
  registerSkillResources(server, discoverSkills(folder), folder, { directoryRead: options.includes('folders') })
  return server
})
