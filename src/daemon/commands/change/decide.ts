import { UNDECIDED, type SourceDecision, type Decisions } from '../../../sync/model/decisions/decisions.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { Store } from '../../../sync/store/store.ts'
import { configFor, printJson, printLines } from '../../cli/command.ts'
import type { Command, Context, ExitStatus } from '../../cli/command.ts'
import { withWriter } from '../../cli/daemon-client.ts'
import type { AskWriter } from '../../cli/daemon-client.ts'
import { exitOfPulls, linesOfPull, pullWithProgress } from '../../cli/pull-results.ts'
import type { Config } from '../../config/config.ts'
import { sourcesNamed } from '../../config/named-sources.ts'
import type { DecisionDetails, Verb } from '../../pull/decide.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import type { SyncEnd } from '../../status/pull-result.ts'
import { commitNamed } from './commit-operand.ts'
import { decideRequest } from './decide-requests.ts'

/** A command for a decision about sources. */
interface Deciding {
  readonly verb: Verb
  readonly summary: string
  readonly details: string
  /** `all`: any number of sources, or without operands all that `isMeant`; `commit`: one source, with a commit. */
  readonly operands: 'all' | 'commit'
  /** Selects the sources if none is named. */
  readonly isMeant?: (decision: SourceDecision) => boolean
  readonly examples: Command['examples']
  /** Returns the result for the source, as text. */
  readonly done: (source: SourceId, details: DecisionDetails) => string
  /** True if the decision can move the source, so that it is pulled at once. */
  readonly moves: (commit: string | undefined) => boolean
}

const OPERANDS = {
  all: { text: '[SOURCE…]', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  commit: { text: 'SOURCE [COMMIT]', most: 2, offers: ['sources', []] },
} as const

export const pause = deciding({
  verb: 'pause',
  summary: 'Stop polling a source until it is resumed',
  details: 'Without SOURCE: all sources. The served skills stay in service.',
  examples: ['skillsyncd pause team'],
  operands: 'all',
  isMeant: ({ paused }) => paused === undefined,
  done: (source) => `paused; its skills stay in service until skillsyncd resume ${source}`,
  moves: () => false,
})

export const pin = deciding({
  verb: 'pin',
  summary: 'Keep a source at a commit, whatever its ref moves to',
  details:
    'Without COMMIT: the served commit. Another commit is fetched and served now: its full id, or the first digits of one that is stored.',
  examples: ['skillsyncd pin team', 'skillsyncd pin team 4f2c81d'],
  operands: 'commit',
  done: (source) => `pinned until skillsyncd resume ${source}`,
  moves: (commit) => commit !== undefined,
})

export const resume = deciding({
  verb: 'resume',
  summary: 'Follow the ref again after pause, pin or rollback',
  details:
    'Without SOURCE: all sources that are paused or that a rollback holds; a pin ends only for a named source. They are pulled at once.',
  examples: ['skillsyncd resume team', 'skillsyncd resume'],
  operands: 'all',
  isMeant: ({ paused, frozen, skipped }) =>
    paused !== undefined || frozen?.by === 'rollback' || skipped?.by === 'rollback',
  done: (_, { keepsPin }) => (keepsPin === true ? 'no longer paused or held by a rollback' : 'follows its ref again'),
  moves: () => true,
})

function deciding(kind: Deciding): Command {
  return {
    name: kind.verb,
    summary: kind.summary,
    operands: OPERANDS[kind.operands],
    details: `\n  ${kind.details}\n`,
    examples: kind.examples,
    async run(context) {
      const config = await configFor(context)
      const commit = kind.operands === 'commit' ? commitNamed(context.operands[1]) : undefined
      const ids = await meant(kind, context, config)
      const named = { commit, ...(context.operands.length === 0 && { keepsPin: true }) }
      return withWriter(context, config, (ask) => applyDecision(context, { ...kind, ids, named }, ask))
    },
  }
}

/** A decision to be made. */
export interface DecisionRequest extends Pick<Deciding, 'verb' | 'done' | 'moves'> {
  readonly ids: readonly SourceId[]
  readonly named: DecisionDetails
}

/** Requests the decision from the writer, pulls the sources that it may move, and prints the results. */
export async function applyDecision(context: Context, making: DecisionRequest, ask: AskWriter): Promise<ExitStatus> {
  const made = await decideEach(making, ask)
  const moving = making.moves(making.named.commit) ? made.filter(({ error }) => error === undefined) : []
  const ids = moving.map(({ source }) => source)
  const { ends } = await pullWithProgress(context, ids, ask)
  print(context, making, made, ends)
  return made.some(({ error }) => error !== undefined) ? 1 : exitOfPulls(ends)
}

/** The named sources, or those to which the decision applies. */
async function meant(kind: Deciding, { operands }: Context, config: Config): Promise<readonly SourceId[]> {
  const named = kind.operands === 'commit' ? operands.slice(0, 1) : operands
  if (named.length > 0) return sourcesNamed(named, config)
  if (kind.isMeant === undefined)
    throw new UsageError(`"${kind.verb}" wants the id of a source; skillsyncd status shows them`)
  const decisions = await decisionsOf(config)
  const ids = sourcesNamed([], config).filter((id) => kind.isMeant?.(decisions.get(id) ?? UNDECIDED))
  if (ids.length > 0) return ids
  throw new OperatorError('nothing-to-decide', `There is no source to ${kind.verb}; skillsyncd status shows them all`)
}

async function decisionsOf(config: Config): Promise<Decisions> {
  return (await Store.openExisting(config.state))?.decisions.read() ?? new Map<SourceId, SourceDecision>()
}

/** The result of the decision about one source. */
interface Decided {
  readonly source: SourceId
  /** Why there was nothing to decide. */
  readonly error?: OperatorError
}

/** Decides about one source after the other. If there is nothing to decide about one, the others are still decided. */
async function decideEach({ ids, verb, named }: DecisionRequest, ask: AskWriter): Promise<Decided[]> {
  const made: Decided[] = []
  for (const source of ids) {
    try {
      await ask(decideRequest, { source, verb, ...named })
      made.push({ source })
    } catch (error) {
      const isNothing = error instanceof OperatorError && error.code === 'nothing-to-decide'
      // Of one source it is the whole answer.
      if (!isNothing || ids.length === 1) throw error
      made.push({ source, error })
    }
  }
  return made
}

function print(
  context: Context,
  { verb, done, named }: DecisionRequest,
  made: readonly Decided[],
  ends: readonly SyncEnd[],
): void {
  const endOf = (id: SourceId): SyncEnd | undefined => ends.find(({ source }) => source === id)
  if (context.json) {
    const rows = made.map(({ source, error }) => ({
      source,
      decision: verb,
      ...(error !== undefined && { error: { code: error.code, message: error.message } }),
      ...(endOf(source) !== undefined && { pull: endOf(source) }),
    }))
    printJson(context, { sources: rows })
    return
  }
  const lines = made.flatMap(({ source, error }) => {
    if (error !== undefined) return [`${source}: ${printableLine(error.message)}`]
    const end = endOf(source)
    return [`${source}: ${done(source, named)}`, ...(end === undefined ? [] : linesOfPull(end))]
  })
  printLines(context, lines)
}
