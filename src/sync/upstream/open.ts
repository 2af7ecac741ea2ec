import type { Source } from '../model/source.ts'
import { FileTransport } from './file-transport.ts'
import { GitUpstream, type GitTransport } from './git.ts'
import { HttpTransport } from './http-transport.ts'
import { ProgramTransport } from './program-transport.ts'
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
  if (/^https?:/i.test(url)) return new HttpTransport(url, reach)
  if (/^file:/i.test(url)) return new FileTransport(url, reach)
  // What is left has been checked to be `ssh://…` or `git@host:path`.
  return new ProgramTransport({ kind: 'ssh', url }, reach)
}
