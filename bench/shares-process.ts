import './run-the-build.ts'
import { answerParent } from './child.ts'
import { measuredOptions } from './http-options.ts'
import { openSearchGround } from './search-ground.ts'
import { LARGE } from './search-skills.ts'

const { serveHttp } = await import('../src/serve/site/server.ts')
const { templateCompletion } = await import('../src/serve/mcp/tools/completion.ts')
const { skillTools } = await import('../src/serve/mcp/tools/tools.ts')
const { SCOPES } = await import('../src/serve/principal.ts')
const { threadMs } = await import('../src/base/async/thread-time.ts')
const { formsOf } = await import('../test/support/clients/forms.ts')

// The server that three principals share, in a process of its own: each is known by its token. Started with the number of skills
// and a folder for its state.

const [, , count, state = ''] = process.argv
const { registry, read, newSearching } = await openSearchGround(
  Number(count),
  state,
  Buffer.alloc(2 * 2 ** 20, 'A line of text\n'),
)
const searching = newSearching()
const forms = formsOf()
const pages = { entries: 100, bytes: 2 ** 20 }
const options = measuredOptions(15_000)

const http = await serveHttp(
  {
    registry,
    read,
    pages,
    cache: { ttlMs: 60_000, cacheScope: 'private' },
    forms,
    surfaces: [
      templateCompletion(registry, forms),
      skillTools({ registry, read, pages }, { look: async () => 0 }, searching),
    ],
  },
  {
    ...options,
    spentMs: threadMs,
    // Few enough that the hostile client wants more.
    limits: { ...options.limits, streams: 200, sessions: { ...options.limits.sessions, sessions: 500 } },
    access: { isTokenRequired: true, authenticate: async (token) => ({ id: token, scopes: new Set(SCOPES) }) },
  },
)

// What is measured begins with an index that is there.
await searching.find(registry, { text: 'generation', limit: 1 })

const { listed } = registry.catalog

answerParent({
  url: () => `${http.url}/mcp`,
  uri: () => listed[0]?.uri,
  large: () => listed.at(-1)?.uri.replace('SKILL.md', LARGE),
  counts: () => http.counts(),
})
