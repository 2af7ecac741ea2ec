import { ChannelUpstream } from '../../features/channel/follow/channel-upstream.ts'
import type { ChannelReach } from '../../features/channel/follow/channel-upstream.ts'
import { McpUpstream } from '../../features/mcp-sources/upstream/mcp-upstream.ts'
import type { McpReach } from '../../features/mcp-sources/upstream/mcp-upstream.ts'
import { EitherUpstream } from '../git/either-upstream.ts'
import { FileTransport } from '../git/file-transport.ts'
import type { GitReach } from '../git/git-reach.ts'
import { GitUpstream } from '../git/git-upstream.ts'
import { IsomorphicTransport } from '../git/isomorphic/isomorphic-transport.ts'
import type { GitTransport } from '../git/objects/git-transport.ts'
import { ProgramTransport } from '../git/program/program-transport.ts'
import { SharingTransport } from '../git/sharing-transport.ts'
import { HttpTransport } from '../git/smart-http/http-transport.ts'
import type { DirectorySource, GitSource, Source } from '../model/source.ts'
import { DirectoryUpstream } from '../upstream/folder/directory-upstream.ts'
import type { FolderReach } from '../upstream/folder/directory-upstream.ts'
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
