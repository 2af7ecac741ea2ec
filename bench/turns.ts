import { documentSaying, HEAVY_FRONTMATTERS } from '../test/support/content/heavy-frontmatters.ts'
import type { Content } from '../test/support/git/repository.ts'
import { startSeen } from './daemon.ts'
import type { SeenDaemon } from './daemon.ts'
import { figureOf, rounds } from './figure.ts'
import type { Figure, Times } from './figure.ts'
import type { Ground } from './ground.ts'
import { Client, ERAS, initializeOf, listenOf } from './serve-clients.ts'
import { changed, folderOf } from './skills.ts'
import { runAlone } from './table.ts'
import type { ServedSkills } from './upstream.ts'
import { Streams, Wire, requestOf } from './wire.ts'

/**
 * The longest turn of the daemon's loop while it answers one request of each kind: first over a catalog that nothing was asked of
 * yet, then over one that it has answered from. In processor time, beside what a turn may take.
 */
export async function measureTurns(ground: Ground): Promise<Figure[]> {
  const { quick } = ground
  const upstream = await ground.skills(quick ? 200 : 10_000)
  await using daemon = await startSeen(await ground.fresh(), upstream.url, OPTIONS)
  const hub = new Hub(daemon, upstream)
  await daemon.sync()
  await hub.move()
  const deeds = (await deedsOf(daemon.url, upstream)).filter(({ what }) => isWanted(what))
  const others = [PUBLISH, DISABLE, HOSTILE].filter(isWanted)
  const all = await rounds(quick ? 1 : 5, [
    async () => LIMITS,
    ...deeds.map(({ what, ask }) => async () => ({ [what]: await hub.longestOf(what, ask) })),
    ...others.map((what) => async () => ({ [what]: await hub.longestOfOther(what, quick ? 100 : 1_000) })),
  ])
  hub.tellWorst()
  return [...deeds.map(({ what }) => what), ...others].map((what) =>
    figureOf('turns', all, [what, what.startsWith('batch') ? 'limit of a batch' : 'limit'], 1),
  )
}

/** `--only TEXT` measures the rows that have the text in their names. */
function isWanted(what: string): boolean {
  const at = process.argv.indexOf('--only')
  return at === -1 || what.includes(process.argv[at + 1] ?? '')
}

/** What a turn may take, in milliseconds, whatever the machine. */
const LIMITS: Times = { limit: 50, 'limit of a batch': 100 }

const PUBLISH = 'publish of one change'
const DISABLE = 'disable or enable of one skill'
const HOSTILE = 'hostile commit'

/** All that can be offered is. */
const OPTIONS = {
  source: ['docs: docs'],
  serve: [
    'forms: [default, archives, files, synthetic, skill-prompts]',
    'templates: ["skill://bench/{folder}/{skill}/SKILL.md"]',
  ],
}

/** The daemon, and the repository that it follows. */
class Hub {
  readonly #daemon: SeenDaemon
  readonly #upstream: ServedSkills
  /** Of the round that warms up: code is not compiled yet, and nothing was made before. */
  readonly #first = new Map<string, number>()
  /** By the clock, with whatever else the machine has to do. */
  readonly #byClock = new Map<string, number>()
  #moves = 0
  #isDisabled = false

  constructor(daemon: SeenDaemon, upstream: ServedSkills) {
    this.#daemon = daemon
    this.#upstream = upstream
  }

  async longestOf(what: string, ask: Ask): Promise<number> {
    // Another catalog, of which nothing was asked yet.
    await this.#toggle()
    return this.#longest(what, async () => {
      await ask()
      await ask()
    })
  }

  /** Has another generation be served. */
  async move(): Promise<void> {
    await this.#change()
    await this.#daemon.sync()
  }

  async longestOfOther(what: string, hostile: number): Promise<number> {
    if (what === HOSTILE) return this.longestOfHostile(hostile)
    return what === PUBLISH ? this.longestOfMove() : this.longestOfDisable()
  }

  async longestOfMove(): Promise<number> {
    await this.#change()
    return this.#longest(PUBLISH, () => this.#daemon.sync())
  }

  async longestOfDisable(): Promise<number> {
    return this.#longest(DISABLE, () => this.#toggle())
  }

  async #toggle(): Promise<void> {
    this.#isDisabled = !this.#isDisabled
    await this.#daemon.disable(folderOf(this.#upstream.skills.documents[1]), this.#isDisabled)
  }

  /** A commit that adds skills, each as dear to take as the limits let it be. */
  async longestOfHostile(count: number): Promise<number> {
    const { repository } = this.#upstream
    this.#moves += 1
    const files = hostileSkills(count, this.#moves)
    await repository.commit(files)
    const longest = await this.#longest(HOSTILE, () => this.#daemon.sync())
    // What is measured after it has the catalog of before.
    await repository.commit(Object.fromEntries(Object.keys(files).map((path) => [path, null])))
    await this.#daemon.sync()
    return longest
  }

  async #change(): Promise<void> {
    this.#moves += 1
    const { skills, repository } = this.#upstream
    const [path = ''] = skills.documents
    await repository.commit({ [path]: changed(skills.files[path], `Move ${this.#moves}.`) })
  }

  tellWorst(): void {
    console.log(`turns: in the first round, ${worstOf(this.#first)}`)
    console.log(`turns: by the clock, ${worstOf(this.#byClock)}`)
  }

  async #longest(what: string, work: Ask): Promise<number> {
    const { child } = this.#daemon
    await child.tell('begin turns')
    let told: unknown
    try {
      await work()
    } finally {
      told = await child.tell('end turns')
    }
    const { cpuMs, wallMs } = turnIn(told)
    if (!this.#first.has(what)) this.#first.set(what, cpuMs)
    else this.#byClock.set(what, Math.max(wallMs, this.#byClock.get(what) ?? 0))
    return cpuMs
  }
}

