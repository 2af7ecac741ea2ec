import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll } from 'vitest'
import { SshHost } from '../../support/ssh-host.ts'
import { keepsTheUpstreamContract } from './contract.ts'
import { ACCESS, type Open } from './reached.ts'

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

keepsTheUpstreamContract('on this disk, with ids of SHA-256', onDisk(), { objectFormat: 'sha256' })

keepsTheUpstreamContract('on this disk, that borrows objects of another repository', async (repository) => {
  const lender = join(repository.folder, 'lender')
  await mkdir(lender)
  await writeFile(join(repository.folder, 'objects/info/alternates'), `${lender}\n`)
  return onDisk()(repository)
})

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
