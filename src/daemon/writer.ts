import { ignoreAbort, isAbortError } from '../base/async/abort-error.ts'
import { systemClock } from '../base/async/clock.ts'
import type { Log } from '../base/log.ts'
import { hubConfigDigest } from '../features/hub-of-several/hub-config.ts'
import type { HubMember } from '../features/hub-of-several/hub-member.ts'
import type { SourceId } from '../sync/model/source-id.ts'
import { isGoneAtHub } from '../sync/model/source.ts'
import { SyncError, unlessSyncError } from '../sync/model/sync-error.ts'
import { isUnwritable } from '../sync/store/files/disk-error.ts'
import type { HubSourceIds, ListedSources } from '../sync/store/hub-sources.ts'
import { HUB_SOURCES, readHubSources, writeHubSources } from '../sync/store/hub-sources.ts'
import { Store } from '../sync/store/store.ts'
import { sharedStoreOf } from './access/open-shared.ts'
import { idsOf } from './config/config.ts'
import type { Environment } from './config/environment.ts'
import { withHubSources } from './config/present-sources.ts'
import type { WholeConfig } from './configuration.ts'
import { askDaemon } from './control/control-client.ts'
import { socketPathOf } from './control/control-path.ts'
import { redactHandlers } from './control/control-redaction.ts'
import { ControlServer } from './control/control-server.ts'
import type { ControlHandler, ControlHandlers } from './control/control-server.ts'
import { isListening, socketOf } from './control/daemon-lock.ts'
import type { FoundHolder } from './control/daemon-lock.ts'
import { TERM_MS } from './control/lease-renewal.ts'
import { handoverRequest } from './control/process-requests.ts'
import type { ControlRequest } from './control/request.ts'
import { expectConfig } from './control/same-config.ts'
import { HeldByOther, processText, WriteRight } from './control/write-lock.ts'
import { Daemon } from './daemon.ts'
import { ReloadLock } from './reload-lock.ts'
import { loadRequests } from './requests.ts'
import type { AnsweringParts, Requests } from './requests.ts'
import type { DaemonContext } from './runtime/context.ts'
import type { AdoptedChange } from './runtime/hub-replica.ts'
import type { Redactor } from './runtime/log/redactor.ts'
import { OperatorError } from './runtime/operator-error.ts'
import { Reaction } from './runtime/reaction.ts'

/** A process that wants to write a state folder. */
export interface WriterCandidate {
  readonly config: WholeConfig
  readonly environment: Environment
  readonly log: Log
  readonly redactor: Redactor
  /** `start`, `mcp` or `sync`: shown to processes that find the lock taken. */
  readonly command: string
  /** Additional requests that it answers. */
  readonly handlers?: ControlHandlers
  /** True if stored content is served while the disk takes no writes. */
  readonly servesReadOnly?: boolean
}

/** The daemon of this process, with the lock that makes it the only writer and its control socket. */
export class Writer implements AsyncDisposable {
  readonly #parts: DaemonContext
  readonly #right: WriteRight
  readonly #control: ControlServer
  /** The part of this process in a hub of several. */
  readonly #member: HubMember | undefined
  readonly #requests: Requests
  readonly #changeover = new ReloadLock()
  readonly #over = new AbortController()
  #daemon: Daemon
  #serve: (daemon: Daemon) => void = () => {}
  #isPolling = false
  /** True while a command follows the hub: otherwise a command without a daemon keeps its sources until its end. */
  #isFollowing = false
  readonly #watching: Reaction
  #endLimit: Disposable | undefined

