import type { Source } from '../model/source.ts'
import { SyncError } from '../model/sync-error.ts'
import { DiskTransport } from './disk-transport.ts'
import { GitUpstream, type GitTransport } from './git.ts'
import { HttpTransport } from './http-transport.ts'
import type { Reach, Upstream } from './upstream.ts'

/** The way to a source. Nothing is opened before the first call. */
export function openUpstream(source: Source, reach: Reach): Upstream {
  switch (source.kind) {
    case 'git':
      return new GitUpstream(source, reach, transportTo(source.url, reach))
    default:
      return source.kind satisfies never
  }
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
