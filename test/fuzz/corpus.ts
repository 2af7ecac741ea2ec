import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bandFrame, DELIMITER, FLUSH, packet } from '../../src/base/pkt-line.ts'
import { PackFile } from '../../src/sync/git/objects/pack-file.ts'
import { applyDelta } from '../../src/sync/git/objects/pack-objects.ts'
import type { ObjectFormat } from '../../src/sync/model/revision.ts'
import { GitServer } from '../support/git/git-server.ts'
import { Repository, runGit } from '../support/git/repository.ts'
import { ARCHIVE_SEEDS } from './archives.ts'
import { Dice } from './dice.ts'
import { DOCUMENT_SEEDS } from './documents.ts'
import { GIT_REQUEST_SEEDS } from './git-requests.ts'
import { MESSAGE_SEEDS } from './messages.ts'
import { mutated } from './mutate.ts'
import { PROOF_SEEDS } from './proofs.ts'
import { recipeOf, withChecksum } from './recipe.ts'
import { SETTINGS_SEEDS } from './settings.ts'
import { SIGNATURE_SEEDS } from './signatures.ts'
import { KINDS } from './targets.ts'
import type { TargetKind } from './targets.ts'

/** Bytes that are sound, and what they are. */
export interface Input {
  readonly kind: TargetKind
  readonly bytes: Buffer
}

/** What git makes of two small repositories and what it makes seldom, and what authors, signers, packers and clients make. */
export async function corpusIn(scratch: string): Promise<readonly Input[]> {
  const made = [...(await inputsOf('sha1', scratch)), ...(await inputsOf('sha256', scratch)), ...SELDOM]
  return [
    ...made,
    ...[
      DOCUMENT_SEEDS,
      SIGNATURE_SEEDS,
      ARCHIVE_SEEDS,
      MESSAGE_SEEDS,
      GIT_REQUEST_SEEDS,
      SETTINGS_SEEDS,
      PROOF_SEEDS,
    ].flatMap(seedsIn),
  ]
}

type Seeds = Partial<Readonly<Record<TargetKind, readonly (Buffer | string)[]>>>

function seedsIn(seeds: Seeds): readonly Input[] {
  return KINDS.flatMap((kind) => (seeds[kind] ?? []).map((seed) => ({ kind, bytes: Buffer.from(seed) })))
}

/** The input of one execution, a member of the corpus with changes: always the same for the same seed. */
export function inputOf(corpus: readonly Input[], seed: number, execution: number): Input {
  const dice = new Dice(seed, execution)
  const kind = dice.oneOf(kindsIn(corpus))
  const alike = corpus.filter((other) => other.kind === kind).map((other) => other.bytes)
  const bytes = dice.oneOf(alike)
  const format = kind === 'pack' ? 'sha1' : kind === 'sha256-pack' ? 'sha256' : undefined
  // A checksum that is wrong ends the reading before it begins.
  if (format === undefined || dice.below(2) === 0) return { kind, bytes: mutated(bytes, alike, dice) }
  const checksum = format === 'sha1' ? 20 : 32
  return { kind, bytes: withChecksum(mutated(bytes.subarray(0, -checksum), alike, dice), format) }
}

function kindsIn(corpus: readonly Input[]): readonly TargetKind[] {
  return [...new Set(corpus.map(({ kind }) => kind))]
}

async function inputsOf(format: ObjectFormat, scratch: string): Promise<readonly Input[]> {
  await using repository = await sample(format)
  const packs = await Promise.all(WAYS.map((way) => packed(repository, way)))
  const answers = (await answersOf(repository, format)).map((bytes): Input => ({ kind: 'answer', bytes }))
  if (format === 'sha256') return [...packs.map((bytes): Input => ({ kind: 'sha256-pack', bytes })), ...answers]
  const file = join(scratch, 'sample.pack')
  await writeFile(file, packs[0] ?? '')
  return [...packs.map((bytes): Input => ({ kind: 'pack', bytes })), ...answers, ...partsOf(file)]
}

/** The report of a push, as a server with the side band sends it, with what a hook printed. */
function report(...lines: readonly string[]): Buffer {
  const inner = Buffer.concat([...lines.map((line) => packet(`${line}\n`)), FLUSH])
  return Buffer.concat([bandFrame(2, Buffer.from('\u001b[31mno\n')), bandFrame(1, inner), FLUSH])
}

