import { hash } from 'node:crypto'
import fs from 'node:fs'
import { pathToFileURL } from 'node:url'
import * as fc from 'fast-check'
import { clone, readBlob, readObject, readTree, resolveRef, type HttpClient } from 'isomorphic-git'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ObjectId } from '../../../../src/sync/model/revision.ts'
import type { Tree } from '../../../../src/sync/model/tree.ts'
import { GitServer } from '../../../support/git/git-server.ts'
import { Repository, runGit, type Content } from '../../../support/git/repository.ts'
import { SshHost } from '../../../support/git/ssh-host.ts'
import { lawRuns } from '../../../support/law-runs.ts'
import { hasProgram, neededProgram } from '../../../support/process/has-program.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { blobsOf, MODES, objectId, reach, STEADY } from '../../upstream/reached.ts'

/** What a reader makes of the tag `v1` of a repository. */
interface Opinion {
  readonly tag: string
  readonly commit: string
  /** As `git ls-tree -r -t` has them, sorted: isomorphic-git has an order of its own. */
  readonly entries: readonly string[]
  /** What stands for the bytes of each blob. */
  readonly blobs: ReadonlyMap<string, string>
}

let server: GitServer
let host: SshHost | undefined

beforeAll(async () => {
  server = await GitServer.start()
  if (hasProgram('sshd')) host = await SshHost.start()
})

afterAll(async () => {
  await host?.[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const READERS: Readonly<Record<string, (repository: Repository) => Promise<Opinion>>> = {
  'our reader, over http': (repository) => ofUpstream(served(repository)),
  'the git program, over ssh': (repository) => overSsh(repository, host),
  'the backend isomorphic, over http': (repository) => ofUpstream(served(repository), { backend: 'isomorphic' }),
  'the backend isomorphic, on this disk': (repository) =>
    ofUpstream(pathToFileURL(repository.folder).href, { backend: 'isomorphic' }),
  'the reader of this disk': (repository) => ofUpstream(pathToFileURL(repository.folder).href),
  'isomorphic-git, on this disk': (repository) => ofIsomorphic(repository.folder),
  'isomorphic-git, over http': (repository) => ofIsomorphicClone(served(repository)),
}

const READERS_HERE = Object.entries(READERS).filter(([name]) => !name.includes('ssh') || hasProgram('sshd'))

test('the git program over ssh is among the readers', () => {
  neededProgram('sshd')

  expect(READERS_HERE.map(([name]) => name)).toContain('the git program, over ssh')
})

test('every reader has the same entries and the same bytes as git, object by object', async () => {
  const seen = { deltas: 0, links: 0, executables: 0, submodules: 0 }
  await fc.assert(
    fc.asyncProperty(REPOSITORIES, async (plan) => {
      await using repository = await made(plan)
      const git = await ofGit(repository)
      seen.deltas += await deltasOf(repository)
      seen.links += git.entries.filter((entry) => entry.startsWith('120000')).length
      seen.executables += git.entries.filter((entry) => entry.startsWith('100755')).length
      seen.submodules += git.entries.filter((entry) => entry.startsWith('160000')).length

      for (const [name, read] of READERS_HERE) expect(await read(repository), name).toEqual(git)
    }),
    // Each run takes seconds, and a failure would be tried in hundreds of smaller forms.
    { numRuns: lawRuns(8, 1 / 4), endOnFailure: true, examples: [[EVERYTHING]] },
  )

  for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0)
}, 600_000)

/** What the author of a repository did, and how git keeps it. */
interface Plan {
  readonly commits: readonly Readonly<Record<string, Content>>[]
  readonly storage: 'loose' | 'packed' | 'packed in two'
  readonly filters: boolean
}

const LINES = Array.from({ length: 500 }, (_, index) => `line ${index * 7919}\n`)
/** Longer than a line of git's protocol, and not to be made shorter. */
const NOISE = Buffer.from(Array.from({ length: 150_000 }, (_, index) => (index * index * 7919) >> 7))

const name = fc.constantFrom('a', 'a.b', 'a-b', 'a0', 'A', 'ünïcode', 'x y', '__proto__', 'constructor')
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'))
const alike = fc
  .tuple(fc.nat(480), fc.nat(9))
  .map(([at, by]) => shownAs(`lines but ${by} at ${at}`, LINES.toSpliced(at, by, `changed ${at}\n`).join('')))
const noise = fc
  .nat(NOISE.length)
  .map((at) => shownAs(`noise from ${at}`, Buffer.concat([NOISE.subarray(at), NOISE.subarray(0, at)])))
const small = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes))
const bytes = fc.oneof(
  { weight: 6, arbitrary: alike },
  { weight: 1, arbitrary: noise },
  { weight: 3, arbitrary: small },
)
const content: fc.Arbitrary<Content> = fc.oneof(
  { weight: 6, arbitrary: bytes },
  { weight: 2, arbitrary: bytes.map((executable) => ({ executable })) },
  { weight: 2, arbitrary: path.map((link) => ({ link })) },
  { weight: 1, arbitrary: fc.constant({ submodule: '5ab0'.repeat(10) }) },
)
const files = fc
  .array(fc.tuple(path, content), { minLength: 1, maxLength: 15 })
  .map((pairs): Readonly<Record<string, Content>> => Object.fromEntries(pairs))

