import { GitServer } from '../../../../support/git-server.ts'
import type { Repository } from '../../../../support/repository.ts'
import { keepsTheUpstreamContract } from '../../contract.ts'
import { startFront } from '../../front.ts'
import type { Open, Opened } from '../../reached.ts'

keepsTheUpstreamContract('over http', overHttp)

keepsTheUpstreamContract('over http, to a repository whose ids are SHA-256', overHttp, { objectFormat: 'sha256' })

keepsTheUpstreamContract(
  'over http, from a server that cannot leave out file contents',
  async (repository) => {
    await repository.git('config', 'uploadpack.allowFilter', 'false')
    return overHttp(repository)
  },
  { seesHistory: false },
)

keepsTheUpstreamContract('over http, from a server that speaks version 1 alone', withVersion1(), { seesHistory: false })

keepsTheUpstreamContract('over http of version 1, to a repository whose ids are SHA-256', withVersion1(), {
  objectFormat: 'sha256',
  seesHistory: false,
})

async function overHttp(repository: Repository): Promise<Opened> {
  const server = await GitServer.start()
  return { url: server.serve(freshName(), repository), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

let names = 0

/** A port is used again by chance, and what a server can do is remembered by its address. */
function freshName(): string {
  return `team-${(names += 1)}`
}

function withVersion1(): Open {
  return async (repository) => {
    const server = await GitServer.start()
    const front = await startFront(server.origin, (request) => {
      delete request.headers['git-protocol']
      return false
    })
    return {
      url: server.serve(freshName(), repository).replace(server.origin, front.origin),
      [Symbol.asyncDispose]: async () => {
        await front[Symbol.asyncDispose]()
        await server[Symbol.asyncDispose]()
      },
    }
  }
}
