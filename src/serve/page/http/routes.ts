import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CatalogFile } from '../../../sync/catalog/catalog-entry.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { filesOf } from '../../../sync/catalog/skill-files.ts'
import { readSkillUri } from '../../../sync/model/skill-uri.ts'
import { catalogView } from '../catalog-view.ts'
import { changesView } from '../changes-view.ts'
import { connectView } from '../connect-view.ts'
import { framed, markOf } from '../layout.ts'
import type { Body } from '../layout.ts'
import { html } from '../html.ts'
import { upFrom } from '../urls.ts'
import type { PageHost } from '../page-data.ts'
import { problemCount } from '../problem-entries.ts'
import { problemsView, withheldView } from '../problems-view.ts'
import { Readables } from '../render-file.ts'
import { fileView, skillView } from '../skill-view.ts'
import { sourcesView } from '../sources-view.ts'
import type { View } from '../view.ts'
import { viewOf } from '../../mcp/core/methods.ts'
import { WHOLE } from '../../views.ts'
import type { ViewName } from '../../views.ts'
import type { Serving } from '../../mcp/core/methods.ts'
import type { Registry } from '../../registry.ts'
import { disconnected } from '../../http/server/client-gone.ts'
import { EventStream, refusalOfStream } from '../../http/server/event-stream.ts'
import type { EventStreams } from '../../http/server/event-stream.ts'
import type { HolderOf } from '../../http/server/share-holder.ts'
import { sendPage } from './respond.ts'
import { PageLogin } from './login.ts'
import type { LoginParts, Reader } from './login.ts'
import { sendCrowded, sendError, sendNoStream, sendStatus } from '../../http/server/response.ts'

/** What the page is made from. */
export interface PageParts extends LoginParts {
  readonly serving: Serving
  readonly host: PageHost
  readonly hasInstaller: boolean
  /** Those of the whole server: one that follows the page takes a place among them. */
  readonly streams: EventStreams
  readonly holderOf: HolderOf
}

/** The catalog for people, at `/` and below. Every address is looked up as it is written; none is joined to a path. */
export class Page implements AsyncDisposable {
  readonly login: PageLogin
  readonly #parts: PageParts
  readonly #readables: Readables
  /** Those who follow it. */
  readonly #following = new Set<EventStream>()

  constructor(parts: PageParts) {
    this.#parts = parts
    this.login = new PageLogin(parts)
    this.#readables = new Readables(parts.serving.read)
  }

  /** Answers with one page, for whom it may be shown to. */
  async show(request: IncomingMessage, response: ServerResponse, draw: Draw): Promise<void> {
    const reader = await this.login.readerOf(request, response)
    if (reader === undefined) return
    const registry = this.#registryOf(this.#viewOf(request, reader))
    if (registry === undefined) return sendCrowded(response)
    const signal = disconnected(response)
    const view = this.#viewFor(request, reader, registry)
    const drawn = await draw(view, this.#readables)
    signal.throwIfAborted()
    if ('to' in drawn) return sendStatus(response, 308, { location: drawn.to, 'content-length': '0' })
    sendPage(response, drawn.status ?? 200, this.#framed(drawn, view, reader))
  }

  /** `/events`: tells that there is a new generation, and no more than that. */
  async follow(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reader = await this.login.readerOf(request, response)
    if (reader === undefined || response.destroyed) return
    const { streams } = this.#parts
    const seen = this.#viewOf(request, reader)
    const registry = this.#registryOf(seen)
    if (registry === undefined) return sendCrowded(response)
    if (request.method === 'HEAD') return sendStatus(response, 200, { 'content-type': 'text/event-stream' })
    const refusal = refusalOfStream(response)
    if (refusal !== undefined) return sendError(response, 503, -32000, refusal)
    const holder = this.#parts.holderOf(request, reader.principal)
    if (!streams.hasRoomFor(holder)) return sendNoStream(response)
    const stream = new EventStream(response, {}, streams.pendingBytes)
    const tell = (catalog: Catalog): void => stream.send(JSON.stringify(newsOf(catalog, reader)))
    const watch = registry.watch((before, catalog) => {
      if (before.digest !== catalog.digest) tell(catalog)
    })
    this.#following.add(stream)
    stream.onClose(() => {
      watch[Symbol.dispose]()
      this.#following.delete(stream)
    })
    streams.add(stream, () => {}, { holder, principal: reader.principal, view: seen })
    // What was published since its page was drawn.
    tell(registry.catalog)
  }

  /** Whoever follows it is let go, and comes back to what is served then. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const stream of this.#following) stream.end()
    await this.#readables[Symbol.asyncDispose]()
  }

  /** Undefined where there is no room for what only this reader sees. */
  #viewOf(request: IncomingMessage, { principal }: Reader): ViewName | undefined {
    const { serving, holderOf } = this.#parts
    return viewOf(serving, principal?.packs, holderOf(request, principal))
  }

  #registryOf(view: ViewName | undefined): Registry | undefined {
    const { serving } = this.#parts
    if (view === WHOLE) return serving.registry
    return view === undefined ? undefined : serving.packs?.views.registryOf(view)
  }

