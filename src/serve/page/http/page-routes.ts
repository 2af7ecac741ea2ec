import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CatalogFile } from '../../../sync/catalog/catalog-file.ts'
import type { Catalog } from '../../../sync/catalog/catalog.ts'
import { filesOf } from '../../../sync/catalog/skill-files.ts'
import type { ItemProblem } from '../../../sync/model/item.ts'
import { readSkillUri } from '../../../sync/model/uris/skill-uri.ts'
import { disconnectSignal } from '../../http/server/client-gone.ts'
import { EventStream, refusalOfStream } from '../../http/server/event-stream.ts'
import type { EventStreams } from '../../http/server/event-stream.ts'
import { sendCrowded, sendError, sendNoStream, sendStatus } from '../../http/server/response.ts'
import type { ShareHolderOf } from '../../http/server/share-holder.ts'
import { admits } from '../../mcp/core/methods.ts'
import type { Serving } from '../../mcp/core/methods.ts'
import type { Registry } from '../../registry.ts'
import type { SignIn } from '../../sign-in.ts'
import { viewOf, WHOLE } from '../../view.ts'
import type { View } from '../../view.ts'
import { catalogView } from '../catalog-view.ts'
import { changesView } from '../changes-view.ts'
import { connectView } from '../connect-view.ts'
import { FileRenderer } from '../file-renderer.ts'
import { html, EMPTY_HTML } from '../html.ts'
import { renderPage, catalogMarkOf } from '../layout.ts'
import type { PageBody } from '../layout.ts'
import type { PageHost, PathProblems, SourceHealth } from '../page-data.ts'
import type { FeaturePage, PageView } from '../page-view.ts'
import { pendingView } from '../pending-view.ts'
import { problemCount } from '../problem-entries.ts'
import { problemsView, withheldView } from '../problems-view.ts'
import { budgetView } from '../skill/budget-view.ts'
import { fileView, skillView } from '../skill/skill-view.ts'
import { troubleBanner, troubleCount } from '../source-trouble.ts'
import { sourcesView } from '../sources-view.ts'
import { upFrom } from '../urls.ts'
import { changesFeed } from './changes-feed.ts'
import type { Feed } from './changes-feed.ts'
import { IssuerLogin } from './issuer-login.ts'
import type { IssuerLoginParts } from './issuer-login.ts'
import { PageLogin } from './page-login.ts'
import type { LoginParts, Reader } from './page-login.ts'
import { sendPage } from './respond.ts'

/** The parts behind the page. */
export interface PageParts extends Omit<LoginParts, 'issuer'>, Pick<IssuerLoginParts, 'resource'> {
  /** The sign-in with an authorization server, if one is configured. */
  readonly signIn: SignIn | undefined
  readonly serving: Serving
  readonly host: PageHost
  readonly hasInstaller: boolean
  /** True if installers need no token. */
  readonly isInstallerPublic: boolean
  /** The streams of the whole server: a reader that follows the page takes one of its places. */
  readonly streams: EventStreams
  readonly holderOf: ShareHolderOf
}

/** The matches that a search of the page has, over all its pages. */
const MOST_FOUND = 1_000

/** The catalog for people, at `/` and below. Every URL is looked up as it is; none is joined to a path. */
export class PageRoutes implements AsyncDisposable {
  readonly login: PageLogin
  /** Signs readers in with the authorization server, if one is configured. */
  readonly issuerLogin: IssuerLogin | undefined
  readonly #parts: PageParts
  readonly #readables: FileRenderer
  /** The streams of readers that follow the page. */
  readonly #following = new Set<EventStream>()

  constructor(parts: PageParts) {
    this.#parts = parts
    this.login = new PageLogin({ ...parts, issuer: parts.signIn?.issuer })
    this.issuerLogin = parts.signIn && new IssuerLogin({ ...parts, signIn: parts.signIn, login: this.login })
    this.#readables = new FileRenderer(parts.serving.read)
  }

