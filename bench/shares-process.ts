import './run-the-build.ts'
import { answerParent } from './child.ts'
import { measuredOptions } from './http-options.ts'
import { SearchSkills } from './search-skills.ts'

const { Registry } = await import('../src/serve/registry.ts')
const { serveHttp } = await import('../src/serve/http/app.ts')
const { templateCompletion } = await import('../src/serve/mcp/completion.ts')
const { skillTools } = await import('../src/serve/mcp/tools.ts')
const { SCOPES } = await import('../src/serve/principal.ts')
const { createLog } = await import('../src/daemon/log.ts')
const { Redactor } = await import('../src/daemon/redactor.ts')
const { systemClock } = await import('../src/daemon/clock.ts')
const { Searching } = await import('../src/daemon/searching.ts')
const { Store } = await import('../src/sync/store/store.ts')
const { storedSkill } = await import('../src/sync/take.ts')
const { formsOf } = await import('../test/support/forms.ts')

// The server that three principals share, in a process of its own: each is known by its token. Started with the number of skills,
// a folder for its state, and the requests a minute that each principal may send; without that number there is no such limit.

const [, , count, state = '', perMinute = ''] = process.argv
const skills = new SearchSkills(Number(count))
const store = await Store.open(state)
await skills.keep(store)
const registry = new Registry()
registry.publish(skills.next())

const log = createLog({
  level: 'warn',
  stream: process.stderr,
  format: 'text',
  journal: false,
  clock: systemClock,
  redactor: new Redactor(),
})
const searching = new Searching({ state, log, clock: systemClock })
const forms = formsOf()
const pages = { entries: 100, bytes: 2 ** 20 }
const read: Parameters<typeof skillTools>[0]['read'] = async (kept, file) =>
  'kind' in kept ? undefined : store.skills.read(storedSkill(kept), file)
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
    limits: { ...options.limits, ...(perMinute !== '' && { rate: { requests: Number(perMinute), perMs: 60_000 } }) },
    access: { isTokenRequired: true, authenticate: async (token) => ({ id: token, scopes: new Set(SCOPES) }) },
  },
)

// What is measured begins with an index that is there.
await searching.find(registry, { text: 'generation', limit: 1 })

answerParent({
  url: () => `${http.url}/mcp`,
  uri: () => registry.catalog.listed[0]?.uri,
  counts: () => http.counts(),
})