  #viewFor({ url = '/' }: IncomingMessage, reader: Reader, { catalog }: Registry): View {
    const { serving, host, hasInstaller, address } = this.#parts
    const [path = '/', query = ''] = url.split('?', 2)
    const up = upFrom(path)
    const params = new URLSearchParams(query)
    const isWhole = reader.principal?.packs === undefined
    const packs = isWhole ? (serving.packs?.views.packs ?? []) : []
    return { catalog, isWhole, packs, host, up, params, hasInstaller, address: address() }
  }

  #framed(body: Body, { catalog, isWhole, host, up }: View, { principal, isSignedIn }: Reader): string {
    return framed(body, {
      name: this.#parts.title,
      up,
      reader: isSignedIn ? principal?.id : undefined,
      mark: markOf(catalog),
      whole: isWhole ? { generation: catalog.generation, problems: problemCount(host) } : undefined,
    })
  }
}

/** That there are other generations is nothing that a part of the catalog tells. */
function newsOf({ generation, digest }: Catalog, { principal }: Reader): object {
  const mark = { catalog: markOf({ digest }) }
  return principal?.packs === undefined ? { generation, ...mark } : mark
}

/** Draws one page, or says where it is. */
export type Draw = (view: View, readables: Readables) => Body | Moved | Promise<Body | Moved>

interface Moved {
  readonly to: string
}

/** The pages that have one address each, by that. */
export function pagesOf(title: string): Readonly<Record<string, Draw>> {
  return {
    '/': (view) => catalogView(view, title),
    '/sources': ofEverything(sourcesView),
    '/changes': ofEverything(changesView),
    '/problems': ofEverything(problemsView),
    '/connect': connectView,
  }
}

/** What tells of more than single skills is for those who see all of them. */
function ofEverything(draw: Draw): Draw {
  return (view, readables) => (view.isWhole ? draw(view, readables) : NOTHING_HERE)
}

/** The page of a skill or of a file of one. `below`: what follows `/skills/`, as it was asked for. */
export async function drawBelow(below: string, view: View, readables: Readables): Promise<Body | Moved> {
  const uri = readSkillUri(`skill://${below}`)
  if (!uri.ok) return NOTHING_HERE
  const { skills, files, withheld } = view.catalog
  const document = `${uri.canonical}/SKILL.md`
  const skill = skills.get(document)
  // Relative links in a SKILL.md lead to its files from an address that ends like a folder.
  if (skill !== undefined && !uri.trailingSlash) return { to: `./${below.slice(below.lastIndexOf('/') + 1)}/` }
  if (skill !== undefined) return skillView(skill, view, readables)
  const kept = withheld.get(document)
  const source = view.catalog.sources.find(([id]) => uri.canonical.startsWith(`skill://${id}/`))?.[0]
  if (kept !== undefined && source !== undefined) return withheldView(kept, source, view)
  const file = uri.trailingSlash ? undefined : files.get(uri.canonical)
  const owner = file === undefined ? undefined : ownerOf(file, skills)
  return file === undefined || owner === undefined ? NOTHING_HERE : fileView(file, owner, view, readables)
}

/** The innermost skill that a file lies in. */
function ownerOf({ uri, folder, name }: CatalogFile, skills: Catalog['skills']): ReturnType<Catalog['skills']['get']> {
  for (let at = uri.lastIndexOf('/'); at > 'skill://'.length; at = uri.lastIndexOf('/', at - 1)) {
    const skill = skills.get(`${uri.slice(0, at)}/SKILL.md`)
    if (skill && filesOf(skill).some((file) => file.folder === folder && file.name === name)) return skill
  }
  return undefined
}

const NOTHING_HERE: Body = {
  status: 404,
  title: 'Nothing here',
  content: html`<h1>Nothing here</h1>
    <p class="lead">
      No skill that is served has this address. It may have been moved, renamed or taken out of service.
    </p>`,
}