const REPOSITORIES: fc.Arbitrary<Plan> = fc.record({
  commits: fc.array(files, { minLength: 1, maxLength: 4 }),
  storage: fc.constantFrom('loose', 'packed', 'packed in two'),
  filters: fc.boolean(),
})

/** What such readers go wrong at, all of it: chance might leave something out. */
const EVERYTHING: Plan = {
  commits: [
    { 'a/lines': LINES.join(''), 'a/program': { executable: 'run' }, 'b/link': { link: '../a/lines' } },
    {
      'a/lines': LINES.toSpliced(7, 1, 'changed\n').join(''),
      'a/more': LINES.join(''),
      'a/program': { executable: 'run' },
      'b/link': { link: '../a/lines' },
      'b/other': { submodule: '5ab0'.repeat(10) },
    },
  ],
  storage: 'packed',
  filters: true,
}

/** Bytes of which a failure tells no more than that. */
function shownAs(text: string, bytes: string | Buffer): Buffer {
  return Object.assign(Buffer.from(bytes), { [fc.toStringMethod]: () => text })
}

async function made({ commits, storage, filters }: Plan): Promise<Repository> {
  const repository = await Repository.create({ filter: filters })
  for (const files of commits) {
    if (storage === 'packed in two') await repository.git('repack', '-dq')
    await repository.commit(files)
  }
  await repository.tag('v1', { annotated: true })
  if (storage !== 'loose') await repository.git('repack', ...(storage === 'packed' ? ['-adfq'] : ['-dq']))
  return repository
}

let repositories = 0

/** Under a name of its own: what a server can do is remembered by its address. */
function served(repository: Repository): string {
  return server.serve(`r${(repositories += 1)}`, repository)
}

async function ofGit(repository: Repository): Promise<Opinion> {
  const print = (args: readonly string[], input = '') => runGit(['--git-dir', repository.folder, ...args], { input })
  const entries = (await print(['ls-tree', '-rtz', 'v1'])).toString().split('\0').slice(0, -1)
  const ids = new Set(entries.flatMap((entry) => /^\d+ blob (\w+)\t/.exec(entry)?.[1] ?? []))
  const printed = await print(['cat-file', '--batch'], [...ids].map((id) => `${id}\n`).join(''))
  const blobs = new Map<string, string>()
  for (let at = 0; at < printed.length;) {
    const [id = '', , size = ''] = printed.toString('latin1', at, printed.indexOf('\n', at)).split(' ')
    const from = printed.indexOf('\n', at) + 1
    at = from + Number(size) + 1
    blobs.set(id, sumOf(printed.subarray(from, at - 1)))
  }
  const [tag, commit] = [await print(['cat-file', 'tag', 'v1']), await print(['cat-file', 'commit', 'v1'])]
  return { tag: tag.toString(), commit: commit.toString(), entries: entries.sort(), blobs }
}

