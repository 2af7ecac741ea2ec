import { once } from 'node:events'
import { createServer } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server'
import { discoverSkills, registerSkillResources } from '@olaservo/ext-skills/server'

/** The server side of `@olaservo/ext-skills` on a loopback port, with the skills of a folder. */
export async function extSkillsServer(folder: string): Promise<{ readonly url: string } & AsyncDisposable> {
  const skills = discoverSkills(folder)
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'ext-skills', version: '1' }, { capabilities: { resources: {} } })
    registerSkillResources(server, skills, folder, { directoryRead: true })
    return server
  })
  const answer = toNodeHandler(handler)
  const http = createServer((request, response) => void answer(request as never, response))
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const address = http.address()
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on a port')
  return {
    url: `http://127.0.0.1:${address.port}/mcp`,
    async [Symbol.asyncDispose]() {
      await handler.close()
      http.closeAllConnections()
      http.close()
      await once(http, 'close')
    },
  }
}