  private constructor(daemon: Daemon, parts: DaemonContext, { right, socket, requests, handlers, member }: Held) {
    this.#requests = requests
    this.#parts = parts
    this.#member = member
    this.#daemon = this.#followingHub(daemon)
    this.#right = right
    const all = redactHandlers({ ...this.#handlers(), ...handlers }, parts.redactor)
    this.#control = new ControlServer(socket, all)
    this.#watching = new Reaction({ clock: parts.clock, run: async () => this.#watch(), againMs: () => LOOK_MS })
  }

  /** A reload replaces it. */
  get daemon(): Daemon {
    return this.#daemon
  }

  /** Takes the lock and loads the last generation, or returns the holder of the lock. */
  static async open(
    candidate: WriterCandidate,
    signal: AbortSignal,
  ): Promise<Writer | { readonly heldBy: FoundHolder }> {
    const { config, environment, log, redactor, handlers } = candidate
    const socket = socketPathOf(config.state, environment.runtime)
    const right = rightFor(candidate, socket)
    const other = await right.take(signal)
    if (other !== undefined) return other
    let member: HubMember | undefined
    try {
      const store = await storeOf(candidate, right)
      const readOnly = (): SyncError | undefined => right.readOnly
      const alone = { store, clock: systemClock, log, environment, redactor, readOnly }
      member = await memberOf(candidate, alone)
      const parts = { ...alone, ...(member && { shared: member.shared, replica: member }) }
      const daemon = await Daemon.start(await withHubList(config, parts), parts)
      const requests = await loadRequests()
      const writer = new Writer(daemon, parts, { right, socket, requests, handlers, member })
      await writer.#listen()
      writer.#watching.start(LOOK_MS)
      await writer.#takePart()
      return writer
    } catch (error) {
      await member?.[Symbol.asyncDispose]()
      await right.release()
      throw error
    }
  }

  /** Aborted, with the reason, when another process writes the folder: this one must end. */
  get lost(): AbortSignal {
    return this.#right.lost
  }

  /** Starts to pull each source on its schedule. Each daemon that takes over does, too. */
  poll(): void {
    this.#isPolling = true
    this.#daemon.poll()
  }

  /** `serve` is called with each daemon that takes over, such as when the disk takes writes again. */
  serveWith(serve: (daemon: Daemon) => void): void {
    this.#serve = serve
    // In a hub of several, the part of this process may have changed while the server began to listen.
    if (this.#member !== undefined) serve(this.#daemon)
  }

  /** Call it when the process begins to end: no part of it waits long for the database of a hub of several processes then. */
  ending(): void {
    this.#endLimit ??= this.#member?.cutOffAfter(MOST_ENDING_MS)
  }

  /**
   * The lock is released last: another process must not publish before this daemon's publish is on disk. A pull that
   * ignores its signal publishes nothing after that.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort()
    this.ending()
    using _limit = this.#endLimit
    const watched = this.#watching[Symbol.asyncDispose]()
    await this.#changeover.end(async () => this.#daemon[Symbol.asyncDispose]())
    await this.#member?.[Symbol.asyncDispose]()
    await watched
    await this.#control[Symbol.asyncDispose]()
    this.#parts.store[Symbol.dispose]()
    await this.#right.release()
  }

  /** Takes part in a hub of several processes from now on. */
  async #takePart(): Promise<void> {
    const { signal } = this.#over
    await this.#member?.start({
      configDigest: () => hubConfigDigest(this.#daemon.config),
      servedGeneration: () => this.#daemon.registry.catalog.generation,
      answer: async (method, params, send) => this.#answerMember(method, params, send, signal),
      onLook: async () => this.#asked(signal, async (daemon) => daemon.refreshSessions()),
      onNews: async () => (await this.#asked(signal, async (daemon) => daemon.refresh())) === true,
      onChange: async (change) => this.#adopt(change, signal),
      // The daemon of the other role takes over the clients.
      onRole: async () => this.#change((config) => config).catch(ignoreAbort),
    })
  }

  /** Serves what another process of the hub has published: of the sources that it follows by now. */
  async #adopt(change: AdoptedChange, signal: AbortSignal): Promise<void> {
    const ids = change.files.has(HUB_SOURCES) ? await readHubSources(this.#daemon.config.state) : undefined
    if (ids !== undefined) await this.#change((config) => withHubSources(config, ids)).catch(ignoreAbort)
    await this.#asked(signal, async (daemon) => daemon.adopt(change))
  }

  /** Runs work on the daemon that exists when its turn comes, unless this process ends. */
  async #asked<Result>(signal: AbortSignal, work: (daemon: Daemon) => Promise<Result>): Promise<Result | void> {
    return this.#changeover.ask(signal, async () => work(this.#daemon)).catch(ignoreAbort)
  }

  /** If the disk takes no socket either, it is retried: clients are served without it. */
  async #listen(): Promise<void> {
    try {
      await this.#control.listen()
    } catch (error) {
      if (this.#right.readOnly === undefined || !isUnwritable(error)) throw error
      this.#tellSocket(error)
    }
  }

  /** Checks periodically that its socket and the WAL still exist, and whether a read-only disk takes writes again. */
  async #watch(): Promise<void> {
    if (this.lost.aborted) return
    await this.#lookAtSocket()
    if (this.#right.readOnly !== undefined) await this.#lookAtDisk().catch((error: unknown) => this.#tellDisk(error))
    // The next pull reports what fails.
    else await this.#asked(this.#over.signal, async () => this.#lookAtLog()).catch(unlessSyncError)
  }

  async #lookAtLog(): Promise<void> {
    const { log, store } = this.#parts
    if (await store.mendLog()) log.warn('store-log-made-again', { state: store.folder.path })
  }

