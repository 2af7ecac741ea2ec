import './run-the-build.ts'
import type { ReadContent } from '../src/serve/content.ts'
import { SearchSkills } from './search-skills.ts'

const { Registry } = await import('../src/serve/registry.ts')
const { createLog } = await import('../src/daemon/runtime/log/log.ts')
const { Redactor } = await import('../src/daemon/runtime/log/redactor.ts')
const { systemClock } = await import('../src/base/async/clock.ts')
const { SearchService } = await import('../src/serve/mcp/tools/search/search-service.ts')
const { Store } = await import('../src/sync/store/store.ts')
const { storedSkill } = await import('../src/sync/store/skills/stored-path.ts')

type SearchService = InstanceType<typeof SearchService>
type SearchTimes = NonNullable<ConstructorParameters<typeof SearchService>[0]['times']>

/** So many skills in a store in a folder, served, and what searches them. `large`: a file of the last one. */
export async function openSearchGround(count: number, state: string, large?: Buffer) {
  const skills = new SearchSkills(count, large)
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
  const read: ReadContent = async (kept, file) =>
    'kind' in kept ? undefined : store.skills.read(storedSkill(kept), file)
  const newSearching = (times?: SearchTimes): SearchService =>
    new SearchService({ state, log, clock: systemClock, ...(times && { times }) })
  return { skills, store, registry, read, newSearching }
}
