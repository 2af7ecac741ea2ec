import { createHash } from 'node:crypto'
import { z } from 'zod'
import { codeOf } from '../../../base/error-code.ts'
import { DOCTOR_CLIENT } from '../../../serve/version.ts'
import { DigestMismatchError, type ClientOptions, type EraClient } from './era-client.ts'

/**
 * Opens the client of 2025-11-25 and earlier. Its package is an optional peer dependency, because it brings web servers
 * that nothing else here needs. `undefined` if the package is not installed.
 */
export async function openClient2025({ url, fetch, version }: ClientOptions): Promise<EraClient | undefined> {
  const sdk = await loadSdk()
  if (sdk === undefined) return undefined
  const { Client, StreamableHTTPClientTransport } = sdk
  const client = new Client({ name: DOCTOR_CLIENT, version })
  const transport = new StreamableHTTPClientTransport(url, { fetch: fetch.fetch, reconnectionOptions: NO_RECONNECTION })
  return {
    name: '@modelcontextprotocol/sdk',
    async open(signal) {
      await client.connect(transport, { signal })
      return transport.protocolVersion ?? 'a revision that it does not name'
    },
    async list(signal) {
      const skills: z.infer<typeof ENTRY>[] = []
      let cursor: string | undefined
      do {
        const params = cursor === undefined ? {} : { cursor }
        const page = await client.request({ method: 'skills/list', params }, PAGE, { signal })
        skills.push(...page.skills)
        cursor = page.nextCursor
      } while (cursor !== undefined)
      return skills.map(({ uri, resources }) => ({ uri, files: Array.isArray(resources) ? resources : [] }))
    },
    async read(_, { uri, size, digest }, signal) {
      const { contents } = await client.readResource({ uri }, { signal })
      const [content] = contents
      if (content === undefined) throw new DigestMismatchError(`${uri} came without content`)
      const bytes = 'text' in content ? Buffer.from(content.text) : Buffer.from(content.blob, 'base64')
      const sum = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
      if (sum !== digest || bytes.length !== size)
        throw new DigestMismatchError(
          `${uri} came with ${bytes.length} bytes and ${sum}, and is listed with ${size} and ${digest}`,
        )
    },
    async subscribe(uri, signal) {
      await client.subscribeResource({ uri }, { signal })
    },
    async unsubscribe(uri, signal) {
      await client.unsubscribeResource({ uri }, { signal })
    },
    async close() {
      // A server without sessions answers 405, and a server that is gone does not answer.
      await transport.terminateSession().catch(() => {})
      await client.close()
    },
  }
}

/** A stream that ends is a result, so it is not reopened. */
const NO_RECONNECTION = {
  maxRetries: 0,
  initialReconnectionDelay: 1_000,
  maxReconnectionDelay: 1_000,
  reconnectionDelayGrowFactor: 1,
}

const FILE = z.object({ uri: z.string(), digest: z.string(), size: z.number() })
const ENTRY = z.looseObject({ uri: z.string(), resources: z.union([z.array(FILE), z.string()]) })
const PAGE = z.looseObject({ skills: z.array(ENTRY), nextCursor: z.string().optional() })

async function loadSdk() {
  try {
    const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    ])
    return { Client, StreamableHTTPClientTransport }
  } catch (error) {
    if (codeOf(error) === 'ERR_MODULE_NOT_FOUND' && String(error).includes('@modelcontextprotocol/sdk'))
      return undefined
    throw error
  }
}
