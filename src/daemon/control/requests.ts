import { createHash } from 'node:crypto'
import { z } from 'zod'
import { abortable } from '../../base/async/abortable.ts'
import { CHECKPOINT_PATH } from '../../features/channel/content/channel-entry.ts'
import { channelName, partOf } from '../../features/channel/publish/channel-names.ts'
import { additionHandlers } from '../../features/mcp-sources/addition-requests.ts'
import { MOST_REASON } from '../../sync/model/decisions/published-recall.ts'
import { TRIGGERS } from '../../sync/model/generation.ts'
import { isObjectId } from '../../sync/model/revision.ts'
import { isSourceId } from '../../sync/model/source-id.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { expectOwnEntries, expectOwnFolder } from '../../sync/store/files/folder-owner.ts'
import { isDigest } from '../../sync/store/skills/stored-path.ts'
import { TOKEN } from '../access/tokens.ts'
import { configText, idsOf } from '../config/config.ts'
import type { Config, Mode } from '../config/config.ts'
import type { Daemon } from '../daemon.ts'
import { VERBS } from '../pull/decide.ts'
import type { RollbackTarget } from '../pull/rollback.ts'
import type { FetchedAmount } from '../pull/schedule/pull-activity.ts'
import { OperatorError } from '../runtime/operator-error.ts'
import { summarizeContract } from '../status/contract-news.ts'
import { syncEndOf } from '../status/pull-result.ts'
import { askDaemon } from './control-client.ts'
import { unlockedSocketOf } from './control-path.ts'
import type { ControlHandlers } from './control-server.ts'
import { lockHolderOf, socketOf } from './daemon-lock.ts'
import { linkHandlers } from './link-requests.ts'
import { parseParams } from './request-params.ts'

