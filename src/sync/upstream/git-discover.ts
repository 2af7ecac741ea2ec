import { getRemoteInfo2, type HttpClient } from 'isomorphic-git'
import type { ObjectFormat } from '../model/revision.ts'
import { SyncError } from '../model/sync-error.ts'
import type { GitHttp } from './git-http.ts'
import { checkedRef, type Server } from './git-remote.ts'
import { printable } from './pkt-line.ts'
import type { Ref } from './ref-rules.ts'

/** The first request to a server. A repository whose ids are neither SHA-1 nor SHA-256 is `unsupported`. */
export async function discover(http: GitHttp, url: string, signal: AbortSignal): Promise<Server> {
  const info = await getRemoteInfo2({ http: wholly(http), url, protocolVersion: 2 }).catch((cause: unknown) => {
    signal.throwIfAborted()
    if (cause instanceof SyncError) throw cause
    throw new SyncError('source-unreachable', `Cannot read the capabilities of "${url}"`, { cause })
  })
  const format = info.capabilities['object-format'] ?? 'sha1'
  if (!isFormat(format)) {
    const message = `Cannot read "${url}": its ids are ${printable(String(format))}, this version reads sha1 and sha256`
    throw new SyncError('unsupported', message)
  }
  if (info.protocolVersion === 1) {
    // Before git 2.41 an empty repository says nothing at all, not even what it can do.
    if (info.refs?.length !== 0 && !('side-band-64k' in info.capabilities)) {
      throw new SyncError('unsupported', `Cannot read "${url}": its server is too old (no "side-band-64k")`)
    }
    const server = { base: http.base, version: 1, format, filters: false } as const
    return { ...server, refs: refsOf(info.refs ?? [], server) }
  }
  const features = String(info.capabilities['fetch'] ?? '').split(' ')
  return { base: http.base, version: 2, format, filters: features.includes('filter'), refs: [] }
}

/** isomorphic-git takes an error in the middle of a body for its end, so it is given bodies that have arrived. */
function wholly(http: GitHttp): HttpClient {
  return {
    request: async (call) => {
      const answer = await http.request(call)
      const parts: Uint8Array[] = []
      for await (const part of answer.body ?? []) parts.push(part)
      return { ...answer, body: iterate(parts) }
    },
  }
}

async function* iterate(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts
}

function isFormat(format: string | true): format is ObjectFormat {
  return format === 'sha1' || format === 'sha256'
}

interface Version1Ref {
  readonly ref: string
  readonly oid: string
  readonly target?: string | undefined
  readonly peeled?: string | undefined
}

function refsOf(refs: readonly Version1Ref[], server: Omit<Server, 'refs'>): Ref[] {
  // What stands for the first ref where there is none; isomorphic-git knows it by an id of 40 zeros alone.
  const named = refs.filter(({ ref }) => ref !== 'capabilities^{}')
  return named.map(({ ref, oid, target, peeled }) => checkedRef({ name: ref, id: oid, target, peeled }, server))
}
