import { userInfo } from 'node:os'
import { folderOf } from '../../base/paths.ts'
import { isUnread } from '../../serve/content.ts'
import { declarationOf, pendingIn } from '../../sync/decisions/approvals.ts'
import { disabledIn, type DisabledMatches } from '../../sync/decisions/disabled-matches.ts'
import { isOfUpstream } from '../../sync/model/skill.ts'
import type { Skill, SkillFile, UpstreamSkill } from '../../sync/model/skill.ts'
import type { Snapshot, Current } from '../../sync/model/snapshot.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import type { McpSource } from '../../sync/model/source.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { DocumentReader } from '../../sync/skill-md/document-reader.ts'
import { hasEntryFault } from '../../sync/skill-md/entry-faults.ts'
import type { Watched } from '../../sync/upstream/mcp/client/change-listener.ts'
import type { FetchedBytes } from '../base/fetched-bytes.ts'
import { OperatorError } from '../base/operator-error.ts'
import type { Config } from '../config/config.ts'
import type { DaemonContext } from '../context.ts'
import type { Keyring } from '../credentials/keyring.ts'
import { McpConnections } from './connections.ts'
import type { ServersParts } from './connections.ts'
import { FetchBudget } from './fetch-budget.ts'
import { UpstreamTexts } from './hidden-text.ts'
import { UpstreamMismatches } from './known-mismatches.ts'
import { Additions } from './named-skills.ts'
import { UpstreamContents } from './verified-read.ts'

export interface UpstreamsParts extends DaemonContext {
  readonly config: Config
  readonly keyring: Keyring
  readonly reader: DocumentReader
  /** Counts the bytes of fetched files. */
  readonly fetched: FetchedBytes
  readonly onNews: ServersParts['onNews']
  readonly currentOf: (id: SourceId) => Current | undefined
  /** Publishes what may be served from now on. */
  readonly serve: () => void
  /** Pulls the source again, even if its state is known. */
  readonly retake: (id: SourceId) => Promise<unknown>
  /** Applies the findings in the files of the source to the served skills. */
  readonly judge: (source: McpSource) => Promise<void>
  /** Pulls the source now. */
  readonly pull: (id: SourceId) => Promise<unknown>
}

/** The sources that are other MCP servers: their connections, their files, and the operator's decisions about both. */
export class McpSources implements AsyncDisposable {
  readonly servers: McpConnections
  readonly contents: UpstreamContents
  readonly additions: Additions
  readonly #parts: UpstreamsParts
  readonly #spendings: FetchBudget
  readonly #mismatches: UpstreamMismatches

  constructor(parts: UpstreamsParts) {
    this.#parts = parts
    const spendings = new FetchBudget(parts.clock, parts.store.upstreams, parts.fetched)
    this.#spendings = spendings
    const texts = new UpstreamTexts(parts)
    this.servers = new McpConnections({ ...parts, spendings, texts, limits: parts.config.limits })
    const mismatches = new UpstreamMismatches(parts)
    this.#mismatches = mismatches
    this.contents = new UpstreamContents({ ...parts, servers: this.servers, spendings, texts, mismatches })
    this.additions = new Additions({ ...parts, servers: this.servers })
  }

  /** The bytes of files that came from a source in the last hour. */
  fetchedFrom(id: SourceId): number {
    return this.#spendings.spent(id)
  }

  /** Subscribes to changes of the skills that were last pulled from the servers. */
  watch(): void {
    const { config, currentOf } = this.#parts
    for (const configured of config.sources) {
      const { source } = configured
      if (source.kind !== 'mcp' || config.mode.offline) continue
      const current = currentOf(source.id)
      // Before the first listing there is nothing to subscribe to.
      if (current === undefined) continue
      this.servers.at(configured, source).watch(watchedOf(current.snapshot))
    }
  }

  /**
   * Makes sure that a file is in the store; throws a `SyncError` if it is not available. Serves skills that wait for
   * approval too, so that they can be reviewed, but not withheld or disabled ones.
   */
  async bring(id: SourceId, path: string, file: string): Promise<void> {
    const skill = this.#skillAt(id, path)
    const found = skill?.files.find((candidate) => candidate.path === file)
    const isDisabled = this.#disabledOf(id).has(path)
    if (skill === undefined || found === undefined || skill.standing === 'withheld' || isDisabled)
      throw new OperatorError(
        'unknown-skill',
        `Cannot read "${file}" of "${id}/${path}": it is not there, or out of service`,
      )
    if (isOfUpstream(skill)) await this.contents.bring(skill, found)
  }