/** The requests that a running daemon answers on its socket. Each request names the configuration of its client. */
export function requestHandlers(daemon: Daemon, config: Config): ControlHandlers {
  // A process that reads the state folder for an MCP client gets the current state, whatever configuration it was
  // started with.
  const ofReader = (params: unknown): Request => {
    const asked = requestIn(params)
    expectMode(asked.mode, config)
    return asked
  }
  const checked = (params: unknown): Request => {
    expectConfig(params, config)
    return ofReader(params)
  }
  return {
    async hello(params) {
      checked(params)
      return config.mode
    },
    async status(params) {
      checked(params)
      await daemon.lock.read()
      // Findings can exceed one line of the socket: the client reads them from the state folder.
      return daemon.status(true)
    },
    async sync(params, send, signal) {
      const ids = sourcesOf(checked(params).sources, config)
      await daemon.followLock(signal)
      const ends = ids.map(async (id) => {
        const onFetched = (source: SourceId, fetched: FetchedAmount): void => send({ fetching: { source, ...fetched } })
        const [end] = await daemon.sync([id], onFetched)
        if (end !== undefined) send(syncEndOf(...end, daemon.sourceNotes(id)))
      })
      await Promise.all(ends)
      const summaries = summarizeContract(await daemon.contractProblems(ids))
      return { problems: summaries.map(({ code, message }) => ({ code, message })) }
    },
    async scan(params, send, signal) {
      const ids = sourcesOf(checked(params).sources, config)
      const { isFresh, withholdsAll } = parseParams(SCAN, params)
      return daemon.scan({ sources: ids, isFresh, withholdsAll }, (progress) => send({ scanning: progress }), signal)
    },
    async pull(params, _, signal) {
      const { source, trigger } = parseParams(PULL, params)
      if (source === config.lockFrom?.repository.source.id) {
        await daemon.followLock(signal)
        return { kind: 'unchanged' }
      }
      return daemon.pull(idOf(source, config), trigger)
    },
    async look(params) {
      const [source] = ofReader(params).sources ?? []
      await daemon.look(source === undefined ? undefined : idOf(source, config))
      return null
    },
    async bring(params, _, signal) {
      ofReader(params)
      const { source, path, file } = parseParams(BRING, params)
      await abortable(daemon.mcpDecisions.bring(idOf(source, config), path, file), signal)
      return null
    },
    async recheck(params) {
      checked(params)
      const { source, path } = parseParams(RECHECK, params)
      await daemon.mcpDecisions.recheck(idOf(source, config), path)
      return null
    },
    async waiting(params) {
      checked(params)
      const { source, verb } = parseParams(WAITING, params)
      return daemon.waiting(idOf(source, config), verb)
    },
    async decide(params) {
      checked(params)
      const { source, verb, ...named } = parseParams(DECIDE, params)
      await daemon.decide(idOf(source, config), verb, named)
      return null
    },
    async disable(params) {
      checked(params)
      const { source, path, disabled, sourceOnly } = parseParams(DISABLE, params)
      return daemon.disable(idOf(source, config), path, disabled, sourceOnly)
    },
    async recall(params) {
      checked(params)
      const { digest, source, path, reason } = parseParams(RECALL, params)
      if (digest !== undefined) return daemon.recall({ kind: 'digest', digest }, reason)
      if (source === undefined || path === undefined)
        throw new OperatorError('bad-request', 'The request names neither a digest, nor a skill')
      return daemon.recall({ kind: 'skill', source: idOf(source, config), path }, reason)
    },
    async 'revoke-recall'(params) {
      checked(params)
      return daemon.revokeRecall(parseParams(OF_RECALL, params).id)
    },
    async 'recall-reach'(params) {
      checked(params)
      const { followers, unreachable, ...report } = daemon.reachOf(parseParams(OF_RECALL, params).id)
      // An answer must fit into one line of the socket: the counts are whole, and no follower that is behind is left out
      // for one that obeys.
      const sorted = followers.toSorted((a, b) => Number(a.state === 'obeyed') - Number(b.state === 'obeyed'))
      return { ...report, followers: sorted.slice(0, MOST_SHOWN), unreachable: unreachable.slice(0, MOST_SHOWN) }
    },
    async 'approve-skill'(params) {
      checked(params)
      const { source, path, declaration } = parseParams(APPROVE_SKILL, params)
      return { isNew: await daemon.mcpDecisions.approve(idOf(source, config), path, declaration) }
    },
    ...linkHandlers(daemon.linking, checked),
    ...additionHandlers(daemon.mcpDecisions.additions, (params) => {
      checked(params)
      return idOf(parseParams(OF_SOURCE, params).source, config)
    }),
    async revision(params, _, signal) {
      checked(params)
      return daemon.candidates.revision(idOf(parseParams(CANDIDATE, params).source, config), signal)
    },
    async compare(params, _, signal) {
      checked(params)
      return daemon.candidates.compare(idOf(parseParams(CANDIDATE, params).source, config), signal)
    },
    async 'second-opinion'(params, _, signal) {
      checked(params)
      return daemon.candidates.secondOpinion(idOf(parseParams(OF_SOURCE, params).source, config), signal)
    },
    async 'log-proof'(params, _, signal) {
      checked(params)
      return daemon.candidates.prove(idOf(parseParams(OF_SOURCE, params).source, config), signal)
    },
    async 'check-log'(params, send, signal) {
      checked(params)
      const { source, other } = parseParams(OF_LOG, params)
      return daemon.candidates.auditLog(idOf(source, config), other, (entries) => send({ entries }), signal)
    },
    async checkpoint(params) {
      checked(params)
      const note = await daemon.channels.read(channelName(parseParams(OF_CHANNEL, params)), CHECKPOINT_PATH)
      return note === undefined ? null : Buffer.from(note).toString('utf8')
    },
    async candidate(params, _, signal) {
      checked(params)
      const { source, commit } = parseParams(CANDIDATE, params)
      if (commit !== undefined && !isObjectId(commit))
        throw new OperatorError('unknown-commit', `"${commit}" is not a full commit id`)
      return (await daemon.candidates.take(idOf(source, config), commit, signal)).held
    },
    async publish(params, _, signal) {
      checked(params)
      const { to, git: url, branch, pack, ring, dry } = parseParams(PUBLISH, params)
      if (to !== undefined) {
        const { entries, objects, isNew } = await daemon.publishTo({ to, pack, ring }, signal)
        return [{ to, ...partOf(channelName({ pack, ring })), entries, objects, isNew }]
      }
      const named = url === undefined ? undefined : { url, branch, pack }
      return daemon.publish({ named, isDry: dry }, signal)
    },
    async rollback(params, _, signal) {
      checked(params)
      const { generation, source, commit, hold } = parseParams(ROLLBACK, params)
      return daemon.rollback(targetOf(generation, source, commit, config), hold, signal)
    },
    async rings(params) {
      checked(params)
      return daemon.rings
    },
    async promote(params) {
      const { sources = [] } = checked(params)
      const { ring, now } = parseParams(PROMOTE, params)
      if (ring !== undefined) expectLaterRing(ring, config)
      const named = sources.length === 0 ? [] : sourcesOf(sources, config)
      const promotions = await daemon.promote({ sources: named, ring, isForced: now })
      // JSON leaves `from` out where the ring had nothing.
      return promotions.map(({ source, ring: id, from, to }) => ({
        source,
        ring: id,
        from: from?.commit,
        commit: to.commit,
      }))
    },
    async 'hold-ring'(params) {
      checked(params)
      const { source, ring, reason } = parseParams(HOLD_RING, params)
      expectLaterRing(ring, config)
      await daemon.holdRing(idOf(source, config), ring, reason)
      return null
    },
    async 'token-add'(params) {
      checked(params)
      await daemon.tokens.add(parseParams(ADD_TOKEN, params).token)
      return null
    },
    async 'token-renew'(params) {
      checked(params)
      const { name, expires } = parseParams(RENEW_TOKEN, params)
      await daemon.tokens.renew(name, expires)
      return null
    },
    async 'token-revoke'(params) {
      checked(params)
      await daemon.tokens.revoke(parseParams(REVOKE_TOKEN, params).name)
      return null
    },
  }
}

