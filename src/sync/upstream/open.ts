import type { Source } from '../model/source.ts'
import { SyncError } from '../model/sync-error.ts'
import { DiskTransport } from './disk-transport.ts'
import { GitUpstream, type GitTransport } from './git.ts'
import { HttpTransport } from './http-transport.ts'
import { patternsOf, revisionOfCommit } from './ref-rules.ts'
import { SharingTransport } from './shared-listing.ts'
import type { Reach, Upstream } from './upstream.ts'

/** The way to a source. Nothing is opened before the first call. */
export function openUpstream(source: Source, reach: Reach): Upstream {
  switch (source.kind) {
    case 'git':
      return new GitUpstream(source, reach, sharing(transportTo(source.url, reach), reach))
    default:
      return source.kind satisfies never
  }
}

/** The refs that a pull of the source will ask for, as far as is known before it: a listing for several asks for those of all. */
export function refsOf(source: Source): readonly string[] {
  return revisionOfCommit(source.ref) === undefined ? patternsOf(source.ref) : []
}

function sharing(transport: GitTransport, { listing }: Reach): GitTransport {
  return listing === undefined ? transport : new SharingTransport(transport, listing)
}

function transportTo(url: string, reach: Reach): GitTransport {
  switch (new URL(url).protocol) {
    case 'http:':
    case 'https:':
      return new HttpTransport(url, reach)
    case 'file:':
      return new DiskTransport(url, reach)
    default:
      throw new SyncError('unsupported', `Cannot reach "${url}": only http, https and file addresses are read`)
  }
}
