import type { Peer } from '../support/clients/peer.ts'
import { Repository } from '../support/git/repository.ts'
import type { Content } from '../support/git/repository.ts'
import { serve } from '../support/served.ts'
import type { Served, ServedOptions } from '../support/served.ts'
import { contentOf, everyPeer } from './peers.ts'
import type { Kind, Peers } from './peers.ts'

interface SmallOptions extends ServedOptions {
  /** The clients that are started; a process each over stdio. All unless given. */
  readonly kinds?: readonly Kind[]
}

/** A few files of one's own, served as the source `fx` and asked by one client of each kind, or of those that are named. */
export interface Small extends Peers {
  readonly repository: Repository
  readonly served: Served
  /** Commits and has it served. */
  commit(files: Readonly<Record<string, Content | null>>): Promise<void>
}

export async function openSmall(files: Readonly<Record<string, Content>>, options: SmallOptions = {}): Promise<Small> {
  const repository = await Repository.create()
  await repository.commit(files)
  const served = await serve(repository, options)
  const peers = await everyPeer(served, options.kinds)
  return {
    ...peers,
    repository,
    served,
    async commit(changed) {
      await repository.commit(changed)
      await served.sync()
    },
    async [Symbol.asyncDispose]() {
      await peers[Symbol.asyncDispose]()
      await served[Symbol.asyncDispose]()
      await repository[Symbol.asyncDispose]()
    },
  }
}

export const INDEX = 'skill://index.json'

/** What a resource that is JSON holds. */
export async function readJson(peer: Peer, uri: string) {
  return JSON.parse(await readText(peer, uri))
}

export async function readText(peer: Peer, uri: string): Promise<string> {
  return contentOf(await peer.call('resources/read', { uri })).item.text
}

export async function readBytes(peer: Peer, uri: string): Promise<Buffer> {
  return contentOf(await peer.call('resources/read', { uri })).bytes
}

export function skillOf(name: string, description = `What ${name} does`): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n# ${name}\n`
}