  /** Sends one page to a reader with access. */
  async show(request: IncomingMessage, response: ServerResponse, draw: RenderPage): Promise<void> {
    const reader = await this.login.readerOf(request, response)
    if (reader === undefined) return
    const seen = this.#viewOf(reader)
    const registry = this.#registryOf(seen, request, reader)
    if (registry === undefined) return sendCrowded(response)
    const signal = disconnectSignal(response)
    const view = this.#viewFor(request, reader, seen, registry)
    const drawn = await draw(view, this.#readables)
    signal.throwIfAborted()
    if ('feed' in drawn) return sendPage(response, 200, drawn.feed, FEED_HEAD)
    if ('to' in drawn) return sendStatus(response, 308, { location: drawn.to, 'content-length': '0' })
    sendPage(response, drawn.status ?? 200, this.#frame(drawn, view, reader))
  }

  /** Serves `/events`: notifies of a new generation, without any content. */
  async follow(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reader = await this.login.readerOf(request, response)
    if (reader === undefined || response.destroyed) return
    const { streams } = this.#parts
    const seen = this.#viewOf(reader)
    const registry = this.#registryOf(seen, request, reader)
    if (registry === undefined) return sendCrowded(response)
    if (request.method === 'HEAD') return sendStatus(response, 200, { 'content-type': 'text/event-stream' })
    const refusal = refusalOfStream(response)
    if (refusal !== undefined) return sendError(response, { status: 503, code: -32000, message: refusal })
    const holder = this.#parts.holderOf(request, reader.principal)
    if (!streams.hasRoomFor(holder)) return sendNoStream(response)
    const stream = new EventStream(response, {}, streams.pendingBytes)
    const tell = (catalog: Catalog): void => stream.send(JSON.stringify(newsOf(catalog, seen)))
    const watch = registry.watch((before, catalog) => {
      if (before.digest !== catalog.digest) tell(catalog)
    })
    this.#following.add(stream)
    stream.onClose(() => {
      watch[Symbol.dispose]()
      this.#following.delete(stream)
    })
    streams.add(stream, () => {}, { holder, principal: reader.principal, view: seen.name })
    // Reports a publication since the page was rendered.
    tell(registry.catalog)
  }

  /** Ends the streams of the readers; their browsers reconnect to the new site. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const stream of this.#following) stream.end()
    await this.#readables[Symbol.asyncDispose]()
  }

  #viewOf({ principal }: Partial<Reader>): View {
    return viewOf(principal, this.#parts.serving.views)
  }

  /** `undefined` if there is no room for another view. */
  #registryOf({ name }: View, request: IncomingMessage, { principal }: Reader): Registry | undefined {
    const { serving, holderOf } = this.#parts
    if (name === WHOLE) return serving.registry
    return admits(serving, name, holderOf(request, principal)) ? serving.views?.registryOf(name) : undefined
  }

  /** The catalog of readers without a token. */
  get #publicCatalog(): Catalog {
    const { registry, views } = this.#parts.serving
    return (views?.registryOf(this.#viewOf({}).name) ?? registry).catalog
  }

  #viewFor(request: IncomingMessage, reader: Reader, seen: View, registry: Registry): PageView {
    const { url = '/' } = request
    const { catalog } = registry
    const { finder } = this.#parts.serving
    const holder = this.#parts.holderOf(request, reader.principal)
    const { serving, host, hasInstaller, isInstallerPublic, address } = this.#parts
    const [path = '/', query = ''] = url.split('?', 2)
    const up = upFrom(path)
    const params = new URLSearchParams(query)
    const isWhole = seen.packs === undefined
    const packs = isWhole ? (serving.views?.packs ?? []) : []
    // A public page has readers that the operator has not admitted.
    const isAdmitted = isWhole && (reader.principal !== undefined || !host.isTokenRequired)
    return {
      catalog,
      isWhole,
      isAdmitted,
      packs,
      host: isAdmitted ? host : withoutPrivate(host),
      up,
      params,
      hasInstaller,
      installable: isInstallerPublic ? this.#publicCatalog : undefined,
      hasPrompts: serving.forms.skillPrompts,
      address: address(),
      search: finder && (async (text) => finder.find(registry, { text, limit: MOST_FOUND }, holder)),
    }
  }

  #frame(
    body: PageBody,
    { catalog, isWhole, isAdmitted, host, up }: PageView,
    { principal, isSignedIn }: Reader,
  ): string {
    return renderPage(body, {
      name: this.#parts.title,
      up,
      reader: isSignedIn ? (principal?.name ?? principal?.id) : undefined,
      mark: catalogMarkOf(catalog),
      whole: isWhole
        ? {
            generation: catalog.generation,
            problems: problemCount(host),
            sources: troubleCount(host),
            banner: isAdmitted ? troubleBanner(host, up) : EMPTY_HTML,
            hasUses: isAdmitted && host.uses !== undefined,
          }
        : undefined,
    })
  }
}

/** Decisions, their reasons and some items name clients, people or machines. */
function withoutPrivate(host: PageHost): PageHost {
  return {
    ...host,
    sources: () => host.sources().map(untold),
    problems: () => host.problems().map(withoutReasons),
    items: () => host.items().filter(({ isPrivate }) => isPrivate !== true),
    decisions: () => [],
  }
}

