import { pathToFileURL } from 'node:url'
import { keepsTheUpstreamContract } from '../contract.ts'

keepsTheUpstreamContract('on this disk', async (repository) => ({
  url: pathToFileURL(repository.folder).href,
  [Symbol.asyncDispose]: async () => {},
}))
