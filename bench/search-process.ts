import './run-the-build.ts'
import { answerParent } from './child.ts'
import { timed } from './figure.ts'
import { measuredOptions } from './http-options.ts'
import { openSearchGround } from './search-ground.ts'

const { serveHttp } = await import('../src/serve/site/server.ts')
const { searchPage } = await import('../src/serve/page/search.ts')
const { SkillIndex } = await import('../src/serve/mcp/tools/search/skill-index.ts')
const { headingsIn } = await import('../src/serve/mcp/tools/search/search-documents.ts')
const { searchableOf } = await import('../src/serve/mcp/tools/search/searchable.ts')
const { offeredIn } = await import('../src/sync/catalog/tool-catalog.ts')
const { storedSkill } = await import('../src/sync/store/skills/stored-path.ts')
const { formsOf } = await import('../test/support/clients/forms.ts')

// The server that is searched, in a process of its own. Started with the number of skills and a folder for its state.

const [, , count, state = ''] = process.argv
const { skills, store, registry, read, newSearching } = await openSearchGround(Number(count), state)
const times = { keptMs: 3_600_000, waitMs: 3_600_000 }
let searching = newSearching(times)

const http = await serveHttp(
  {
    registry,
    read,
    pages: { entries: 1_000, bytes: 2 ** 20 },
    cache: { ttlMs: 60_000, cacheScope: 'public' },
    forms: formsOf(),
  },
  measuredOptions(3_600_000),
)

const [first] = registry.catalog.listed
let coming = skills.next()
/** What is measured by what the heap has more of. */
const held: unknown[] = []

async function find(text: string): Promise<void> {
  const { kind } = await searching.find(registry, { text, limit: 5 })
  if (kind !== 'found') throw new Error(`The search has ended: ${kind}`)
}

answerParent({
  url: () => `${http.url}/mcp`,
  uri: () => first?.uri,
  queries: ([most]) => skills.queries(Number(most)),
  /** What it took is measured here, without the way of the answer to the parent. */
  search: async ([text = '']) => ({ ms: await timed(async () => find(text)) }),
  /** The part of the page's search that goes through all skills. */
  scan: async ([text = '']) => ({
    ms: await timed(async () =>
      searchPage(
        registry.catalog,
        { text, source: '', pack: '', tag: '', sort: 'match', page: 1 },
        { hits: undefined, changedMs: () => 0, usesOf: () => 0, isInPack: () => true },
      ),
    ),
  }),
  /** Has the next search begin with nothing. */
  forget: async () => {
    await searching[Symbol.asyncDispose]()
    searching = newSearching(times)
  },
  /** Makes the catalog that is published next. */
  prepare: () => void (coming = skills.next()),
  'publish-and-search': async ([text = '']) => ({
    ms: await timed(async () => {
      registry.publish(coming)
      await find(text)
    }),
  }),
  /** Reads what the index reads, and nothing more. */
  read: async () => ({
    ms: await timed(async () => {
      for (const { skill } of registry.catalog.listed) {
        const document = skill.files.find(({ path }) => path === 'SKILL.md')
        if (document !== undefined) await store.skills.read(storedSkill(skill), document)
      }
    }),
  }),
  /** An index in this thread, for its size. */
  index: () => {
    const index = new SkillIndex()
    for (const [at, offered] of offeredIn(registry.catalog).forModels.entries()) {
      const headings = headingsIn(skills.documents[at] ?? new Uint8Array())
      index.set({ ...searchableOf(offered), headings })
    }
    held.push(index)
  },
  texts: () =>
    void held.push(offeredIn(registry.catalog).forModels.map((offered) => JSON.stringify(searchableOf(offered)))),
  drop: () => void (held.length = 0),
})