/** Throws unless the request names this configuration. */
export function expectConfig(params: unknown, config: Config): void {
  if (requestIn(params).config !== configDigest(config)) throw otherConfig(config)
}

function requestIn(params: unknown): Request {
  const { data, success } = REQUEST.safeParse(params)
  // A client of another version may send anything: that must not end the daemon.
  if (!success) throw new OperatorError('bad-request', 'The request does not name its configuration, or its sources')
  return data
}

function targetOf(
  generation: number | undefined,
  source: string | undefined,
  commit: string | undefined,
  config: Config,
): RollbackTarget {
  if (source !== undefined && commit !== undefined && commit !== '')
    return { kind: 'commit', source: idOf(source, config), commit }
  if (generation !== undefined) return { kind: 'generation', number: generation }
  throw new OperatorError('bad-request', 'The request names neither a generation, nor a source and a commit')
}

function idOf(source: string, config: Config): SourceId {
  const [id] = sourcesOf([source], config)
  if (id === undefined) throw new TypeError('One source that was named came to none')
  return id
}

/** The first ring takes each commit at once: nothing is promoted to it, or held from it. */
export function expectLaterRing(ring: string, { rings }: Pick<Config, 'rings'>): void {
  expectRings({ rings })
  const later = rings.slice(1).map(({ id }) => id)
  if (later.includes(ring)) return
  throw new OperatorError(
    'bad-request',
    `"${ring}" is no ring after the first; there are ${later.join(', ')}; skillsyncd pause stops the first one`,
  )
}

/** Throws if the configuration has no rings. */
export function expectRings({ rings }: Pick<Config, 'rings'>): void {
  if (rings.length > 0) return
  throw new OperatorError('bad-request', 'There are no rings; name some in `rings` of the configuration')
}

/** A client that wants more caution than the daemon was started with would get success without it. */
function expectMode(mode: Mode | undefined, config: Config): void {
  for (const [key, flag] of [
    ['locked', '--locked'],
    ['offline', '--offline'],
  ] as const) {
    if (mode?.[key] !== true || config.mode[key]) continue
    throw new OperatorError(
      'other-config',
      `The daemon that runs for "${config.state}" was not started with ${flag}; restart it so, or stop it first`,
    )
  }
}

/** The followers of one answer, of some 250 bytes each. */
const MOST_SHOWN = 3_000

const OF_CHANNEL = z.object({ pack: z.string().optional(), ring: z.string().optional() })
const MODE = z.object({ locked: z.boolean(), offline: z.boolean() })
const REQUEST = z.object({ config: z.string(), mode: MODE.optional(), sources: z.array(z.string()).optional() })
type Request = z.infer<typeof REQUEST>

const OF_SOURCE = z.object({ source: z.string() })
const OF_LOG = z.object({ source: z.string(), other: z.string().optional() })
const WAITING = z.object({ source: z.string(), verb: z.enum(['approve', 'reject']) })
const DECIDE = z.object({
  source: z.string(),
  verb: z.enum(VERBS),
  commit: z.string().optional(),
  tag: z.string().optional(),
  keepsPin: z.boolean().optional(),
})
const DISABLE = z.object({
  source: z.string(),
  path: z.string(),
  disabled: z.boolean(),
  sourceOnly: z.boolean().optional(),
})
const SCAN = z.object({ isFresh: z.boolean(), withholdsAll: z.boolean() })
const RECALL = z.object({
  digest: z.string().refine(isDigest).optional(),
  source: z.string().optional(),
  path: z.string().optional(),
  reason: z.string().min(1).max(MOST_REASON),
})
const OF_RECALL = z.object({ id: z.string() })
const PULL = z.object({ source: z.string(), trigger: z.enum(TRIGGERS) })
const RECHECK = z.object({ source: z.string(), path: z.string() })
const BRING = z.object({ source: z.string(), path: z.string(), file: z.string() })
const APPROVE_SKILL = z.object({ source: z.string(), path: z.string(), declaration: z.string() })
const ADD_TOKEN = z.object({ token: TOKEN })
const RENEW_TOKEN = z.object({ name: z.string(), expires: TOKEN.shape.expires })
const REVOKE_TOKEN = z.object({ name: z.string() })
const CANDIDATE = z.object({ source: z.string(), commit: z.string().optional() })
const PUBLISH = z.object({
  to: z.string().optional(),
  git: z.string().optional(),
  branch: z.string().optional(),
  pack: z.string().optional(),
  ring: z.string().optional(),
  dry: z.boolean(),
})
const PROMOTE = z.object({ ring: z.string().optional(), now: z.boolean() })
/** The most characters of the reason of a hold. */
export const MOST_HOLD_REASON = 500
const HOLD_RING = z.object({
  source: z.string(),
  ring: z.string(),
  reason: z.string().max(MOST_HOLD_REASON).optional(),
})
const ROLLBACK = z.object({
  generation: z.number().optional(),
  source: z.string().optional(),
  commit: z.string().optional(),
  hold: z.boolean(),
})

