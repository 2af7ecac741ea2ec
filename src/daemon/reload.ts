import { SerialQueue } from '../base/async/serial-queue.ts'
import type { Log } from '../base/log.ts'
import type { SourceId } from '../sync/model/source-id.ts'
import { isTokenRequired } from './access/http-options.ts'
import { configText, idsOf } from './config/config.ts'
import type { ConfiguredSource, ListenAddress } from './config/config.ts'
import { ConfigError } from './config/rules/config-error.ts'
import type { WholeConfig } from './configuration.ts'
import { configDigest } from './control/same-config.ts'
import type { Daemon } from './daemon.ts'
import { expectLock } from './pull/trust/lock-rules.ts'
import { OperatorError } from './runtime/operator-error.ts'
import { UsageError } from './runtime/usage-error.ts'
import type { Writer } from './writer.ts'

/** The changes of a reload. The lists are empty if no source changed. */
export interface Reloaded {
  readonly added: readonly SourceId[]
  readonly removed: readonly SourceId[]
  readonly changed: readonly SourceId[]
  /** True if anything differs at all. */
  readonly isNew: boolean
}

export interface ReloadParts {
  readonly writer: Pick<Writer, 'daemon' | 'reload'>
  /** Reads the file that the daemon was started with. `undefined` if there was none. */
  readonly read: (() => Promise<WholeConfig>) | undefined
  /** The address to listen on for a configuration; throws a `UsageError` if it is not allowed. */
  readonly listenBy: (config: WholeConfig) => ListenAddress
  /** True if there is a second listener: it keeps the host names that it was opened with. */
  readonly isApart: boolean
  /** Serves the existing clients from this daemon. */
  readonly serve: (daemon: Daemon) => void
  readonly log: Log
}

/** Applies the current configuration as a whole or not at all: a refused one leaves everything unchanged. */
export class Reload {
  readonly #parts: ReloadParts
  readonly #queue = new SerialQueue()

  constructor(parts: ReloadParts) {
    this.#parts = parts
  }

  /**
   * `asked` is the digest of the configuration that the caller has read, if any. Concurrent calls run one after the
   * other.
   */
  async again(asked?: string): Promise<Reloaded> {
    return this.#queue.next(async () => this.#reload(asked))
  }

  async #reload(asked: string | undefined): Promise<Reloaded> {
    const { writer, serve, log } = this.#parts
    const { config: before } = writer.daemon
    const config = await this.#readConfig(asked)
    if (isSame({ ...config, written: undefined }, { ...before, written: undefined }))
      return { added: [], removed: [], changed: [], isNew: false }
    this.#expectApplicable(before, config)
    await expectLock(config)
    await writer.reload(config, serve)
    const reloaded = { ...sourcesBetween(before, config), isNew: true }
    const { added, removed, changed } = reloaded
    log.info('reloaded', { sources: config.sources.length, added, removed, changed })
    return reloaded
  }

  async #readConfig(asked: string | undefined): Promise<WholeConfig> {
    const { read } = this.#parts
    if (read === undefined)
      throw new OperatorError(
        'no-config',
        'Cannot reload: the sources were named on the command line of the daemon; restart it with others',
      )
    const config = await read().catch((error: unknown) => {
      throw error instanceof ConfigError ? new OperatorError('bad-config', error.message) : error
    })
    if (asked === undefined || configDigest(config) === asked) return config
    throw new OperatorError(
      'other-config',
      `Cannot reload: the daemon reads "${config.file}", and that is not the configuration that you have; name it with --config`,
    )
  }

  #expectApplicable(before: WholeConfig, config: WholeConfig): void {
    const fixed = fixedIn(before, config, this.#parts.isApart)
    try {
      const listen = this.#parts.listenBy(config)
      const listening = this.#parts.listenBy(before)
      if (!isSame(listen, listening)) fixed.unshift('serve.http.host or serve.http.port')
      if (isTokenRequired(config, listen) !== isTokenRequired(before, listening))
        fixed.push('whether clients need a token')
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      throw new OperatorError('bad-config', error.message, { cause: error })
    }
    if (fixed.length === 0) return
    throw new OperatorError(
      'needs-restart',
      `Cannot reload: what changed can only be set at the start (${fixed.join(', ')}); nothing was applied; restart the daemon`,
    )
  }
}

/**
 * The keys that differ and can only be set at the start, such as the state folder, the listeners and the
 * authentication.
 */
function fixedIn(before: WholeConfig, after: WholeConfig, isApart: boolean): string[] {
  const pairs: readonly Pair[] = [
    ['state', before.state, after.state],
    ['store.postgres', before.postgres, after.postgres],
    ['serve.operations', before.serve.operations, after.serve.operations],
    ['serve.oauth', before.serve.oauth, after.serve.oauth],
    ['serve.http.trusted_proxies', before.serve.http.trustedProxies, after.serve.http.trustedProxies],
    ['limits.http', before.limits.http, after.limits.http],
    ['audit', before.audit, after.audit],
    ['usage', before.usage, after.usage],
    ['metrics in serve.forms', metricsOf(before), metricsOf(after)],
    ['metrics in serve.public', isPublic(before), isPublic(after)],
    ...(isApart ? namesOf(before, after) : []),
  ]
  return pairs.filter(([, one, other]) => !isSame(one, other)).map(([key]) => key)
}

function metricsOf({ serve: { forms, needsMetrics } }: WholeConfig): object {
  return { isServed: forms.has('metrics'), needsMetrics }
}

/** The host names that the second listener accepts. */
function namesOf({ serve: { http: before } }: WholeConfig, { serve: { http: after } }: WholeConfig): readonly Pair[] {
  return [
    ['serve.http.allowed_hosts', before.allowedHosts, after.allowedHosts],
    ['serve.http.public_url', before.publicUrl, after.publicUrl],
  ]
}

/** A key with its values in two configurations. */
type Pair = readonly [key: string, before: unknown, after: unknown]

/** True if the metrics are public: also at the address for operations, which is opened once. */
function isPublic({ serve: { web } }: WholeConfig): boolean {
  return web.open.has('metrics')
}

function sourcesBetween(before: WholeConfig, after: WholeConfig): Pick<Reloaded, 'added' | 'removed' | 'changed'> {
  const was = new Map(before.sources.map((configured) => [configured.source.id, configured]))
  const is = new Set(idsOf(after))
  return {
    added: idsOf(after).filter((id) => !was.has(id)),
    removed: idsOf(before).filter((id) => !is.has(id)),
    changed: after.sources.filter((configured) => isChanged(configured, was.get(configured.source.id))).map(idOf),
  }
}

function isChanged(configured: ConfiguredSource, before: ConfiguredSource | undefined): boolean {
  return before !== undefined && !isSame(configured, before)
}

function idOf({ source }: ConfiguredSource): SourceId {
  return source.id
}

function isSame(one: unknown, other: unknown): boolean {
  return configText(one) === configText(other)
}
