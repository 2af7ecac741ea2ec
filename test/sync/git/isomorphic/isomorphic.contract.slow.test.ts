import { pathToFileURL } from 'node:url'
import { GitServer } from '../../../support/git/git-server.ts'
import type { Repository } from '../../../support/git/repository.ts'
import { fetches } from '../../upstream/contract-fetch.ts'
import { lacks, refuses } from '../../upstream/contract-refuse.ts'
import { relates, relatesAnyHistory } from '../../upstream/contract-relation.ts'
import { resolves } from '../../upstream/contract-resolve.ts'
import { stops } from '../../upstream/contract-stop.ts'
import { takes } from '../../upstream/contract-take.ts'
import { keepsTheUpstreamContract } from '../../upstream/contract.ts'
import { startFront } from '../../upstream/front.ts'
import { BACKENDS, type Open, type Opened } from '../../upstream/reached.ts'

/**
 * All that isomorphic-git cannot do of the contract, with the reason. By upstream, then by the start of the tests' names; an
 * empty start is all of them. Nothing else is skipped.
 */
const BEYOND = {
  'over http, by isomorphic-git': {},
  'over http of version 1, by isomorphic-git': {},
  'on this disk, by isomorphic-git': {},
  'over http, by isomorphic-git, to a repository whose ids are SHA-256': { '': 'it has no SHA-256' },
  'over ssh, by isomorphic-git': { '': 'it has no ssh' },
} satisfies Readonly<Record<string, Readonly<Record<string, string>>>>

const OVER_HTTP = [resolves, fetches, takes, refuses, lacks, stops, relates, relatesAnyHistory]

tried('over http, by isomorphic-git', overHttp, OVER_HTTP)
// Only the listing is another. What isomorphic-git fetched or found is read by the same `IsomorphicObjects` and `walkTrees`.
tried('over http of version 1, by isomorphic-git', overVersion1, [resolves, fetches, lacks])
tried('on this disk, by isomorphic-git', onDisk, [fetches, takes, lacks, stops, relates])
tried('over http, by isomorphic-git, to a repository whose ids are SHA-256', overHttp)
tried('over ssh, by isomorphic-git', overHttp)

function tried(
  name: keyof typeof BEYOND,
  open: Open,
  promises?: NonNullable<Parameters<typeof keepsTheUpstreamContract>[2]>['promises'],
): void {
  const beyond: Readonly<Record<string, string>> = BEYOND[name]
  keepsTheUpstreamContract(name, open, { beyond, ...(promises && { promises }) })
}

async function overHttp(repository: Repository): Promise<Opened> {
  const server = await GitServer.start()
  const url = server.serve('team', repository)
  BACKENDS.set(url, 'isomorphic')
  return { url, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

async function overVersion1(repository: Repository): Promise<Opened> {
  const server = await GitServer.start()
  const front = await startFront(server.origin, (request) => {
    delete request.headers['git-protocol']
    return false
  })
  const url = server.serve('team', repository).replace(server.origin, front.origin)
  BACKENDS.set(url, 'isomorphic')
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      await front[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

async function onDisk(repository: Repository): Promise<Opened> {
  const { href: url } = pathToFileURL(repository.folder)
  BACKENDS.set(url, 'isomorphic')
  return { url, [Symbol.asyncDispose]: async () => {} }
}
