import { GitServer } from '../../../support/git/git-server.ts'
import type { Repository } from '../../../support/git/repository.ts'
import { fetches } from '../../upstream/contract-fetch.ts'
import { lacks, refuses } from '../../upstream/contract-refuse.ts'
import { relates } from '../../upstream/contract-relation.ts'
import { resolves } from '../../upstream/contract-resolve.ts'
import { stops } from '../../upstream/contract-stop.ts'
import { takes } from '../../upstream/contract-take.ts'
import { keepsTheUpstreamContract } from '../../upstream/contract.ts'
import { startFront, startOldHost } from '../../upstream/front.ts'
import type { Open, Opened } from '../../upstream/reached.ts'

keepsTheUpstreamContract('over http', overHttp)

// `parseTree` reads ids of another length, so all that is refused of trees is tried again. How a history is walked does
// not depend on the length.
keepsTheUpstreamContract('over http, to a repository whose ids are SHA-256', overHttp, {
  objectFormat: 'sha256',
  promises: [resolves, fetches, takes, refuses, lacks, relates],
})

// The first listing is the same, and the trees come in a pack as ever: the files are in it too, and in a history.
keepsTheUpstreamContract(
  'over http, from a server that cannot leave out file contents',
  async (repository) => {
    await repository.git('config', 'uploadpack.allowFilter', 'false')
    return overHttp(repository)
  },
  { promises: [fetches, takes, lacks, stops, relates] },
)

// Version 1 lists and requests in another way; what is in the pack is read by the same `PackReader` and `walkTrees`.
keepsTheUpstreamContract(
  'over http, from an old host that refuses a request without its capabilities',
  overOldHost(0),
  {
    promises: [resolves, fetches, takes, lacks, stops, relates],
  },
)

keepsTheUpstreamContract('over http, from an old host of version 1 that says so', overOldHost(1), {
  promises: [fetches],
})

keepsTheUpstreamContract('over http of version 1, to a repository whose ids are SHA-256', overVersion1, {
  objectFormat: 'sha256',
  promises: [resolves, fetches, takes, lacks, relates],
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

function overOldHost(version: 0 | 1): Open {
  return async (repository) => {
    const server = await GitServer.start()
    const front = await startOldHost(server.origin, version)
    return {
      url: server.serve(freshName(), repository).replace(server.origin, front.origin),
      [Symbol.asyncDispose]: async () => {
        await front[Symbol.asyncDispose]()
        await server[Symbol.asyncDispose]()
      },
    }
  }
}

async function overVersion1(repository: Repository): Promise<Opened> {
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