/** A delta before its base, an answer that carries no pack, and ends of a push. */
const SELDOM: readonly Input[] = [
  { kind: 'recipe', bytes: Buffer.from([7, 0, 1, 0, 4, 5, 5, 0x90, 5, 3, 0, 0, 0, 5, ...Buffer.from('hello')]) },
  { kind: 'answer', bytes: Buffer.concat([packet('ready\n'), packet('\u0002enough of it\n'), DELIMITER, FLUSH]) },
  { kind: 'report', bytes: report('unpack ok', 'ok refs/heads/main') },
  { kind: 'report', bytes: report('unpack ok', 'ng refs/heads/main pre-receive hook declined') },
  { kind: 'report', bytes: Buffer.concat([packet('unpack ok\n'), packet('ok refs/heads/main\n'), FLUSH]) },
]

const WAYS = [['--delta-base-offset'], [], ['--no-reuse-delta', '--window=0']] as const

async function sample(objectFormat: ObjectFormat): Promise<Repository> {
  const repository = await Repository.create({ objectFormat })
  const lines = Array.from({ length: 60 }, (_, index) => `line ${index * 7919}\n`)
  const files = Array.from({ length: 8 }, (_, n) => [`d${n % 3}/f${n}`, lines.toSpliced(n * 5, 2, `${n}\n`).join('')])
  await repository.commit({ ...Object.fromEntries(files), run: { executable: '#!' }, to: { link: 'd0/f0' }, empty: '' })
  await repository.commit({ 'd0/f0': lines.join('') })
  await repository.tag('v1', { annotated: true })
  await repository.git('repack', '-adfq')
  return repository
}

async function packed(repository: Repository, options: readonly string[]): Promise<Buffer> {
  const args = ['--git-dir', repository.folder, 'pack-objects', '--all', '--stdout', '--quiet', ...options]
  return runGit(args, { input: '' })
}

/** What servers answer: which refs there are, and a pack. */
async function answersOf(repository: Repository, format: ObjectFormat): Promise<readonly Buffer[]> {
  await using server = await GitServer.start()
  const url = server.serve('r', repository)
  const commit = await repository.git('rev-parse', 'main')
  const asked = [packet(`object-format=${format}\n`), DELIMITER]
  const list = [packet('command=ls-refs\n'), ...asked, packet('peel\n'), packet('symrefs\n'), FLUSH]
  const wants = [packet('ofs-delta\n'), packet(`want ${commit}\n`), packet('done\n'), FLUSH]
  const take = [packet('command=fetch\n'), ...asked, ...wants]
  const first = await fetch(`${url}/info/refs?service=git-upload-pack`, { headers: VERSION_2 })
  const answers = [Buffer.from(await first.arrayBuffer())]
  for (const lines of [list, take]) {
    const headers = { ...VERSION_2, 'content-type': 'application/x-git-upload-pack-request' }
    const answer = await fetch(`${url}/git-upload-pack`, { method: 'POST', headers, body: Buffer.concat(lines) })
    answers.push(Buffer.from(await answer.arrayBuffer()))
  }
  const version1 = await fetch(`${url}/info/refs?service=git-upload-pack`)
  return [...answers, Buffer.from(await version1.arrayBuffer())]
}

const VERSION_2 = { 'git-protocol': 'version=2' }

/** The recipe of a pack, its trees, and its deltas: each with its base, and the length of that, before it. */
function partsOf(path: string): readonly Input[] {
  using file = new PackFile(path, 'sha1')
  const parts: Input[] = [{ kind: 'recipe', bytes: recipeOf(path) }]
  const contents = new Map<number, Buffer>()
  for (let at = file.start, index = 0; index < file.count; index += 1) {
    const header = file.header(at)
    const { stored } = header
    const { bytes, next } = file.inflate(header)
    if (stored.kind === 'whole') {
      contents.set(at, bytes)
      if (stored.type === 'tree') parts.push({ kind: 'tree', bytes })
    } else if (typeof stored.base === 'number') {
      const base = contents.get(stored.base) ?? Buffer.alloc(0)
      contents.set(at, applyDelta(bytes, base, base.length * 10) ?? base)
      parts.push({
        kind: 'delta',
        bytes: Buffer.concat([Buffer.from([base.length >> 8, base.length & 255]), base, bytes]),
      })
    }
    at = next
  }
  return parts
}
