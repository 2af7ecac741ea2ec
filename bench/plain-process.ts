import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { answerParent } from './child.ts'

// What ours is measured by: a server that takes the same requests, understands nothing, and sends bytes that it was given.

const answers = new Map<string, Buffer>()
const streams = new Set<ServerResponse>()

const server = createServer((request, response) => {
  const { url = '' } = request
  request.on('end', () => {
    const body = answers.get(url)
    if (body === undefined) return openStream(response)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
    response.end(body)
  })
  request.resume()
})
server.keepAliveTimeout = 75_000
const listening = Promise.withResolvers<void>()
server.listen({ host: '127.0.0.1', port: 0 }, () => listening.resolve())
await listening.promise

function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' })
  response.flushHeaders()
  streams.add(response)
  response.once('close', () => streams.delete(response))
}

const address = server.address()
answerParent({
  url: () => `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
  /** What is answered at a path. */
  answer: ([path = '', text = '']) => void answers.set(path, Buffer.from(text)),
  /** Writes this to each open response. */
  write: ([frame = '']) => {
    for (const stream of streams) stream.write(frame)
  },
})
