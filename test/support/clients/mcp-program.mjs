import { Server as OldServer } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import * as old from '@modelcontextprotocol/sdk/types.js'
import { Server } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

// A server over one of the SDKs, on standard input and output: `modern` or `legacy`. A file is 16 MiB.
const capabilities = { resources: { subscribe: true, listChanged: true } }
const list = () => ({ resources: [{ uri: 'skill://a/SKILL.md', name: 'a' }] })
const read = (uri) => ({ contents: [{ uri, blob: Buffer.alloc(2 ** 24, 7).toString('base64') }] })

if (process.argv[2] === 'modern') {
  serveStdio(() => {
    const server = new Server({ name: 'new', version: '1' }, { capabilities })
    server.setRequestHandler('resources/list', list)
    server.setRequestHandler('resources/read', ({ params }) => read(params.uri))
    return server
  })
} else {
  const server = new OldServer({ name: 'old', version: '1' }, { capabilities })
  server.setRequestHandler(old.ListResourcesRequestSchema, async () => {
    await server.sendResourceUpdated({ uri: 'skill://a/SKILL.md' })
    return list()
  })
  server.setRequestHandler(old.ReadResourceRequestSchema, ({ params }) => read(params.uri))
  server.setRequestHandler(old.SubscribeRequestSchema, () => ({}))
  server.setRequestHandler(old.UnsubscribeRequestSchema, () => ({}))
  await server.connect(new StdioServerTransport())
}