  /** Clears the mismatch of a withheld skill, so that its files are read again. */
  async recheck(id: SourceId, path: string): Promise<void> {
    const skill = this.#skillAt(id, path)
    if (skill?.digest === undefined)
      throw new OperatorError('unknown-skill', `Cannot read the files of "${id}/${path}" again: none are declared`)
    await this.#mismatches.forget(id, skill)
    await this.#parts.retake(id)
  }

  /** Fetches the missing files of skills that may be served, if the operator wants all files of the source. */
  async fetchAll(source: McpSource, signal: AbortSignal): Promise<void> {
    if (source.fetching === 'lazy' || this.#parts.config.mode.offline) return
    try {
      const refused = new Set<UpstreamSkill>()
      for (const { skill, file } of await this.#missing(source)) {
        signal.throwIfAborted()
        // Reported where it is read. The refusal of one skill says nothing about the next one.
        if (!refused.has(skill) && isUnread(await this.contents.read(skill, file))) refused.add(skill)
      }
    } catch (error) {
      if (!(error instanceof SyncError)) throw error
      const { code, message } = error
      this.#parts.log.failure('warn', 'content-not-fetched', { source: source.id, code, message })
    }
  }

  async #missing({ id, approval }: McpSource): Promise<{ readonly skill: UpstreamSkill; readonly file: SkillFile }[]> {
    const { store, currentOf } = this.#parts
    const snapshot = currentOf(id)?.snapshot
    if (snapshot === undefined) return []
    const { approvals } = store.decisions
    const disabled = this.#disabledOf(id)
    const pending = new Set(approval === 'required' ? pendingIn(snapshot, approvals) : [])
    const missing: { readonly skill: UpstreamSkill; readonly file: SkillFile }[] = []
    for (const skill of snapshot.skills.filter(isOfUpstream)) {
      const isServed = skill.standing !== 'withheld' && !pending.has(skill) && !disabled.has(skill.path)
      for (const file of isServed ? skill.files : []) {
        if (!(await store.upstreams.has(id, file))) missing.push({ skill, file })
      }
    }
    return missing
  }

  /** Approves a skill as it was declared when it was reviewed. False if it was already approved. */
  async approve(id: SourceId, path: string, declaration: string): Promise<boolean> {
    const { clock, store, log, serve } = this.#parts
    const skill = this.#skillAt(id, path)
    if (skill === undefined || declarationOf(skill) !== declaration)
      throw new OperatorError(
        'nothing-to-decide',
        `Cannot approve "${id}/${path}": it is not what it was when you looked`,
      )
    const approval = { declaration, at: clock.now().toISOString(), by: userInfo().username }
    const isNew = await store.decisions.approve(id, path, approval)
    if (!isNew) return false
    serve()
    log.info('skill-approved', { source: id, skill: path, digest: skill.digest })
    return true
  }

  /** Ends the fetches for clients. The connections stay open for the pulls that are under way. */
  async endReading(): Promise<void> {
    await this.contents[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endReading()
    await this.servers[Symbol.asyncDispose]()
  }

  #disabledOf(id: SourceId): DisabledMatches {
    const { currentOf, store } = this.#parts
    const current = currentOf(id)
    return current === undefined ? new Map() : disabledIn(current.snapshot, store.decisions.disabled)
  }

  #skillAt(id: SourceId, path: string): Skill | undefined {
    return this.#parts.currentOf(id)?.snapshot.skills.find((candidate) => candidate.path === path)
  }
}

function watchedOf({ skills }: Snapshot): Watched {
  const ofUpstream = skills.filter(isOfUpstream)
  const omitted = ofUpstream.filter(hasEntryFault).map(({ upstream }) => folderOf(upstream.uri))
  const uris = ofUpstream.map(({ upstream }) => upstream.archive ?? upstream.uri)
  const folders = omitted.slice(0, MOST_WATCHED)
  return { uris: uris.slice(0, MOST_WATCHED - folders.length), omitted: folders }
}

/**
 * A server of this era also has a document that names all listed skills and is watched too. It covers the skills beyond
 * this limit.
 */
const MOST_WATCHED = 512

/** Removes the files of servers that are no longer configured. If that fails, they are still given to no client. */
export async function forgetRemoved({ sources }: Config, { store, log }: DaemonContext): Promise<void> {
  const servers = sources.filter(({ source }) => source.kind === 'mcp').map(({ source }) => source.id)
  try {
    for (const id of await store.upstreams.forgetOthers(new Set(servers)))
      log.info('upstream-forgotten', { source: id })
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    log.warn('upstream-not-forgotten', { code: error.code, message: error.message })
  }
}
