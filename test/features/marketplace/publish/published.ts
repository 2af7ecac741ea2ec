import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { vi } from 'vitest'
import type { Clock } from '../../../../src/base/async/clock.ts'
import type { PublicationEnd, PublicationStatus } from '../../../../src/daemon/status/publication-status.ts'
import { GitServer } from '../../../support/git/git-server.ts'
import { Repository } from '../../../support/git/repository.ts'
import type { Content } from '../../../support/git/repository.ts'
import type { Identity } from '../../../support/http/certificates.ts'
import { git, PACKS, Scene, skill } from '../../../support/http/marketplace.ts'

export const FILES: Readonly<Record<string, Content>> = {
  'write-letter/SKILL.md': skill('write-letter'),
  'write-letter/scripts/run.sh': { executable: '#!/bin/sh\necho\n' },
  'tidy/SKILL.md': skill('tidy'),
}

/** The signal of work that nobody ends. */
export const STEADY = new AbortController().signal

interface WorldOptions {
  /** Lines of YAML of the publication, after its address. */
  readonly publication?: readonly string[]
  /** Lines of YAML at the top level. */
  readonly config?: readonly string[]
  /** The server of the remote speaks TLS as this. */
  readonly tls?: Identity
  /** The clock of the daemon. */
  readonly clock?: Clock
  /** Lets the server of the remote leave out what commits hold; true if nothing is said. */
  readonly filter?: boolean
}

/** A hub whose marketplace is published to a repository of a git server. */
export class World implements AsyncDisposable {
  readonly scene: Scene
  readonly server: GitServer
  readonly remote: Repository
  readonly url: string

  private constructor(scene: Scene, { server, remote, url }: Pick<World, 'server' | 'remote' | 'url'>) {
    this.scene = scene
    this.server = server
    this.remote = remote
    this.url = url
  }

  static async create({ publication = [], config = [], filter = true, tls, clock }: WorldOptions = {}): Promise<World> {
    const server = await GitServer.start(tls)
    const remote = await Repository.create({ filter })
    const url = server.serve('out', remote)
    const entry = ['publish:', `  - git: ${url}`, ...publication.map((line) => `    ${line}`)]
    const options = { config: [...PACKS, ...entry, ...config], ...(clock !== undefined && { clock }) }
    const scene = await Scene.serving(FILES, options)
    return new World(scene, { server, remote, url })
  }

  get daemon() {
    return this.scene.served.daemon
  }

  async publish(isDry = false): Promise<PublicationEnd> {
    const [end] = await this.daemon.parts.publications.publish({ isDry }, STEADY)
    if (end === undefined) throw new Error('Nothing was published')
    return end
  }

  /** The state of the publication. */
  status(): PublicationStatus | undefined {
    return this.daemon.parts.status.status().publications?.[0]
  }

  /** Resolves when the branch has what is served. */
  async isCurrent(): Promise<void> {
    await vi.waitUntil(() => this.status()?.isCurrent === true, { timeout: 60_000, interval: 20 })
  }

  /** Resolves when an attempt has failed. */
  async hasFailed(): Promise<void> {
    await vi.waitUntil(() => this.status()?.problem !== undefined, { timeout: 60_000, interval: 20 })
  }

  /** The lines of the log about one event. */
  logged(event: string): readonly unknown[] {
    const lines = this.scene.served.logged().trim().split('\n')
    return lines.map((line) => JSON.parse(line)).filter((line) => line.event === event)
  }

  /** The commits of the branch, newest first. */
  async history(branch = 'main'): Promise<readonly string[]> {
    return (await this.remote.git('rev-list', branch)).split('\n')
  }

  async treeOf(revision: string): Promise<string> {
    return this.remote.git('rev-parse', `${revision}^{tree}`)
  }

  /** The tree that the hub serves, as a clone of it sees it. */
  async servedTree(): Promise<string> {
    return git(['rev-parse', 'HEAD^{tree}'], await this.scene.clone())
  }

  async fsck(): Promise<string> {
    return git(['fsck', '--full', '--strict'], this.remote.folder)
  }

  /** Makes a hook of the remote, a script of the shell. */
  async hook(name: string, ...lines: readonly string[]): Promise<void> {
    const folder = join(this.remote.folder, 'hooks')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, name), `#!/bin/sh\n${lines.join('\n')}\n`)
    await chmod(join(folder, name), 0o755)
  }

  /** The requests of pushes that were sent so far. */
  get pushes(): number {
    return this.server.requests.filter(({ method, url }) => method === 'POST' && url.includes('receive-pack')).length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.scene[Symbol.asyncDispose]()
    await this.server[Symbol.asyncDispose]()
    await this.remote[Symbol.asyncDispose]()
  }
}