function turnIn(told: unknown): { readonly cpuMs: number; readonly wallMs: number } {
  if (typeof told === 'object' && told !== null && 'cpuMs' in told && 'wallMs' in told)
    return { cpuMs: Number(told.cpuMs), wallMs: Number(told.wallMs) }
  throw new Error('No turn was measured')
}

function worstOf(measured: ReadonlyMap<string, number>): string {
  const worst = [...measured].toSorted(([, a], [, b]) => b - a).slice(0, 10)
  return worst.map(([what, ms]) => `${what} ${ms.toFixed(0)} ms`).join(', ')
}

/** Another text in each round: what was read before is not read again. */
function hostileSkills(count: number, round: number): Record<string, Content> {
  const kinds = Object.values(HEAVY_FRONTMATTERS)
  const skills = Array.from({ length: count }, (_, index): [string, Content] => {
    const name = `hostile-${index}`
    const document = documentSaying(kinds[index % kinds.length] ?? '', name)
    return [`hostile/${name}/SKILL.md`, Buffer.concat([document, Buffer.from(`Round ${round}.\n`)])]
  })
  // The longest SKILL.md that is taken, all of it in search of images that do not end.
  const long = documentSaying(`license: round ${round}`, 'long')
  return { ...Object.fromEntries(skills), 'hostile/long/SKILL.md': Buffer.concat([long, LONG_BODY]) }
}

const LONG_BODY = Buffer.alloc(2 ** 24 - 2 ** 10, '![](a ')

type Ask = () => Promise<void>

/** One kind of request. */
interface Deed {
  readonly what: string
  readonly ask: Ask
}

async function deedsOf(url: string, { skills }: ServedSkills): Promise<Deed[]> {
  const uris = skills.documents.map((path) => `skill://bench/${path}`)
  const asked = [...methodsFor(uris), readingFile(skills)]
  const ofEras = ERAS.map(async (era) => {
    const client = await Client.open(era, url)
    const second = async (method: string): Promise<Params> => cursorIn(await client.bodyOf(method, {}))
    const all: readonly (readonly [string, Params, string?])[] = [
      ...asked,
      ['skills/list', await second('skills/list'), 'second page'],
      ['resources/list', await second('resources/list'), 'second page'],
      ['prompts/list', await second('prompts/list'), 'second page'],
      ...(era === 'modern' ? [['server/discover', {}] as const] : ofLegacy(uris)),
    ]
    return all.map(([method, params, of]): Deed => {
      // A cursor is good for one catalog: what is asked for has to be there, whatever the answer is.
      const isOfCatalog = 'cursor' in params
      const what = `${era} ${method}${of === undefined ? '' : `, ${of}`}`
      const ask = isOfCatalog
        ? async () => exchanged(url, client.request(method, await second(method)))
        : async () => exchanged(url, client.request(method, params))
      return { what, ask }
    })
  })
  const legacy = await Client.open('legacy', url)
  const batches = Object.entries(BATCHES).map(([of, [method, params]]): Deed => {
    const ask = async (): Promise<void> => exchanged(url, legacy.batch(method, params, 100))
    return { what: `batch of 100 ${of}`, ask }
  })
  const listening: Deed = {
    what: 'modern subscriptions/listen, 10000 URIs',
    ask: async () => {
      using streams = new Streams('nothing is told')
      await streams.open(url, [listenOf(url, 1, ...uris.slice(0, 10_000))])
    },
  }
  const initialize: Deed = { what: 'legacy initialize', ask: async () => exchanged(url, initializeOf(url)) }
  return [...(await Promise.all(ofEras)).flat(), initialize, listening, ...batches, ...routesOf(url, skills)]
}

type Params = Readonly<Record<string, unknown>>

const ofTemplate = (uri: string, name: string, value: string, given: Params = {}): Params => ({
  ref: { type: 'ref/resource', uri },
  argument: { name, value },
  context: { arguments: given },
})

const PATHS = ofTemplate('skill://bench/{+path}', 'path', '')
const SPACE = 'skill://bench/{folder}/{skill}/SKILL.md'

