import { EitherUpstream } from '../git/either-upstream.ts'
import { FileTransport } from '../git/file-transport.ts'
import type { GitReach } from '../git/git-reach.ts'
import { GitUpstream } from '../git/git-upstream.ts'
import { IsomorphicTransport } from '../git/isomorphic/isomorphic-transport.ts'
import type { GitTransport } from '../git/objects/git-transport.ts'
import { ProgramTransport } from '../git/program/program-transport.ts'
import { SharingTransport } from '../git/sharing-transport.ts'
import { HttpTransport } from '../git/smart-http/http-transport.ts'
import type { ServerListing } from '../model/server-listing.ts'
import type { DirectorySource, GitSource, Source } from '../model/source.ts'
import type { ChannelLook } from '../store/followed-logs.ts'
import { DirectoryUpstream } from '../upstream/folder/directory-upstream.ts'
import type { FolderReach } from '../upstream/folder/directory-upstream.ts'
import type { RequestedListing } from '../upstream/shared-listings.ts'
import type { TreeUpstream, Upstream } from '../upstream/upstream.ts'

/** The context of an upstream of any kind: what one pull gives it. */
export type Reach = GitReach &
  FolderReach & {
    /** Called with each listing that an MCP server gives. */
    readonly onListing?: (listing: ServerListing) => void
    /** The look at the log that the sources of one channel share; `undefined` to follow it alone. */
    readonly look?: RequestedListing<ChannelLook>
  }

/** Opens the upstream of a source of any kind. */
export type OpenUpstream = (source: Source, reach: Reach) => Upstream

/** The upstream of a source with trees. No connection is opened before the first call. */
export function openTreeUpstream(source: GitSource | DirectorySource, reach: Reach): TreeUpstream {
  return source.kind === 'git' ? gitUpstream(source, reach) : new DirectoryUpstream(source, reach)
}

function gitUpstream(source: GitSource, reach: Reach): TreeUpstream {
  const { url, backend } = source
  const own = new GitUpstream(source, reach, sharing(transportTo(source, reach), reach))
  if (!/^https?:/i.test(url) || (backend !== 'auto' && backend !== 'embedded')) return own
  // The shared listing is that of our own reader.
  const program = new GitUpstream(source, reach, new ProgramTransport({ kind: 'http', url }, reach))
  return new EitherUpstream(url, own, backend === 'auto' ? program : undefined)
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
