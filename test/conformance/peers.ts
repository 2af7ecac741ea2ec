import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { legacyHttp, modernHttp, stdio } from '../support/clients/peer.ts'
import type { Peer, Reply } from '../support/clients/peer.ts'
import { buildFixture } from '../support/content/fixture.ts'
import type { Fixture } from '../support/content/fixture.ts'
import { serve } from '../support/served.ts'
import type { Served, ServedOptions } from '../support/served.ts'
import type { PlacedProblem } from '../support/verdicts.ts'
import { problemsIn } from '../support/verdicts.ts'

/** Each kind of client: modern and legacy HTTP, legacy and modern stdio. A case runs on all of them. */
export const KINDS = ['M', 'LH', 'LS', 'MS'] as const
export type Kind = Peer['kind']

/** One client of each kind that a case asks of one daemon, ready to ask. */
export interface Peers extends AsyncDisposable {
  readonly all: readonly Peer[]
  of(kind: Kind): Peer
}

/** A client of each of the kinds. */
export async function everyPeer(served: Served, kinds: readonly Kind[] = KINDS): Promise<Peers> {
  const all = await Promise.all(kinds.map((kind) => openPeer(kind, served)))
  return {
    all,
    of: (kind) => all.find((peer) => peer.kind === kind)!,
    async [Symbol.asyncDispose]() {
      for (const peer of all) await peer[Symbol.asyncDispose]()
    },
  }
}

/** One more client, to be disposed by who opened it. */
export async function openPeer(kind: Kind, served: Served): Promise<Peer> {
  const args = ['--config', served.configFile]
  switch (kind) {
    case 'M':
      return modernHttp(served.url)
    case 'LH':
      return legacyHttp(served.url)
    case 'LS':
      return stdio(args, 'legacy')
    case 'MS':
      return stdio(args, 'modern')
  }
}

/** The fixture FX, served as the source `fx` with `names: exact` and asked by one client of each kind. */
export interface Scene extends Peers {
  readonly fixture: Fixture
  readonly served: Served
  /** `P` of the cases, learnt from the entry of `git-workflow`: ends with a slash. */
  readonly prefix: string
  /** `root(x)`: the URI of a skill's folder. */
  root(skill: string): string
  /** The URI of a file of a skill. */
  uri(skill: string, path?: string): string
  /** The entry that `skills/list` must hold for a skill, in the order of our listing: SKILL.md, then by URI. */
  entry(skill: string): Entry
}

export interface Entry {
  readonly uri: string
  readonly frontmatter: unknown
  readonly resources: readonly { readonly uri: string; readonly digest: string; readonly size: number }[]
  readonly _meta?: object
}

/** What an entry says besides: one skill of the fixture has an executable file. */
export function metaOf(skill: string): Pick<Entry, '_meta'> {
  return skill === 'pdf-processing' ? { _meta: { 'dev.skillsyncd/executables': ['scripts/extract.py'] } } : {}
}

export async function openScene(options: ServedOptions = {}): Promise<Scene> {
  const fixture = await buildFixture()
  const served = await serve(fixture.repository, { ...options, source: options.source ?? EXACT })
  const peers = await everyPeer(served)
  const prefix = await prefixSeenBy(peers.of('M'))
  const root = (skill: string): string => prefix + encoded(skill)
  const uri = (skill: string, path = 'SKILL.md'): string => `${root(skill)}/${encoded(path)}`
  return {
    ...peers,
    fixture,
    served,
    prefix,
    root,
    uri,
    entry: (skill) => ({
      uri: uri(skill),
      frontmatter: fixture.frontmatter.get(skill),
      resources: inOrder([...fixture.filesOf(skill)], ([path]) => (path === 'SKILL.md' ? '' : uri(skill, path))).map(
        ([path, bytes]) => ({ uri: uri(skill, path), digest: digestOf(bytes), size: bytes.length }),
      ),
      ...metaOf(skill),
    }),
    async [Symbol.asyncDispose]() {
      await peers[Symbol.asyncDispose]()
      await served[Symbol.asyncDispose]()
      await fixture[Symbol.asyncDispose]()
    },
  }
}

/** How the source of FX is configured unless a case says otherwise. */
export const EXACT: readonly string[] = ['root: skills', 'names: exact']

async function prefixSeenBy(peer: Peer): Promise<string> {
  const uris: string[] = itemsOf(await walkPages(peer, 'skills/list')).map((entry) => entry.uri)
  const own = uris.find((uri) => uri.endsWith('/git-workflow/SKILL.md'))
  if (own === undefined) throw new Error(`No entry is called git-workflow: ${uris.join(' ')}`)
  return own.slice(0, -'git-workflow/SKILL.md'.length)
}

/** A path as a URI holds it: percent-encoded segment by segment. */
export function encoded(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

/** `D` of the cases. */
export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

/** Sorted by the bytes of a key. */
export function inOrder<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  return items.toSorted((a, b) => Buffer.compare(Buffer.from(keyOf(a)), Buffer.from(keyOf(b))))
}

/** Every page of a listing, each a result. Fails on an error and on a cursor that was given before. */
export async function walkPages(peer: Peer, method: string, params: object = {}): Promise<Reply['result'][]> {
  const pages: Reply['result'][] = []
  const cursors = new Set<string>()
  for (let cursor: string | undefined; ;) {
    const reply = await peer.call(method, { ...params, ...(cursor !== undefined && { cursor }) })
    pages.push(resultOf(reply))
    cursor = reply.result.nextCursor
    if (cursor === undefined) return pages
    expect(cursors).not.toContain(cursor)
    cursors.add(cursor)
  }
}

/** What the pages of `skills/list`, `resources/list` or `resources/directory/read` hold together. */
export function itemsOf(pages: readonly Reply['result'][]): Reply['result'][] {
  return pages.flatMap((page) => page.skills ?? page.resources)
}

/** The result of a reply that must have one. */
export function resultOf(reply: Reply): Reply['result'] {
  expect(reply.error).toBeUndefined()
  expect(reply.status).toBe(200)
  return reply.result
}

/** The one content item of a read, and its bytes. */
export function contentOf(reply: Reply): { readonly item: Reply['result']; readonly bytes: Buffer } {
  const { contents } = resultOf(reply)
  expect(contents).toHaveLength(1)
  const [item] = contents
  expect([typeof item.text, typeof item.blob].toSorted()).toEqual(['string', 'undefined'])
  return { item, bytes: item.blob === undefined ? Buffer.from(item.text) : Buffer.from(item.blob, 'base64') }
}

/** `nf` of the cases: no such resource, in the code of the peer's era. */
export function expectNotFound(peer: Peer, reply: Reply, uri?: string): void {
  expect(reply.result).toBeUndefined()
  expect(reply.error?.code).toBe(peer.era === 'modern' ? -32602 : -32002)
  if (uri !== undefined) expect(reply.error?.data.uri).toBe(uri)
}

/** `ip` of the cases: invalid params, in either era. */
export function expectInvalidParams(reply: Reply): void {
  expect(reply.result).toBeUndefined()
  expect(reply.error?.code).toBe(-32602)
}

/** What status says is wrong with one path: a skill's folder below `skills/`, or a file. */
export function findingsAt(served: Served, path: string): readonly PlacedProblem[] {
  return served.daemon.parts.status
    .status()
    .sources.flatMap((source) => problemsIn(source).filter((problem) => problem.path === path))
}