/** How many objects are kept as a difference to another. */
async function deltasOf(repository: Repository): Promise<number> {
  const format = '--batch-check=%(deltabase)'
  const bases = await repository.git('cat-file', '--batch-all-objects', format)
  return bases.split('\n').filter((base) => !/^0+$/.test(base)).length
}

async function overSsh(repository: Repository, to: SshHost | undefined): Promise<Opinion> {
  if (to === undefined) throw new Error('There is no host of ssh')
  return ofUpstream(to.url(repository.folder), { access: to.access })
}

async function ofUpstream(
  url: string,
  options: Pick<Parameters<typeof reach>[1] & object, 'access' | 'backend'> = {},
): Promise<Opinion> {
  await using reached = await reach(url, { ref: 'v1', ...options })
  await using tree = await reached.tree()
  const blobs = new Map<string, string>()
  for (const [id, blob] of await tree.take(blobsOf(tree), STEADY)) {
    blobs.set(id, blob.kind === 'blob' ? sumOf(tree.bytesOf(blob)) : blob.reason)
  }
  const { tag = new Uint8Array(), commit } = tree.proof
  return { tag: textOf(tag), commit: textOf(commit), entries: entriesOf(tree).sort(), blobs }
}

function entriesOf(tree: Tree, id: ObjectId = tree.root, above = ''): string[] {
  return tree.list(id).flatMap((entry) => {
    const at = above + entry.name
    if (entry.kind === 'folder') return [`040000 tree ${entry.id}\t${at}`].concat(entriesOf(tree, entry.id, `${at}/`))
    return [`${MODES[entry.kind]} ${entry.kind === 'submodule' ? 'commit' : 'blob'} ${entry.id}\t${at}`]
  })
}

async function ofIsomorphicClone(url: string): Promise<Opinion> {
  await using folder = await temporaryFolder()
  const gitdir = folder.path
  await clone({ fs, http: HTTP, dir: gitdir, gitdir, url, ref: 'v1', singleBranch: true, depth: 1, noCheckout: true })
  return await ofIsomorphic(gitdir)
}

async function ofIsomorphic(gitdir: string): Promise<Opinion> {
  const at = { fs, gitdir, cache: {} }
  const blobs = new Map<string, string>()
  const walk = async (oid: string, above: string): Promise<string[]> => {
    const { tree } = await readTree({ ...at, oid })
    const lines: string[] = []
    for (const { mode, type, oid, path } of tree) {
      lines.push(`${mode} ${type} ${oid}\t${above}${path}`)
      if (type === 'blob') blobs.set(oid, sumOf((await readBlob({ ...at, oid })).blob))
      if (type === 'tree') lines.push(...(await walk(oid, `${above}${path}/`)))
    }
    return lines
  }
  const tag = await resolveRef({ ...at, ref: 'refs/tags/v1' })
  const raw = async (oid: string) => {
    const { object } = await readObject({ ...at, oid, format: 'content' })
    if (!(object instanceof Uint8Array)) throw new Error(`${oid} came in another form`)
    return textOf(object)
  }
  const named = await raw(tag)
  const commit = objectId(/^object (\w+)$/m.exec(named)?.[1])
  return { tag: named, commit: await raw(commit), entries: (await walk(commit, '')).sort(), blobs }
}

/** A plain client: the one that comes with isomorphic-git gives up after five seconds, and ours is what is judged. */
const HTTP: HttpClient = {
  async request({ url, method = 'GET', headers = {}, body = [] }) {
    const parts: Uint8Array[] = []
    for await (const part of body) parts.push(part)
    const answer = await fetch(url, { method, headers, ...(method === 'GET' ? {} : { body: Buffer.concat(parts) }) })
    return {
      url,
      method,
      statusCode: answer.status,
      statusMessage: answer.statusText,
      headers: Object.fromEntries(answer.headers),
      body: [new Uint8Array(await answer.arrayBuffer())].values() as never,
    }
  },
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString()
}

function sumOf(bytes: Uint8Array): string {
  return `${bytes.length} bytes, ${hash('sha256', bytes)}`
}