function untold({ decisions, problem, ...health }: SourceHealth): SourceHealth {
  return { ...health, decisions: decisions.map(() => UNTOLD), problem: problem && withoutReason(problem) }
}

function withoutReasons({ reasons, ...problem }: PathProblems): PathProblems {
  return { ...problem, reasons: reasons.map(withoutReason) }
}

/** A person wrote the reason that these quote. */
function withoutReason<Problem extends ItemProblem>(problem: Problem): Problem {
  return problem.code === 'disabled' || problem.code === 'skill-recalled' ? { ...problem, message: UNTOLD } : problem
}

const UNTOLD = 'decided by an operator; readers with a token see the reason'

/** A reader of a part of the catalog must not learn of other generations. */
function newsOf({ generation, digest }: Catalog, { packs }: View): object {
  const mark = { catalog: catalogMarkOf({ digest }) }
  return packs === undefined ? { generation, ...mark } : mark
}

const FEED_HEAD = { 'content-type': 'application/atom+xml; charset=utf-8' }

/** Renders one page or a feed, or returns its address. */
export type RenderPage = (view: PageView, readables: FileRenderer) => Drawn | Promise<Drawn>

type Drawn = PageBody | Feed | Moved

interface Moved {
  readonly to: string
}

/** The pages with a fixed path. */
export function pagesOf(
  title: string,
  ofFeatures: Readonly<Record<string, FeaturePage>> = {},
): Readonly<Record<string, RenderPage>> {
  return {
    '/': (view) => catalogView(view, title),
    '/sources': ofEverything(sourcesView),
    '/changes': ofEverything(changesOrPending),
    '/changes.atom': ofEverything(async (view) => changesFeed(view, title)),
    '/problems': ofEverything(problemsView),
    '/connect': connectView,
    '/budget': budgetView,
    ...Object.fromEntries(Object.entries(ofFeatures).map(([path, page]) => [path, foundOr404(page)])),
  }
}

function foundOr404(page: FeaturePage): RenderPage {
  return async (view) => (await page(view)) ?? notFound(view)
}

async function changesOrPending(view: PageView): Promise<PageBody> {
  const source = view.params.get('pending')
  return source === null ? changesView(view) : pendingView(view, source)
}

/** Pages about more than single skills are only for readers of everything. */
function ofEverything(draw: RenderPage): RenderPage {
  return (view, readables) => (view.isWhole ? draw(view, readables) : notFound(view))
}

/** Renders the page of a skill, or of one of its files. `below`: the raw path after `/skills/`. */
export async function drawBelow(below: string, view: PageView, readables: FileRenderer): Promise<PageBody | Moved> {
  const uri = readSkillUri(`skill://${below}`)
  if (!uri.ok) return notFound(view)
  const { skills, files, withheld } = view.catalog
  const document = `${uri.canonical}/SKILL.md`
  const skill = skills.get(document)
  // Relative links in a SKILL.md lead to its files only from a URL with a trailing slash.
  if (skill !== undefined && !uri.trailingSlash) return { to: `./${below.slice(below.lastIndexOf('/') + 1)}/` }
  if (skill !== undefined) return skillView(skill, view, readables)
  const kept = withheld.get(document)
  const source = view.catalog.sources.find(([id]) => uri.canonical.startsWith(`skill://${id}/`))?.[0]
  if (kept !== undefined && source !== undefined) return withheldView(kept, source, view)
  const file = uri.trailingSlash ? undefined : files.get(uri.canonical)
  const owner = file === undefined ? undefined : ownerOf(file, skills)
  return file === undefined || owner === undefined ? notFound(view) : fileView(file, owner, view, readables)
}

/** Returns the innermost skill of a file. */
function ownerOf({ uri, folder, name }: CatalogFile, skills: Catalog['skills']): ReturnType<Catalog['skills']['get']> {
  for (let at = uri.lastIndexOf('/'); at > 'skill://'.length; at = uri.lastIndexOf('/', at - 1)) {
    const skill = skills.get(`${uri.slice(0, at)}/SKILL.md`)
    if (skill && filesOf(skill).some((file) => file.folder === folder && file.name === name)) return skill
  }
  return undefined
}

function notFound({ up, isWhole }: PageView): PageBody {
  const problems = html`, or see the <a href="${up}problems">problems</a>, which list the skills that are not served`
  return {
    status: 404,
    title: 'Not found',
    content: html`<h1>Not found</h1>
      <p class="lead">No served skill has this address. It may have been moved, renamed or removed.</p>
      <p><a href="${up}">Search the skills</a>${isWhole ? problems : EMPTY_HTML}.</p>`,
  }
}
