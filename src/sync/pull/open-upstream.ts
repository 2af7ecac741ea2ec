import { ChannelUpstream } from '../../features/channel/follow/channel-upstream.ts'
import type { ChannelLook, ChannelReach } from '../../features/channel/follow/channel-upstream.ts'
import { McpUpstream } from '../../features/mcp-sources/upstream/mcp-upstream.ts'
import type { McpReach } from '../../features/mcp-sources/upstream/mcp-upstream.ts'
import { EitherUpstream } from '../git/either-upstream.ts'
import { FileTransport } from '../git/file-transport.ts'
import type { GitReach } from '../git/git-reach.ts'
import { GitUpstream } from '../git/git-upstream.ts'
import { IsomorphicTransport } from '../git/isomorphic/isomorphic-transport.ts'
import type { GitTransport } from '../git/objects/git-transport.ts'
import type { Ref } from '../git/objects/ref-rules.ts'
import { patternsOf, revisionOfCommit } from '../git/objects/ref-rules.ts'
import { ProgramTransport } from '../git/program/program-transport.ts'
import { SharingTransport } from '../git/sharing-transport.ts'
import { HttpTransport } from '../git/smart-http/http-transport.ts'
import type { DirectorySource, GitSource, Source } from '../model/source.ts'
import { DirectoryUpstream } from '../upstream/folder/directory-upstream.ts'
import type { FolderReach } from '../upstream/folder/directory-upstream.ts'
import { SharedListings } from '../upstream/shared-listings.ts'
import type { TreeUpstream, Upstream } from '../upstream/upstream.ts'

/** The context of an upstream of any kind. */
export type Reach = GitReach & FolderReach & McpReach & ChannelReach

/** Opens the upstream of a source: `openUpstream`, or what a test replaces it with. */
export type OpenUpstream = (source: Source, reach: Reach) => Upstream

/** The upstream of a source. No connection is opened before the first call. */
export function openUpstream(source: GitSource | DirectorySource, reach: Reach): TreeUpstream
export function openUpstream(source: Source, reach: Reach): Upstream
export function openUpstream(source: Source, reach: Reach): Upstream {
  switch (source.kind) {
    case 'git':
      return gitUpstream(source, reach)
    case 'directory':
      return new DirectoryUpstream(source, reach)
    case 'mcp':
      return new McpUpstream(source, reach)
    case 'channel':
      return new ChannelUpstream(source, reach)
    default:
      return source satisfies never
  }
}

function gitUpstream(source: GitSource, reach: Reach): TreeUpstream {
  const { url, backend } = source
  const own = new GitUpstream(source, reach, sharing(transportTo(source, reach), reach))
  if (!/^https?:/i.test(url) || (backend !== 'auto' && backend !== 'embedded')) return own
  // The shared listing is that of our own reader.
  const program = new GitUpstream(source, reach, new ProgramTransport({ kind: 'http', url }, reach))
  return new EitherUpstream(url, own, backend === 'auto' ? program : undefined)
}

/** Shares between pulls what the sources of one address each ask for: the refs of a repository, the log of a channel. */
export class SharedRequests {
  readonly #listings = new SharedListings<Ref>()
  readonly #looks = new SharedListings<ChannelLook>()

  /** Registers a pull of the source. `address`: equal for sources of the same address, with the same access. */
  request(source: Source, address: string): SharedRequest {
    using requested = new DisposableStack()
    const reach =
      source.kind === 'channel' && source.isNamesake === true
        ? { look: requested.use(this.#looks.request(address, [])) }
        : { listing: requested.use(this.#listings.request(address, refsOf(source))) }
    const kept = requested.move()
    return { reach, [Symbol.dispose]: () => kept.dispose() }
  }
}

/** The part of one pull in what pulls share. */
export interface SharedRequest extends Disposable {
  readonly reach: Pick<Reach, 'listing' | 'look'>
}

/** Returns the refs that a pull of the source will request, so that a shared listing can request those of all pulls. */
function refsOf(source: Source): readonly string[] {
  if (source.kind !== 'git') return []
  return revisionOfCommit(source.ref) === undefined ? patternsOf(source.ref) : []
}

function sharing(transport: GitTransport, { listing }: Reach): GitTransport {
  return listing === undefined ? transport : new SharingTransport(transport, listing)
}

function transportTo({ url, backend }: GitSource, reach: Reach): GitTransport {
  if (/^https?:/i.test(url)) {
    if (backend === 'system') return new ProgramTransport({ kind: 'http', url }, reach)
    return backend === 'isomorphic' ? new IsomorphicTransport(url, reach) : new HttpTransport(url, reach)
  }
  if (/^file:/i.test(url)) return new FileTransport(url, backend, reach)
  // Configuration allows only `ssh://…` or `git@host:path` here, which our own reader does not support.
  return new ProgramTransport({ kind: 'ssh', url }, reach)
}
