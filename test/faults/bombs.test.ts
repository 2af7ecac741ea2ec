import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createDeflate } from 'node:zlib'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { NOTHING_KNOWN } from '../../src/sync/upstream/upstream.ts'
import { Dice } from '../fuzz/dice.ts'
import { GitServer } from '../support/git/git-server.ts'
import { Repository, runGit } from '../support/git/repository.ts'
import { SshHost } from '../support/git/ssh-host.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { startFront } from '../sync/upstream/front.ts'
import { blobsOf, reach, STEADY } from '../sync/upstream/reached.ts'
import { contentOf, failureOf } from '../sync/upstream/served.ts'
import { PackFlipper } from './flip-pack.ts'

const host = await SshHost.start()
const server = await GitServer.start()
afterAll(async () => {
  await host[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** A way to a repository on which one byte of each pack can be another. */
interface Meddled extends AsyncDisposable {
  readonly url: string
  /** From now on; undefined to pass on what comes as it is. */
  flip(at: number | undefined): Promise<void>
  /** How many bytes the last pack had. */
  packBytes(): Promise<number>
}

// Only bytes of packs are flipped. Elsewhere in an answer some do no harm: the text of progress, the name of a capability.
// Each takes the git program over half a second.
test.each([
  [150, 'our own reader, over http', meddledHttp],
  [50, 'the git program, over ssh', meddledSsh],
] as const)(
  '%i random byte flips of packs are all refused by %s',
  async (flips, _, meddle) => {
    await using repository = await sample()
    await using way = await meddle(repository)
    const access = { access: host.access }
    await using reached = await reach(way.url, access)
    const dice = new Dice(flips, 0)
    await way.flip(undefined)
    const revision = await reached.upstream.resolve(STEADY)
    await using tree = await reached.upstream.fetch(revision, NOTHING_KNOWN, STEADY)
    const treeBytes = await way.packBytes()
    const content = await contentOf(tree)
    const blobBytes = await way.packBytes()
    const codes = new Set<string>()

    for (let flip = 0; flip < flips / 2; flip += 1) {
      await way.flip(dice.below(treeBytes))
      codes.add((await failureOf(reached.upstream.fetch(revision, NOTHING_KNOWN, STEADY))).code)
    }
    await way.flip(undefined)
    await using other = await reached.upstream.fetch(revision, NOTHING_KNOWN, STEADY)
    for (let flip = 0; flip < flips / 2; flip += 1) {
      await way.flip(dice.below(blobBytes))
      codes.add((await failureOf(other.take(blobsOf(other), STEADY))).code)
    }

    expect([...codes].filter((code) => code !== 'source-unreachable' && code !== 'content-refused')).toEqual([])
    await way.flip(undefined)
    expect(await contentOf(other)).toEqual(content)
  },
  1_800_000,
)

const WAYS = [
  ['our own reader, over http', async (repository) => served(repository)],
  [
    'our own reader, from a server that cannot leave files out',
    async (repository) => {
      await repository.git('config', 'uploadpack.allowFilter', 'false')
      return served(repository)
    },
  ],
  ['the git program, over ssh', async (repository) => host.url(repository.folder)],
  ['our own reader, on this disk', async (repository) => pathToFileURL(repository.folder).href],
] as const satisfies readonly (readonly [string, (repository: Repository) => Promise<string>])[]

test.each(WAYS)('a gigabyte of zeros in a pack of a megabyte is refused below 200 MB by %s', async (_, open) => {
  await using repository = await Repository.create()
  const zeros = await packedZeros(repository, 2 ** 30)
  const small = await repository.blob('small')
  const entries = [
    { mode: '100644', name: 'small', id: small },
    { mode: '100644', name: 'zeros', id: zeros },
  ]
  await repository.commitTree(await repository.rawTree(entries))

  const { outcome, peaks } = await fetchApart(await open(repository))

  expect(outcome).toBe('taken,too-large')
  expectBelow200Mb(peaks)
})

test.each(WAYS)('eight trees that name a hundred million files are refused below 200 MB by %s', async (_, open) => {
  await using repository = await Repository.create()
  let id = await repository.blob('x')
  for (let level = 0; level < 8; level += 1) {
    const mode = level === 0 ? '100644' : '40000'
    id = await repository.rawTree(Array.from({ length: 10 }, (_, index) => ({ mode, name: `n${index}`, id })))
  }
  await repository.commitTree(id)

  const { outcome, peaks } = await fetchApart(await open(repository))

  expect(outcome).toMatch(/^limit-exceeded: .* over limits.repository.files/)
  expectBelow200Mb(peaks)
})

async function sample(): Promise<Repository> {
  const repository = await Repository.create()
  const lines = Array.from({ length: 200 }, (_, n) => `line ${n * 7919}\n`)
  const files = Array.from({ length: 12 }, (_, n) => [`d${n % 3}/f${n}`, lines.toSpliced(n * 9, 2, `${n}\n`).join('')])
  await repository.commit(Object.fromEntries(files))
  // So that the same request is answered with the same pack.
  await repository.git('config', 'pack.threads', '1')
  await repository.git('repack', '-adfq')
  return repository
}

let repositories = 0

function served(repository: Repository): string {
  return server.serve(`r${(repositories += 1)}`, repository)
}

async function meddledHttp(repository: Repository): Promise<Meddled> {
  let at: number | undefined
  let last = 0
  const flipped = (answer: Buffer) => {
    const flipper = new PackFlipper(at)
    const bytes = flipper.feed(answer)
    if (flipper.packBytes > 0) last = flipper.packBytes
    return bytes
  }
  const front = await startFront(
    server.origin,
    () => false,
    () => undefined,
    flipped,
  )
  return {
    url: served(repository).replace(server.origin, front.origin),
    flip: async (wanted) => void (at = wanted),
    packBytes: async () => last,
    [Symbol.asyncDispose]: () => front[Symbol.asyncDispose](),
  }
}

async function meddledSsh(repository: Repository): Promise<Meddled> {
  const folder = await temporaryFolder()
  const [at, seen] = [join(folder.path, 'at'), join(folder.path, 'seen')]
  const program = fileURLToPath(new URL('./flip-over-ssh.ts', import.meta.url))
  await writeFile(at, '')
  const behind = `git-upload-pack ${repository.folder} <&3 | ${process.execPath} ${program} ${at} ${seen}`
  await host.run(`exec 3<&0; ${behind}`)
  return {
    url: host.url(repository.folder),
    flip: async (wanted) => writeFile(at, wanted === undefined ? '' : String(wanted)),
    packBytes: async () => Number(await readFile(seen, 'utf8')),
    [Symbol.asyncDispose]: async () => {
      await host.run(undefined)
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** A blob of so many zeros, as a pack that was never larger than it is packed. */
async function packedZeros(repository: Repository, size: number): Promise<string> {
  const deflate = createDeflate()
  const packed = deflate.toArray()
  const piece = Buffer.alloc(2 ** 20)
  for (let left = size; left > 0; left -= piece.length) {
    if (!deflate.write(piece)) await once(deflate, 'drain')
  }
  deflate.end()
  // Type 3 and the lowest four bits, then seven a byte.
  const head = [0x30 | 128, ...sevenBits(size / 16)]
  const body = Buffer.concat([
    Buffer.from('PACK\0\0\0\u0002\0\0\0\u0001', 'latin1'),
    Buffer.from(head),
    ...(await packed),
  ])
  const pack = Buffer.concat([body, createHash('sha1').update(body).digest()])
  expect(pack.length).toBeLessThan(1_100_000)
  await runGit(['--git-dir', repository.folder, 'index-pack', '--stdin'], { input: pack })
  return repository.git('cat-file', '--batch-all-objects', '--batch-check=%(objectname)')
}

function sevenBits(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...sevenBits(Math.floor(value / 128))]
}

/** Fetches in a process of its own. `peaks` are the most megabytes that it and each program it started ever held. */
async function fetchApart(url: string) {
  const program = fileURLToPath(new URL('./fetch-process.ts', import.meta.url))
  const child = spawn(process.execPath, [program, url, JSON.stringify(host.access)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const seen = new Map<string, number>()
  const watch = setInterval(() => void note(String(child.pid), seen), 50)
  // A test that ran out of time disposes of nothing: what it started must not outlive it.
  onTestFinished(() => {
    clearInterval(watch)
    child.kill('SIGKILL')
  })
  const printed = await text(child.stdout)
  const { outcome, peakMb } = JSON.parse(printed) as { outcome: string; peakMb: number }
  return { outcome, peaks: { fetching: peakMb, ...Object.fromEntries(seen) } }
}

/** Asks the system for the peak of each process that descends from this one, as far as they are there now. */
async function note(ancestor: string, peaks: Map<string, number>): Promise<void> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const states = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')))
  const parents = new Map(pids.map((pid, index) => [pid, fieldOf(states[index]!, 'PPid')]))
  for (const [index, pid] of pids.entries()) {
    const state = states[index]!
    if (!descends(pid, ancestor, parents)) continue
    const name = `${fieldOf(state, 'Name')} ${pid}`
    peaks.set(name, Math.max(peaks.get(name) ?? 0, Number.parseInt(fieldOf(state, 'VmHWM'), 10) / 1024 || 0))
  }
}

function fieldOf(state: string, name: string): string {
  return new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(state)?.[1] ?? ''
}

function descends(pid: string, ancestor: string, parents: ReadonlyMap<string, string>): boolean {
  let at: string | undefined = parents.get(pid)
  while (at !== undefined && at !== ancestor) at = parents.get(at)
  return at === ancestor
}

function expectBelow200Mb(peaks: Readonly<Record<string, number>>): void {
  expect(Object.entries(peaks).filter(([, mb]) => mb >= 200)).toEqual([])
}