  async #lookAtSocket(): Promise<void> {
    const { log, environment } = this.#parts
    const { state } = this.#daemon.config
    try {
      const isNew = await this.#control.listenAgain(() => socketPathOf(state, environment.runtime))
      await this.#right.moveTo(this.#control.path)
      if (isNew) log.warn('control-socket-made-again', { state })
      log.recovery('control-socket-not-made', '')
    } catch (error) {
      this.#tellSocket(error)
    }
  }

  #tellSocket(error: unknown): void {
    if (!(error instanceof SyncError)) throw error
    const { code, message } = error
    this.#parts.log.failure('warn', 'control-socket-not-made', { source: '', code, message })
  }

  /** An abort is not logged. A disk that still refuses is checked again. */
  #tellDisk(error: unknown): void {
    if (isAbortError(error)) return
    if (!(error instanceof SyncError)) throw error
    const { code, message } = error
    this.#parts.log.failure('error', 'served-read-only', { source: '', code, message })
  }

  async #lookAtDisk(): Promise<void> {
    const other = await this.#right.take(this.#over.signal, this.#control.isListening)
    if (other !== undefined) return this.#right.lose(new HeldByOther(this.#daemon.config.state, other.heldBy))
    if (this.#right.refusal !== undefined) return
    await this.#changeover.change(
      async () => this.#daemon.stop(),
      async () => {
        await using before = this.#daemon
        this.#daemon = await this.#startWithRight(before)
        this.#parts.log.recovery('served-read-only', '')
      },
    )
  }

  /**
   * Starts the daemon that continues with the right to write. If the disk refuses again, a read-only daemon stays until
   * the next check.
   */
  async #startWithRight(before: Daemon): Promise<Daemon> {
    try {
      this.#right.grant()
      this.#parts.store.becomeWriter()
      await this.#parts.store.sweep()
      return this.#goOn(await Daemon.start(before.config, this.#parts, before))
    } catch (error) {
      this.#right.revoke()
      this.#daemon = this.#goOn(await this.#again(before))
      throw error
    }
  }

  /**
   * Starts a daemon with this configuration that continues where the previous one stopped, with the same state folder.
   * `serve` is called with it before the previous one is disposed. If it cannot start, the previous one continues, and
   * the error is thrown.
   */
  async reload(config: WholeConfig, serve: (daemon: Daemon) => void): Promise<void> {
    this.#serve = serve
    await this.#change(() => config)
  }

  async #change(configOf: (before: WholeConfig) => WholeConfig): Promise<void> {
    await this.#changeover.change(
      async () => this.#daemon.stop(),
      async () => {
        const before = this.#daemon
        try {
          this.#daemon = await this.#after(before, configOf(before.config))
        } finally {
          // One that no other takes over from serves on what it has.
          if (this.#daemon !== before) await before[Symbol.asyncDispose]()
        }
      },
    )
  }

  async #after(before: Daemon, config: WholeConfig): Promise<Daemon> {
    try {
      return this.#goOn(await Daemon.start(config, this.#parts, before))
    } catch (error) {
      this.#daemon = this.#goOn(await this.#again(before))
      throw error
    }
  }

  #goOn(daemon: Daemon): Daemon {
    this.#followingHub(daemon)
    this.#serve(daemon)
    if (this.#isPolling) daemon.poll()
    return daemon
  }

  #followingHub(daemon: Daemon): Daemon {
    daemon.parts.hub.onChange(async (ids) => {
      // A daemon that was replaced knows the sources of the hub that it followed, which may be another one.
      if (daemon === this.#daemon && (this.#isPolling || this.#isFollowing)) await this.#followHub(ids)
    })
    return daemon
  }

  /** The list is written first: after a kill the next start has these sources. */
  async #followHub(ids: ListedSources): Promise<void> {
    const { store, log } = this.#parts
    const before = idsOf(this.#daemon.config)
    await writeHubSources(store.folder, ids)
    await this.#change((config) => withHubSources(config, ids))
    const { sources, gone } = ids
    const added = sources.filter((id) => !before.includes(id))
    const removed = before.filter((id) => !sources.includes(id))
    log.info('hub-sources', { sources: sources.length, added, removed, gone })
  }

  async #again(before: Daemon): Promise<Daemon> {
    return Daemon.start(before.config, this.#parts, before).catch((cause: unknown) => {
      // In a hub of several, this process tries to change its part again, or leaves it to another one.
      if (this.#member !== undefined && (cause instanceof SyncError || cause instanceof OperatorError))
        throw new SyncError('store-failed', `Cannot go on with the daemon: ${cause.message}`, {
          cause,
          fix: cause.fix,
        })
      // A process that ends is better than one without a daemon: the service manager restarts it.
      throw new Error('Cannot go on with the configuration from before the reload', { cause })
    })
  }

  /** Follows the log of the hub now, if there is one. Returns the sources after that. */
  async #followHubNow(signal: AbortSignal): Promise<HubSourceIds> {
    this.#isFollowing = true
    try {
      await this.#daemon.parts.hub.look(signal)
    } finally {
      this.#isFollowing = false
    }
    const { sources } = this.#daemon.config
    const gone = sources.flatMap(({ source }) => (isGoneAtHub(source) ? [source.id] : []))
    return { sources: idsOf(this.#daemon.config), gone }
  }

  /** Each handler uses the daemon that exists when its turn comes. */
  #handlers(): ControlHandlers {
    return Object.fromEntries(
      [...this.#requests].map(([name, request]) => [name, async (...asked) => this.#forward(request, ...asked)]),
    )
  }

  /** In a hub of several processes, what changes the content is answered by the one that leads. */
  async #forward(request: WriterRequest, ...[params, send, signal]: Parameters<ControlHandler>): Promise<unknown> {
    const member = this.#member
    if (member?.isLeading !== false || !request.isForLeader) return this.#answer(request, params, send, signal)
    expectConfig(params, this.#daemon.config)
    return member.ask(request.name, params, send, signal)
  }

  /** Answers a request of another process of the hub, which the database has. */
  async #answerMember(...[name, params, send, signal]: Parameters<HubMember['ask']>): Promise<unknown> {
    const request = this.#requests.get(name)
    if (request?.isForLeader !== true) throw new OperatorError('unknown-method', `No process is asked for "${name}"`)
    return this.#answer(request, params, send, signal)
  }

  /** Answers a request of this process itself. */
  async answer(...[name, params, send, signal]: Parameters<HubMember['ask']>): Promise<unknown> {
    const request = this.#requests.get(name)
    if (request === undefined) throw new TypeError(`A writer is asked for no "${name}"`)
    return this.#answer(request, params, send, signal)
  }

  async #answer(request: WriterRequest, ...[params, send, signal]: Parameters<ControlHandler>): Promise<unknown> {
    const run = async (until: AbortSignal): Promise<unknown> => {
      const parts = { ...this.#daemon.parts, followHub: async (within: AbortSignal) => this.#followHubNow(within) }
      return request.answerFrom(parts, params, { send, signal: until })
    }
    return request.isOfProcess ? run(signal) : this.#changeover.ask(signal, run)
  }
}

