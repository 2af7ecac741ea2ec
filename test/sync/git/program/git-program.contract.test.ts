import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll } from 'vitest'
import { GitServer } from '../../../support/git/git-server.ts'
import type { Repository } from '../../../support/git/repository.ts'
import { SshHost } from '../../../support/git/ssh-host.ts'
import { fetches } from '../../upstream/contract-fetch.ts'
import { lacks } from '../../upstream/contract-refuse.ts'
import { relates, relatesAnyHistory } from '../../upstream/contract-relation.ts'
import { resolves } from '../../upstream/contract-resolve.ts'
import { stops } from '../../upstream/contract-stop.ts'
import { takes } from '../../upstream/contract-take.ts'
import { keepsTheUpstreamContract } from '../../upstream/contract.ts'
import { startOldHost } from '../../upstream/front.ts'
import { ACCESS, BACKENDS, type Open, type Opened } from '../../upstream/reached.ts'

const modern = await SshHost.start()
const plain = await SshHost.start({ protocol: false })
afterAll(async () => {
  await modern[Symbol.asyncDispose]()
  await plain[Symbol.asyncDispose]()
})

// The three ways to a repository differ in `GitProgram.ask` and, on this disk, in `ProgramSupply`, which fetches nothing
// there. Whatever the way, `walkTrees` in the worker refuses names and limits by what one `git cat-file` prints, and
// `readRelation` walks histories in what `ProgramSupply.openHistory` fetched by the same commands. So trees are refused
// over http alone, and over ssh a few histories are tried.

keepsTheUpstreamContract('over http, by the git program', overHttp)

keepsTheUpstreamContract('over ssh', onHost(modern), { promises: [resolves, fetches, takes, lacks, stops, relates] })

keepsTheUpstreamContract('on this disk, by choice', chosenOnDisk, {
  promises: [resolves, fetches, takes, lacks, stops, relates, relatesAnyHistory],
})

// It speaks version 0 and leaves nothing out: other listings, other refusals of an id, all of the files at once.
keepsTheUpstreamContract(
  'over ssh, from a server as it is out of the box',
  async (repository) => {
    await repository.git('config', 'uploadpack.allowFilter', 'false')
    return onHost(plain)(repository)
  },
  { promises: [resolves, fetches, takes, lacks, relates] },
)

// Listings name ids of another length, and `ProgramSupply` makes a repository of another format.
keepsTheUpstreamContract('over http, by the git program, to a repository whose ids are SHA-256', overHttp, {
  objectFormat: 'sha256',
  promises: [resolves, fetches, takes, lacks, relates],
})

// A listing has no filter; a fetch brings all of the files, or all trees of a history.
keepsTheUpstreamContract(
  'over http, by the git program, from a server that cannot leave out file contents',
  async (repository) => {
    await repository.git('config', 'uploadpack.allowFilter', 'false')
    return overHttp(repository)
  },
  { promises: [fetches, takes, lacks, relates] },
)

keepsTheUpstreamContract(
  'over http, by the git program, from an old host that refuses a request without its capabilities',
  overOldHost,
  {
    promises: [resolves, fetches, takes, lacks, relates],
  },
)

// `openTreeUpstream` leaves these two to the git program, which reads them as it does by choice.
keepsTheUpstreamContract('on this disk, with ids of SHA-256', onDisk, {
  objectFormat: 'sha256',
  promises: [resolves, fetches, takes, lacks, relates],
})

keepsTheUpstreamContract(
  'on this disk, that borrows objects of another repository',
  async (repository) => {
    const lender = join(repository.folder, 'lender')
    await mkdir(lender)
    await writeFile(join(repository.folder, 'objects/info/alternates'), `${lender}\n`)
    return onDisk(repository)
  },
  { promises: [resolves, fetches, takes, lacks] },
)

async function overOldHost(repository: Repository): Promise<Opened> {
  const server = await GitServer.start()
  const front = await startOldHost(server.origin)
  const url = server.serve('team', repository).replace(server.origin, front.origin)
  BACKENDS.set(url, 'system')
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      await front[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

async function chosenOnDisk(repository: Repository): Promise<Opened> {
  const opened = await onDisk(repository)
  BACKENDS.set(opened.url, 'system')
  return opened
}

async function overHttp(repository: Repository): Promise<Opened> {
  const server = await GitServer.start()
  const url = server.serve('team', repository)
  BACKENDS.set(url, 'system')
  return { url, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

function onHost(host: SshHost): Open {
  ACCESS.set(`127.0.0.1:${host.port}`, host.access)
  return async (repository) => ({
    url: host.url(repository.folder),
    [Symbol.asyncDispose]: async () => {},
  })
}

async function onDisk(repository: Repository): Promise<Opened> {
  return { url: pathToFileURL(repository.folder).href, [Symbol.asyncDispose]: async () => {} }
}
