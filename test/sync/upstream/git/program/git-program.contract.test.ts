import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll } from 'vitest'
import { GitServer } from '../../../../support/git-server.ts'
import type { Repository } from '../../../../support/repository.ts'
import { SshHost } from '../../../../support/ssh-host.ts'
import { keepsTheUpstreamContract } from '../../contract.ts'
import { startFront } from '../../front.ts'
import { ACCESS, BACKENDS, type Open, type Opened } from '../../reached.ts'

const modern = await SshHost.start()
const plain = await SshHost.start({ protocol: false })
afterAll(async () => {
  await modern[Symbol.asyncDispose]()
  await plain[Symbol.asyncDispose]()
})

keepsTheUpstreamContract('over ssh', onHost(modern))

keepsTheUpstreamContract('over ssh, from a server as it is out of the box', async (repository) => {
  await repository.git('config', 'uploadpack.allowFilter', 'false')
  return onHost(plain)(repository)
})

keepsTheUpstreamContract('over http, by the git program', overHttp)

keepsTheUpstreamContract('over http, by the git program, to a repository whose ids are SHA-256', overHttp, {
  objectFormat: 'sha256',
})

keepsTheUpstreamContract(
  'over http, by the git program, from a server that cannot leave out file contents',
  async (repository) => {
    await repository.git('config', 'uploadpack.allowFilter', 'false')
    return overHttp(repository)
  },
)

keepsTheUpstreamContract(
  'over http, by the git program, from a server that speaks version 1 alone',
  async (repository) => {
    const server = await GitServer.start()
    const front = await startFront(server.origin, (request) => {
      delete request.headers['git-protocol']
      return false
    })
    const url = server.serve('team', repository).replace(server.origin, front.origin)
    BACKENDS.set(url, 'system')
    return {
      url,
      [Symbol.asyncDispose]: async () => {
        await front[Symbol.asyncDispose]()
        await server[Symbol.asyncDispose]()
      },
    }
  },
)

keepsTheUpstreamContract('on this disk, by choice', async (repository) => {
  const opened = await onDisk()(repository)
  BACKENDS.set(opened.url, 'system')
  return opened
})

keepsTheUpstreamContract('on this disk, with ids of SHA-256', onDisk(), { objectFormat: 'sha256' })

keepsTheUpstreamContract('on this disk, that borrows objects of another repository', async (repository) => {
  const lender = join(repository.folder, 'lender')
  await mkdir(lender)
  await writeFile(join(repository.folder, 'objects/info/alternates'), `${lender}\n`)
  return onDisk()(repository)
})

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

function onDisk(): Open {
  return async (repository) => ({
    url: pathToFileURL(repository.folder).href,
    [Symbol.asyncDispose]: async () => {},
  })
}