type WriterRequest = ControlRequest<AnsweringParts>

interface Held {
  readonly member: HubMember | undefined
  readonly right: WriteRight
  readonly socket: string
  readonly requests: Requests
  readonly handlers: ControlHandlers | undefined
}

/** Few hubs have several processes, and the client of their database takes long to load. */
async function memberOf(
  { config, environment, redactor, command }: WriterCandidate,
  { store, clock, log }: DaemonContext,
): Promise<HubMember | undefined> {
  if (config.postgres === undefined || command !== 'start') return undefined
  const shared = await sharedStoreOf(config, environment, redactor)
  if (shared === undefined) return undefined
  const { HubMember } = await import('../features/hub-of-several/hub-member.ts')
  return HubMember.open({ shared, store, clock, log })
}

function rightFor({ config: { state }, log, command }: WriterCandidate, socket: string): WriteRight {
  const onWatch = (holder: FoundHolder): void => {
    const message = `${processText(holder)} has the lock: its lease is watched for ${TERM_MS / 1000} s`
    log.failure('info', 'lock-watched', { source: '', code: 'state-in-use', message }, holder.nonce)
  }
  return new WriteRight(state, { pid: process.pid, socket, command }, { clock: systemClock, onWatch })
}

/**
 * Takes the lock, brings a folder into order that only its writer can open, and gives the lock back. Returns the holder
 * if another process has it.
 */
