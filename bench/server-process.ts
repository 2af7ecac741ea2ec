import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { passAnswer } from '../test/support/git/git-backend.ts'

// The git server of a measurement, apart from both that are measured: git's own backend, whose answers are sent on as they
// come. Started with the folders of repositories; tells their addresses, and ends when the one who started it goes.

const folders = process.argv.slice(2)
const server = createServer((request, response) => {
  // Who went away in the middle leaves nobody to tell.
  answer(request, response).catch(() => response.destroy())
})
await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
const address = server.address()
const port = typeof address === 'object' ? address?.port : undefined
process.send?.(folders.map((_, index) => `http://127.0.0.1:${port}/skills-${index + 1}.git`))
process.once('disconnect', () => {
  server.close()
  server.closeAllConnections()
})

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path = '', query = ''] = (request.url ?? '').split('?')
  const [, number = '', rest = ''] = /^\/skills-(\d+)\.git(\/.*)$/.exec(path) ?? []
  const folder = folders[Number(number) - 1]
  if (folder === undefined) {
    response.writeHead(404).end('no such repository\n')
    return
  }
  await passAnswer({ folder, path: rest, query, request, body: await buffer(request) }, response)
}