/** The named ids, or all. An id that is not configured is an error of the client. */
export function sourcesOf(named: readonly string[] | undefined, config: Config): SourceId[] {
  const configured = idsOf(config)
  if (named === undefined || named.length === 0) return configured
  return [...new Set(named)].map((id) => {
    if (isSourceId(id) && configured.includes(id)) return id
    throw new OperatorError('unknown-source', `No source is called "${id}"; there are ${configured.join(', ')}`)
  })
}

/** Sends a request to the daemon of the configuration's state folder. `undefined` if none runs. */
export async function request(
  config: Config,
  method: string,
  params: object,
  waiting: { readonly onEvent?: (event: unknown) => void; readonly signal: AbortSignal; readonly timeoutMs?: number },
): Promise<{ readonly result: unknown } | undefined> {
  const socket = await socketToAsk(config)
  if (socket === undefined) return undefined
  const { onEvent = () => {}, signal, timeoutMs = ANSWER_MS } = waiting
  const answer = await askDaemon(
    socket,
    method,
    { ...params, config: configDigest(config), mode: config.mode },
    { onEvent, signal, timeoutMs },
  )
  return answer.kind === 'no-daemon' ? undefined : { result: answer.result }
}

/**
 * A daemon records its socket in the lock, because its runtime folder can differ from that of the client. A daemon on a
 * disk that accepts no lock cannot do so. The client then tries the paths of its own runtime and temporary folders.
 */
async function socketToAsk({ state, runtime }: Config): Promise<string | undefined> {
  // A lock that another user put there would name a socket of that user.
  await expectOwnFolder(state, { asReader: true })
  await expectOwnEntries(state, { asReader: true })
  const holder = await lockHolderOf(state)
  return holder === undefined ? unlockedSocketOf(state, runtime) : socketOf(holder)
}

const ANSWER_MS = 10_000

/**
 * The mode of the daemon that runs for the state folder; `undefined` if none answers. Throws if the daemon has another
 * configuration, because its state is not the requested one. If the daemon is stopped or hangs, the caller can still
 * read what it wrote.
 */
export async function agreeWithDaemon(config: Config, signal: AbortSignal): Promise<Mode | undefined> {
  try {
    const answer = await request(config, 'hello', {}, { signal, timeoutMs: HELLO_MS })
    // Another version of this program does not return it.
    return MODE.safeParse(answer?.result).data
  } catch (error) {
    if (!(error instanceof OperatorError) || !SAYS_NOTHING.has(error.code)) throw error
    return undefined
  }
}

const HELLO_MS = 2_000
const SAYS_NOTHING: ReadonlySet<string> = new Set(['timed-out', 'connection-lost'])

/**
 * Equal for two processes with the same configuration, whatever paths they use for its file and folders, and wherever
 * they read the address of their database.
 */
export function configDigest(config: Config): string {
  const { file: _file, state: _state, runtime: _runtime, lock: _lock, mode: _mode, postgres, sources, ...rest } = config
  const common = { ...rest, isShared: postgres !== undefined }
  // The hub decides which sources there are, and can add one at any time.
  const meant = config.follow === undefined ? { ...common, sources } : common
  return createHash('sha256').update(configText(meant)).digest('hex')
}

function otherConfig(config: Config): OperatorError {
  const running = config.file === undefined ? 'sources named on its command line' : `"${config.file}"`
  return new OperatorError(
    'other-config',
    `The daemon that runs for "${config.state}" has another configuration (${running}); name that one, or have the daemon apply yours: skillsyncd reload`,
  )
}