export async function prepareState(
  candidate: WriterCandidate,
  signal: AbortSignal,
): Promise<{ readonly heldBy: FoundHolder } | undefined> {
  const { config, environment } = candidate
  const right = rightFor(candidate, socketPathOf(config.state, environment.runtime))
  const other = await right.take(signal)
  if (other !== undefined) return other
  try {
    const store = await storeOf(candidate, right)
    store[Symbol.dispose]()
  } finally {
    await right.release()
  }
  return undefined
}

/** Opens the folder for writing, or for reading if the disk takes no writes. */
async function storeOf(candidate: WriterCandidate, right: WriteRight): Promise<Store> {
  const { config, log } = candidate
  using opening = new DisposableStack()
  const store = opening.use(await openedStore(candidate, right))
  const { refusal } = right
  if (store === undefined || (refusal !== undefined && candidate.servesReadOnly !== true))
    throw refusal ?? noStateFolder(config)
  store.folder.guardWith(async () => right.expect())
  if (refusal === undefined) {
    right.grant()
    await prepare(store, log)
  } else {
    const { code, message } = refusal
    log.failure('error', 'served-read-only', { source: '', code, message })
  }
  opening.move()
  return store
}

/** A disk may have room for the lock, and none for the files beside the database. */
async function openedStore({ config }: WriterCandidate, right: WriteRight): Promise<Store | undefined> {
  try {
    if (right.refusal === undefined) return await Store.openExisting(config.state, { isWriter: true })
  } catch (error) {
    if (!isUnwritable(error)) throw error
    right.refuse(error)
  }
  return Store.openExisting(config.state)
}

async function prepare(store: Store, log: Log): Promise<void> {
  await store.sweep()
  const { replaced } = store
  if (replaced !== undefined) log.error('store-replaced', { code: replaced.code, message: replaced.message })
}

function noStateFolder({ state }: WholeConfig): SyncError {
  return new SyncError('no-state-folder', `Cannot open the state folder "${state}": it was removed`)
}

/**
 * Without a list of the hub's sources, those of the lock are followed, or else those that are served: no look at the hub
 * has shown that they are gone.
 */
async function withHubList(config: WholeConfig, { store, readOnly }: DaemonContext): Promise<WholeConfig> {
  if (config.follow === undefined || config.mode.locked) return config
  if ((await readHubSources(config.state)) !== undefined) return config
  const locked = idsOf(config)
  const ids = {
    sources: locked.length > 0 ? locked : await servedOf(config.follow.source.url, store),
    gone: [],
    waiting: [],
  }
  if (ids.sources.length > 0 && readOnly?.() === undefined) await writeHubSources(store.folder, ids)
  return withHubSources(config, ids)
}

/** The sources of the channel at this address that are served. */
async function servedOf(channel: string, store: Store): Promise<readonly SourceId[]> {
  const sources: SourceId[] = []
  for (const { source, snapshot } of (await store.generations.current())?.sources ?? []) {
    const { url, published } = (await store.snapshots.readWhole(snapshot)) ?? {}
    if (url === channel && published?.sources.every((one) => one.source === source)) sources.push(source)
  }
  return sources
}

/**
 * Like `Writer.open`, but first requests a handover from an `mcp` process that writes. Throws if another daemon stays.
 */
export async function becomeWriter(candidate: WriterCandidate, signal: AbortSignal): Promise<Writer> {
  for (let attempt = 1; ; attempt += 1) {
    const writer = await Writer.open(candidate, signal)
    if (!('heldBy' in writer)) return writer
    const { heldBy } = writer
    const isAsked = heldBy.command === 'mcp' && attempt <= HANDOVER_ATTEMPTS
    if (!isAsked || (heldBy.isElsewhere === true && !(await isListening(heldBy))))
      throw new HeldByOther(candidate.config.state, heldBy)
    await askForLock(heldBy, signal)
    await systemClock.wait(HANDOVER_PAUSE_MS, signal)
  }
}

/** A writer that closes the connection before it answers is handing over. */
async function askForLock(holder: FoundHolder, signal: AbortSignal): Promise<void> {
  const socket = await socketOf(holder)
  if (socket === undefined) return
  try {
    await askDaemon(socket, handoverRequest.name, {}, { onEvent: () => {}, signal, timeoutMs: HANDOVER_MS })
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
  }
}

/** The interval for checking a missing socket and a read-only disk. */
const LOOK_MS = 2_000
/** The time that a database has for the last statements of this process. */
const MOST_ENDING_MS = 5_000

/** Together longer than a writer takes to end its running pulls. */
const HANDOVER_ATTEMPTS = 100
const HANDOVER_PAUSE_MS = 100
const HANDOVER_MS = 10_000
