import { execFileSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { temporaryFolder } from '../test/support/temporary.ts'
import './run-the-build.ts'

const { idsOf } = await import('../src/daemon/config/config.ts')
const { readConfig } = await import('../src/daemon/configuration.ts')
const { admissionOf } = await import('../src/daemon/pull/trust/serving-policy.ts')
const { headingsOf, searchedOf } = await import('../src/serve/mcp/tools/search/search-documents.ts')
const { hitsWithin, tokensIn } = await import('../src/serve/mcp/tools/search/hits.ts')
const { DEFAULT_HITS } = await import('../src/serve/mcp/tools/search/query.ts')
const { SkillIndex } = await import('../src/serve/mcp/tools/search/skill-index.ts')
const { offeredIn } = await import('../src/sync/catalog/tool-catalog.ts')
const { currentCatalog } = await import('../src/sync/pull/generation-catalog.ts')
const { Store } = await import('../src/sync/store/store.ts')

// Whether search finds the right skill, over collections that others made: node bench/search-quality.ts github/awesome-copilot=PATH …
// A path is that of a clone or a bare mirror which has the commit that the tasks name; nothing is fetched from anywhere else.

/** What somebody wants, and the folders of the skills that are right for it. */
interface Task {
  readonly query: string
  readonly right: readonly string[]
  /** `far`: it shares no rare word with the name. `typo`: it is mistyped. */
  readonly kind: 'near' | 'far' | 'typo'
}

interface Collection {
  readonly collection: string
  readonly commit: string
  readonly tasks: readonly Task[]
}

/** What became of one task. */
interface Found {
  readonly task: Task
  /** Of the best of the right skills, from 1; undefined where none is among the first `LOOKED_AT`. */
  readonly rank: number | undefined
  readonly tokens: number
  readonly first: readonly string[]
}

interface Judged {
  readonly collection: string
  readonly skills: number
  /** What `list_skills` takes for all of them. */
  readonly listTokens: number
  readonly found: readonly Found[]
  /** Folders that are right and not served at all: no search can find them. */
  readonly missing: readonly string[]
}

const LOOKED_AT = 50
const MAIN = fileURLToPath(new URL('../dist/program/main.js', import.meta.url))

const { values, positionals } = parseArgs({ options: { state: { type: 'string' } }, allowPositionals: true })
const places = new Map(
  positionals.map((place): [string, string] => [place.replace(/=.*/, ''), place.replace(/^[^=]*=/, '')]),
)
const tasks: readonly Collection[] = JSON.parse(await readFile(new URL('./search-tasks.json', import.meta.url), 'utf8'))
await using folder = await temporaryFolder()
// With a state folder that is kept, the next run pulls nothing.
const root = values.state === undefined ? folder.path : resolve(values.state)
const judged: Judged[] = []
for (const collection of tasks) {
  const place = places.get(collection.collection)
  if (place === undefined) throw new Error(`Say where it is: ${collection.collection}=PATH`)
  judged.push(await judge(collection, resolve(place), join(root, collection.collection.replace('/', '+'))))
}
report(judged)

async function judge({ collection, commit, tasks: asked }: Collection, place: string, own: string): Promise<Judged> {
  const file = join(own, 'skillsyncd.yaml')
  await mkdir(own, { recursive: true })
  const configured = JSON.stringify({ id: 'collection', url: pathToFileURL(place).href, ref: commit })
  await writeFile(file, `sources: [${configured}]\nstate: ${JSON.stringify(join(own, 'state'))}\n`)
  execFileSync(process.execPath, [MAIN, 'sync', '--config', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  const config = await readConfig({ file })
  const store = await Store.openExisting(config.state)
  if (store === undefined) throw new Error(`Nothing was pulled from "${place}"`)
  await store.decisions.read()
  const { forModels } = offeredIn(await currentCatalog(store, idsOf(config), admissionOf(config)))
  const index = new SkillIndex()
  for (const offered of forModels) {
    const { text, document } = searchedOf(offered)
    index.set({ ...text, headings: (document && (await headingsOf(store, document))) ?? '' })
  }
  const byId = new Map(forModels.map((offered) => [offered.id, offered]))
  const served = new Set(forModels.map(({ skill }) => skill.path))
  const found = asked.map((task): Found => {
    const hits = index.find(task.query, LOOKED_AT).flatMap((id) => byId.get(id) ?? [])
    const at = hits.findIndex(({ skill }) => task.right.includes(skill.path))
    const answer = hitsWithin(hits.slice(0, DEFAULT_HITS))
    return {
      task,
      rank: at === -1 ? undefined : at + 1,
      tokens: tokensIn(JSON.stringify(answer)),
      first: hits.slice(0, 3).map(({ skill }) => skill.path),
    }
  })
  const all = forModels.map(({ id, name, source, description }) => ({ id, name, source, description }))
  return {
    collection,
    skills: forModels.length,
    listTokens: tokensIn(JSON.stringify(all)),
    found,
    missing: asked.flatMap(({ right }) => right).filter((path) => !served.has(path)),
  }
}

function report(all: readonly Judged[]): void {
  console.log('| collection | skills | first | first three | first five | tokens of an answer | of a full list |')
  console.log('| --- | --- | --- | --- | --- | --- | --- |')
  for (const one of all) console.log(rowOf(one.collection, one.skills, one.found, one.listTokens))
  const together = all.flatMap(({ found }) => found)
  const [skills, listTokens] = [sumOf(all, (one) => one.skills), sumOf(all, (one) => one.listTokens)]
  console.log(rowOf('together', skills, together, listTokens))
  for (const kind of ['near', 'far', 'typo'] as const) {
    const of = together.filter(({ task }) => task.kind === kind)
    console.log(`\n${kind}: ${within(of, 1)}, ${within(of, 3)}, ${within(of, 5)} of ${of.length} in the first 1, 3, 5`)
  }
  for (const { collection, found, missing } of all) {
    console.log(`\nnot among the first five of ${collection}:`)
    for (const { task, rank, first } of found.filter((one) => one.rank === undefined || one.rank > 5)) {
      console.log(
        `- ${task.kind} "${task.query}": ${task.right.join(', ')} is ${rank ?? `not in the first ${LOOKED_AT}`}; first ${first.join(', ')}`,
      )
    }
    if (missing.length > 0) console.log(`not served: ${missing.join(', ')}`)
  }
}

function rowOf(name: string, skills: number, found: readonly Found[], listTokens: number): string {
  const counts = [1, 3, 5].map((most) => `${within(found, most)} of ${found.length}`)
  const mean = Math.round(sumOf(found, ({ tokens }) => tokens) / found.length)
  return `| ${[name, skills, ...counts, mean, listTokens].join(' | ')} |`
}

function within(found: readonly Found[], most: number): number {
  return found.filter(({ rank }) => rank !== undefined && rank <= most).length
}

function sumOf<Item>(items: readonly Item[], valueOf: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + valueOf(item), 0)
}
