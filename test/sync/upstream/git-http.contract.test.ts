import { GitServer } from '../../support/git-server.ts'
import { keepsTheUpstreamContract } from './contract.ts'
import { startFront } from './front.ts'
import type { Open } from './reached.ts'

keepsTheUpstreamContract('over http', async (repository) => {
  const server = await GitServer.start()
  return { url: server.serve('team', repository), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
})

keepsTheUpstreamContract('over http, from a server that cannot leave out file contents', async (repository) => {
  await repository.git('config', 'uploadpack.allowFilter', 'false')
  const server = await GitServer.start()
  return { url: server.serve('team', repository), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
})

keepsTheUpstreamContract('over http, from a server that speaks version 1 alone', withVersion1())

function withVersion1(): Open {
  return async (repository) => {
    const server = await GitServer.start()
    const front = await startFront(server.origin, (request) => {
      delete request.headers['git-protocol']
      return false
    })
    return {
      url: server.serve('team', repository).replace(server.origin, front.origin),
      [Symbol.asyncDispose]: async () => {
        await front[Symbol.asyncDispose]()
        await server[Symbol.asyncDispose]()
      },
    }
  }
}