/** What both eras ask, with what of it where one method is asked for several things. */
function methodsFor(uris: readonly string[]): readonly (readonly [method: string, params: Params, of?: string])[] {
  const uri = uris.at(-1) ?? ''
  const root = uri.slice(0, -'/SKILL.md'.length)
  const name = root.slice(root.lastIndexOf('/') + 1)
  return [
    ['skills/list', {}],
    ['skills/get', { uri }],
    ['resources/list', {}],
    ['resources/templates/list', {}],
    ['resources/directory/read', { uri: 'skill://bench/skills' }, 'folder of all skills'],
    ['resources/directory/read', { uri: root }],
    ['resources/read', { uri }],
    ['resources/read', { uri: 'skill://index.json' }, 'index'],
    ['resources/read', { uri: `${root}.tar.gz` }, 'archive'],
    ['resources/read', { uri: `${root}/_manifest` }, 'manifest'],
    ['resources/read', { uri: 'resource://docs/page-1.md' }, 'docs'],
    ['tools/list', {}],
    ['tools/call', { name: 'list_skills', arguments: {} }, 'list_skills'],
    ['tools/call', { name: 'get_skill', arguments: { id: name } }, 'get_skill'],
    ['tools/call', { name: 'get_skill', arguments: { id: `${name}-of-none` } }, 'get_skill, unknown'],
    ['tools/call', { name: 'search_skills', arguments: { query: 'read a report' } }, 'search_skills'],
    ['prompts/list', {}],
    ['prompts/get', { name: 'init-skills' }, 'init-skills'],
    ['prompts/get', { name: 'skills-catalog' }, 'skills-catalog'],
    ['prompts/get', { name }, 'of a skill'],
    ['completion/complete', PATHS, 'path'],
    ['completion/complete', ofTemplate(SPACE, 'skill', 'skill-1', { folder: 'skills' }), 'template'],
    ['completion/complete', ofTemplate('resource://docs/{+path}', 'path', 'page'), 'docs'],
  ]
}

/** A file beside a SKILL.md, of a skill that has one. */
function readingFile({ files }: ServedSkills['skills']): readonly [method: string, params: Params, of: string] {
  const file = Object.keys(files).findLast((path) => path.endsWith('/references/part-0.md'))
  if (file === undefined) throw new TypeError('No skill has a file beside its SKILL.md')
  const [, id = '', ...path] = file.split('/')
  const given = { id, path: path.join('/') }
  return ['tools/call', { name: 'read_skill_file', arguments: given }, 'read_skill_file']
}

function ofLegacy(uris: readonly string[]): readonly (readonly [method: string, params: Params])[] {
  return [
    ['ping', {}],
    ['resources/subscribe', { uri: uris[0] }],
    ['resources/unsubscribe', { uri: uris[0] }],
  ]
}

const BATCHES: Readonly<Record<string, readonly [method: string, params: Params]>> = {
  completions: ['completion/complete', PATHS],
  'lists of resources': ['resources/list', {}],
  'lists of skills': ['skills/list', {}],
  'calls of list_skills': ['tools/call', { name: 'list_skills', arguments: {} }],
  'skills-catalog': ['prompts/get', { name: 'skills-catalog' }],
  'reads of the index': ['resources/read', { uri: 'skill://index.json' }],
  searches: ['tools/call', { name: 'search_skills', arguments: { query: 'read a report' } }],
}

/** What is answered besides MCP. */
function routesOf(url: string, { documents }: ServedSkills['skills']): Deed[] {
  const folder = folderOf(documents.at(-1))
  const name = folder.slice(folder.lastIndexOf('/') + 1)
  const paths = [
    '/',
    '/?q=report',
    '/?q=nothing+has+this',
    '/?page=9999',
    '/sources',
    '/changes',
    '/changes?from=1&to=2',
    '/problems',
    '/connect',
    `/skills/bench/${folder}/`,
    `/skills/bench/${folder}/SKILL.md`,
    '/.well-known/agent-skills/index.json',
    `/.well-known/agent-skills/${name}.zip`,
    `/.well-known/agent-skills/${name}/SKILL.md`,
    '/healthz',
    '/readyz',
    '/metrics',
  ]
  return paths.map((path): Deed => {
    const at = new URL(path, url).href
    return { what: `GET ${path}`, ask: async () => exchanged(url, requestOf(at, 'GET', {})) }
  })
}

/** Sends a request on a connection of its own, and has its whole answer. */
async function exchanged(url: string, request: Buffer): Promise<void> {
  using wire = await Wire.open(url)
  const answer = await wire.exchange(request)
  const status = answer.toString('latin1', 0, 12)
  // In a batch there may be no room, or no time, for the last of them.
  const isBatch = answer.includes('\r\n\r\n[')
  if (!status.startsWith('HTTP/1.1 2') || (!isBatch && answer.includes('"error":{"code"', 0, 'latin1')))
    throw new Error(
      `${request.toString('utf8').slice(0, 2_000)}\nwas answered with\n${answer.toString('utf8', 0, 2_000)}`,
    )
}

function cursorIn(body: string): Params {
  const { result }: { readonly result: { readonly nextCursor?: string } } = JSON.parse(body)
  return result.nextCursor === undefined ? {} : { cursor: result.nextCursor }
}

await runAlone(import.meta.url, measureTurns)
