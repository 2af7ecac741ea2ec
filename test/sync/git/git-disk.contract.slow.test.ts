import { pathToFileURL } from 'node:url'
import { keepsTheUpstreamContract } from '../upstream/contract.ts'

keepsTheUpstreamContract('on this disk', async (repository) => ({
  url: pathToFileURL(repository.folder).href,
  [Symbol.asyncDispose]: async () => {},
}))
