import { abortable } from '../../base/async/abortable.ts'
import { callAfter, waitAtMost } from '../../base/async/wait-at-most.ts'
import type { HubReplica, ReplicasStatus } from '../../daemon/runtime/hub-replica.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import type { Trigger } from '../../sync/model/generation.ts'
import type { Outcome } from '../../sync/model/outcome.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import type { SharedStore } from '../../sync/postgres/shared-store.ts'
import type { Digest, LiveObjects } from '../../sync/store/objects/object-store.ts'
import { restoreSnapshot } from './copy-generation.ts'
import { pullRequest } from './pull-for-member.ts'
import { Replica } from './replica.ts'
import type { ReplicaHost, ReplicaParts } from './replica.ts'
import { SharedCommands } from './shared-commands.ts'
import type { AnswerRequest } from './shared-commands.ts'

/** The part of its process that a member of a hub calls. */
export interface MemberHost extends Omit<ReplicaHost, 'onKeptUp'> {
  /** Answers a request of another member. */
  readonly answer: AnswerRequest
}

/** One process of a hub of several: its part in what they share, and its requests to the one that leads. */
export class HubMember implements HubReplica, AsyncDisposable {
  readonly #replica: Replica
  readonly #commands: SharedCommands
  readonly #parts: ReplicaParts
  readonly #over = new AbortController()

  private constructor(parts: ReplicaParts) {
    this.#parts = parts
    this.#replica = new Replica(parts)
    this.#commands = new SharedCommands(parts.shared.database)
  }

  /** Takes over what the members share, if their database can be reached. */
  static async open(parts: ReplicaParts): Promise<HubMember> {
    const member = new HubMember(parts)
    await member.#replica.open()
    return member
  }

  /** Takes part from now on. Resolves when this process serves what the others do, or after two seconds. */
  async start({ answer, ...host }: MemberHost): Promise<void> {
    const onKeptUp = async (): Promise<void> => {
      await this.#commands.receive()
      const { epoch } = this.#parts.shared.leadership
      if (this.isLeading && epoch !== undefined) await this.#commands.answer(epoch, answer)
    }
    this.#replica.start({ ...host, onKeptUp })
    await waitAtMost(STARTING_MS, this.#replica.settled(), this.#parts.clock)
  }

  get shared(): SharedStore {
    return this.#parts.shared
  }

  /** Looks at the database soon. */
  nudge(): void {
    this.#replica.nudge()
  }

  get isLeading(): boolean {
    return this.#replica.isLeading
  }

  get status(): ReplicasStatus {
    return this.#replica.status
  }

  /** Has the leader answer a request. When this resolves, this process serves what the leader has published for it. */
  async ask(method: string, params: unknown, send: (event: unknown) => void, signal: AbortSignal): Promise<unknown> {
    const until = AbortSignal.any([signal, this.#over.signal])
    const result = await this.#commands.ask(method, params, send, until)
    await abortable(this.#replica.settled(), until)
    return result
  }

  async pull(id: SourceId, trigger: Trigger): Promise<Outcome> {
    try {
      await this.ask(pullRequest.name, { source: id, trigger }, () => {}, this.#over.signal)
      return { kind: 'unchanged', revision: undefined }
    } catch (error) {
      if (error instanceof SyncError) return { kind: 'failed', error }
      // A leader of another version, or with another configuration, may not know the source.
      if (!(error instanceof OperatorError)) throw error
      const message = `The process that leads does not pull "${id}": ${error.message}`
      return { kind: 'failed', error: new SyncError('store-failed', message, { cause: error, fix: ALIKE }) }
    }
  }

  async isServedByAll(): Promise<boolean> {
    return this.#replica.isServedByAll()
  }

  stepAside(): void {
    this.#replica.stepAside()
  }

  served(): void {
    this.#replica.served()
  }

  onCaughtUp(listener: (areAll: boolean) => void): void {
    this.#replica.onCaughtUp(listener)
  }

  async restore(snapshot: Digest): Promise<boolean> {
    const { shared, store } = this.#parts
    try {
      await restoreSnapshot(snapshot, { from: await shared.open(), to: store.objects }, this.#over.signal)
      return true
    } catch (error) {
      if (error instanceof SyncError) return false
      throw error
    }
  }

  async collect(objects: LiveObjects): Promise<void> {
    if (!this.#replica.hasHistory) return
    await (await this.#parts.shared.open()).collect(objects)
  }

  /**
   * Cuts the database off if it holds up the end of this process for so long, until the returned value is disposed. Another
   * process goes on from what the database has, and the lease of the lead ends by itself.
   */
  cutOffAfter(ms: number): Disposable {
    return callAfter(ms, async () => this.#parts.shared.cutOff(), this.#parts.clock)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort(new DOMException('The daemon ends', 'AbortError'))
    await this.#replica[Symbol.asyncDispose]()
  }
}

/** As long as the others hold a notification back for this process. */
const STARTING_MS = 2_000

const ALIKE = 'Give all processes of the hub the same version and the same configuration'
