import { MOST_REASON } from '../../../sync/model/decisions/published-recall.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { printJson, printLines } from '../../cli/command.ts'
import type { Command, Context, ExitStatus } from '../../cli/command.ts'
import { configInUse } from '../../cli/config-in-use.ts'
import { withWriter } from '../../cli/daemon-client.ts'
import type { AskWriter } from '../../cli/daemon-client.ts'
import { exitOfPulls, linesOfPull, pullWithProgress } from '../../cli/pull-results.ts'
import { expectLaterRing } from '../../config/named-rings.ts'
import { sourcesNamed } from '../../config/named-sources.ts'
import type { Verb } from '../../pull/decide.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { OperatorError } from '../../runtime/operator-error.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { holdText } from '../../status/decision-text.ts'
import type { SyncEnd } from '../../status/pull-result.ts'
import { commitNamed } from './commit-operand.ts'
import { decideRequest, type DecisionParams } from './decide-requests.ts'

const RING = { type: 'string', value: 'RING' } as const

export const hold: Command = {
  name: 'hold',
  operands: { text: 'SOURCE [COMMIT]', most: 2, offers: ['sources', []] },
  details: `
  Without COMMIT: at the served commit, whatever its ref moves to. Another commit is served now: its full id, or the
  first digits of one that is stored. It lasts until skillsyncd release, and counts more than a lock that nothing
  requires.
`,
  examples: [
    'skillsyncd hold team',
    'skillsyncd hold team 4f2c81d --reason "the newest breaks pdf"',
    'skillsyncd hold team --ring stable --reason "release week"',
  ],
  options: {
    ring: { ...RING, help: 'only this ring takes nothing of the source; not the first one' },
    reason: { type: 'string', value: 'TEXT', help: 'the reason, for status and log' },
    'no-poll': { type: 'boolean', help: 'do not ask the host of the source either, such as while it is repaired' },
  },
  async run(context) {
    const { operands, values } = context
    const config = await configInUse(context)
    const ids = sourcesOf('hold', operands.slice(0, 1), config)
    const commit = commitNamed(operands[1])
    const ring = ringIn(values, config)
    const noPoll = values['no-poll'] === true
    if (ring !== undefined && commit !== undefined)
      throw new UsageError('--ring does not go with a COMMIT: a ring stays at what it serves')
    if (ring !== undefined && noPoll)
      throw new UsageError('--ring does not go with --no-poll: the first ring still takes each commit')
    const named = { commit, ring, noPoll, reason: reasonIn(values) }
    const done = (source: SourceId, held: HoldText): string => holdLine(held, source, ring)
    return withWriter(context, config, (ask) =>
      applyDecision(context, { verb: 'hold', ids, named, done, moves: false }, ask),
    )
  },
}

export const release: Command = {
  name: 'release',
  operands: { text: 'SOURCE…', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  details: `
  It also ends the skip of a rollback. The source is pulled at once.
`,
  examples: ['skillsyncd release team', 'skillsyncd release team --ring stable'],
  options: { ring: { ...RING, help: 'the ring that was held' } },
  async run(context) {
    const config = await configInUse(context)
    const ids = sourcesOf('release', context.operands, config)
    const ring = ringIn(context.values, config)
    const done = (): string => (ring === undefined ? 'follows its ref again' : `released in the ring ${ring}`)
    const making = { verb: 'release', ids, named: { ring }, done, moves: ring === undefined } as const
    return withWriter(context, config, (ask) => applyDecision(context, making, ask))
  },
}

function sourcesOf(verb: Verb, operands: readonly string[], config: ServedConfig): readonly SourceId[] {
  if (operands.length > 0) return sourcesNamed(operands, config)
  throw new UsageError(`"${verb}" wants the id of a source; skillsyncd status shows them`)
}

function ringIn({ ring }: Context['values'], config: ServedConfig): string | undefined {
  if (typeof ring !== 'string') return undefined
  expectLaterRing(ring, config)
  return ring
}

/** The reason that the operator gives, of a bounded length. */
export function reasonIn({ reason }: Context['values']): string | undefined {
  if (typeof reason !== 'string') return undefined
  const text = reason.trim()
  if (text !== '' && text.length <= MOST_REASON) return text
  throw new UsageError(`--reason takes 1 to ${MOST_REASON} characters`)
}

type HoldText = Parameters<typeof holdText>[0]

function holdLine(held: HoldText, source: SourceId, ring: string | undefined): string {
  if (ring === undefined) return holdText(held, source)
  return `in the ring ${ring}: ${holdText(held, `${source} --ring ${ring}`)}`
}

/** A decision to be made. */
export interface DecisionRequest {
  readonly verb: Verb
  readonly ids: readonly SourceId[]
  readonly named: DecisionParams
  /** Returns the result for the source, as text. */
  readonly done: (source: SourceId, hold: HoldText) => string
  /** True if the next pull can move the source, so that it is pulled at once. */
  readonly moves: boolean
}

/** Requests the decision from the writer, pulls the sources that it may move, and prints the results. */
export async function applyDecision(context: Context, making: DecisionRequest, ask: AskWriter): Promise<ExitStatus> {
  const made = await decideEach(making, ask)
  const moving = making.moves ? made.filter(({ error }) => error === undefined) : []
  const ids = moving.map(({ source }) => source)
  const { ends } = await pullWithProgress(context, ids, ask)
  print(context, making, made, ends)
  return made.some(({ error }) => error !== undefined) ? 1 : exitOfPulls(ends)
}

/** The result of the decision about one source. */
interface Decided {
  readonly source: SourceId
  readonly hold?: HoldText | undefined
  /** Why there was nothing to decide. */
  readonly error?: OperatorError
}

/** Decides about one source after the other. If there is nothing to decide about one, the others are still decided. */
async function decideEach({ ids, verb, named }: DecisionRequest, ask: AskWriter): Promise<Decided[]> {
  const made: Decided[] = []
  for (const source of ids) {
    try {
      const { hold: held } = await ask(decideRequest, { source, verb, ...named })
      made.push({ source, ...(verb === 'hold' && { hold: held }) })
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
    const rows = made.map(({ source, error, hold: held }) => ({
      source,
      decision: verb,
      ...(named.ring !== undefined && { ring: named.ring }),
      ...held,
      ...(error !== undefined && { problem: { code: error.code, message: error.message, fix: error.fix } }),
      ...(endOf(source) !== undefined && { pull: endOf(source) }),
    }))
    printJson(context, { sources: rows })
    return
  }
  const lines = made.flatMap(({ source, error, hold: held = {} }) => {
    if (error !== undefined) return [`${source}: ${printableLine(error.message)}`]
    const end = endOf(source)
    return [`${source}: ${done(source, held)}`, ...(end === undefined ? [] : linesOfPull(end))]
  })
  printLines(context, lines)
}
