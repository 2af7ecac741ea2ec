import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import type { Outcome } from '../../src/sync/model/outcome.ts'
import type { Skill } from '../../src/sync/model/skill.ts'
import { modernHttp, type Peer } from '../support/clients/peer.ts'
import { Repository, type Content, type RawEntry } from '../support/git/repository.ts'
import { pullNow } from '../support/pull-now.ts'
import { serve, type Served, type ServedOptions } from '../support/served.ts'

/** A SKILL.md that nothing is wrong with. */
export function skillText(name: string, more = '', body = ''): string {
  return `---\nname: ${name}\ndescription: What ${name} does\n${more}---\n# ${name}\n${body}`
}

/** What stands beside whatever is odd: it is served before, with and after it, byte for byte. */
const HEALTHY: Readonly<Record<string, string | Uint8Array>> = {
  'healthy/SKILL.md': skillText('healthy'),
  'healthy/data.bin': Uint8Array.from({ length: 256 }, (_, index) => index),
}

interface Entry {
  readonly uri: string
  readonly frontmatter: Record<string, unknown>
  readonly resources: readonly { readonly uri: string; readonly digest: string; readonly size: number }[]
}

/** A repository with odd content, the real server of git before it, the daemon behind it, and a client that reads. */
export class ReadBack implements AsyncDisposable {
  readonly repository: Repository
  readonly served: Served
  readonly #peer: Peer

  private constructor(repository: Repository, served: Served, peer: Peer) {
    this.repository = repository
    this.served = served
    this.#peer = peer
  }

  /** Serves the healthy skill, pulled once. */
  static async open(options: ServedOptions = {}): Promise<ReadBack> {
    const repository = await Repository.create()
    await repository.commit(HEALTHY)
    const served = await serve(repository, options)
    return new ReadBack(repository, served, await modernHttp(served.url))
  }

  /** Commits the files beside the healthy skill, and pulls. */
  async take(files: Readonly<Record<string, Content>>): Promise<void> {
    await this.repository.commit(files)
    await this.updated()
  }

  /** Commits raw entries of the root beside the healthy skill, and pulls. */
  async takeRaw(entries: readonly RawEntry[]): Promise<Outcome> {
    await this.commitRaw(entries)
    return this.pull()
  }

  async commitRaw(entries: readonly RawEntry[]): Promise<string> {
    const id = await this.repository.git('rev-parse', 'main:healthy')
    return this.repository.commitTree(
      await this.repository.rawTree([...entries, { mode: '40000', name: 'healthy', id }]),
    )
  }

  /** A raw tree of a skill of this name with further entries. */
  async skillTree(name: string, entries: readonly RawEntry[]): Promise<string> {
    const document = await this.repository.blob(skillText(name))
    return this.repository.rawTree([{ mode: '100644', name: 'SKILL.md', id: document }, ...entries])
  }

  async pull(): Promise<Outcome> {
    const [outcome] = (await pullNow(this.served.daemon)).values()
    return outcome!
  }

  async updated(): Promise<void> {
    expect(await this.pull()).toMatchObject({ kind: 'updated' })
  }

  /** What a client is listed, by URI. */
  async list(): Promise<ReadonlyMap<string, Entry>> {
    const entries: Entry[] = []
    let cursor: string | undefined
    do {
      const { result } = await this.#peer.call('skills/list', cursor === undefined ? {} : { cursor })
      entries.push(...result.skills)
      cursor = result.nextCursor
    } while (cursor !== undefined)
    return new Map(entries.map((entry) => [entry.uri, entry]))
  }

  /** Every file of a listed skill as a client reads it, by its URI; each has the digest and the size of the listing. */
  async read(uri: string): Promise<ReadonlyMap<string, Buffer>> {
    const entry = (await this.list()).get(uri)
    const files = new Map<string, Buffer>()
    for (const { uri: file, digest, size } of entry?.resources ?? []) {
      const { result } = await this.#peer.call('resources/read', { uri: file })
      const [{ text, blob }] = result.contents
      const bytes = typeof text === 'string' ? Buffer.from(text) : Buffer.from(blob, 'base64')
      expect([bytes.length, `sha256:${createHash('sha256').update(bytes).digest('hex')}`]).toEqual([size, digest])
      files.set(file, bytes)
    }
    return files
  }

  /** P8: the neighbour of what is odd is listed, and read byte for byte. */
  async expectHealthy(): Promise<void> {
    const files = await this.read('skill://fx/healthy/SKILL.md')
    expect([...files]).toEqual(
      Object.entries(HEALTHY).map(([path, bytes]) => [`skill://fx/${path}`, Buffer.from(bytes)]),
    )
  }

  /** What the daemon says of every skill but the healthy one. */
  get skills(): readonly Skill[] {
    const [snapshot] = this.served.daemon.registry.catalog.snapshots
    return (snapshot?.skills ?? []).filter(({ path }) => path !== 'healthy')
  }

  /** `path standing rule,rule` of every skill but the healthy one. */
  get said(): string[] {
    return this.skills.map(({ path, standing, findings }) =>
      `${path} ${standing} ${findings.map(({ rule }) => rule).join()}`.trim(),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#peer[Symbol.asyncDispose]()
    await this.served[Symbol.asyncDispose]()
    await this.repository[Symbol.asyncDispose]()
  }
}
