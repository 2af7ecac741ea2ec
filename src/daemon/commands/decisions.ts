import { UNDECIDED, type Decision, type Decisions } from '../../sync/model/decisions.ts'
import type { SourceId } from '../../sync/model/source-id.ts'
import { Store } from '../../sync/store/store.ts'
import type { Config } from '../config.ts'
import { ControlError } from '../control-client.ts'
import type { Verb } from '../decide.ts'
import { printable } from '../log-line.ts'
import { sourcesOf } from '../requests.ts'
import type { SyncEnd } from '../sync-end.ts'
import { UsageError } from '../usage-error.ts'
import { withWriter } from './asking.ts'
import type { AskWriter } from './asking.ts'
import { configOf, printJson, printLines } from './command.ts'
import type { Command, Context } from './command.ts'
import { approveSkills } from './approving.ts'
import { commitNamed } from './commit-operand.ts'
import { exitOfPulls, linesOfPull, pulled } from './pulled.ts'

/** A decision about sources, as a command. */
interface Deciding {
  readonly verb: Verb
  readonly summary: string
  readonly details: string
  /** `all`: about any number of sources, or all that `isMeant`; `named`: at least one; `commit`: one, with a commit. */
  readonly operands: 'all' | 'named' | 'commit'
  /** Which sources are meant where none is named. */
  readonly isMeant?: (decision: Decision) => boolean
  /** What became of the source. */
  readonly done: string
  /** Whether the source may move by it, so that it is pulled at once. */
  readonly moves: (commit: string | undefined) => boolean
}

const OPERANDS = {
  all: { text: '[SOURCE…]', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  named: { text: 'SOURCE…', most: Number.POSITIVE_INFINITY, offers: ['sources'] },
  commit: { text: 'SOURCE [COMMIT]', most: 2, offers: ['sources', []] },
} as const

const ALWAYS = (): boolean => true
const NEVER = (): boolean => false

export const pause = deciding({
  verb: 'pause',
  summary: 'Do not look at a source until it is resumed',
  details: 'Without SOURCE: all of them. What is served is served on.',
  operands: 'all',
  isMeant: ({ paused }) => paused === undefined,
  done: 'paused; what is served is served on until skillsyncd resume',
  moves: NEVER,
})

export const resume = deciding({
  verb: 'resume',
  summary: 'Look at a paused source again, now and on its schedule',
  details: 'Without SOURCE: all that are paused.',
  operands: 'all',
  isMeant: ({ paused }) => paused !== undefined,
  done: 'resumed',
  moves: ALWAYS,
})

export const pin = deciding({
  verb: 'pin',
  summary: 'Keep a source at a commit, wherever its ref goes',
  details: 'Without COMMIT: the one that is served. Another one by its full id, and it is taken now.',
  operands: 'commit',
  done: 'pinned until skillsyncd unpin',
  moves: (commit) => commit !== undefined,
})

export const unpin = deciding({
  verb: 'unpin',
  summary: 'Let a pinned source follow its ref again',
  details: 'It is pulled at once.',
  operands: 'named',
  done: 'unpinned',
  moves: ALWAYS,
})

export const release = deciding({
  verb: 'release',
  summary: 'Let a source that was rolled back follow its ref again',
  details: 'Without SOURCE: all that a rollback holds. They are pulled at once.',
  operands: 'all',
  isMeant: ({ frozen, skipped }) => frozen?.by === 'rollback' || skipped?.by === 'rollback',
  done: 'released',
  moves: ALWAYS,
})

const approveRevision = deciding({
  verb: 'approve',
  summary: 'Take the revision that waits for a decision',
  details: 'COMMIT, in full or its first digits, makes sure that it is the one you looked at.',
  operands: 'commit',
  done: 'approved',
  moves: ALWAYS,
})

export const approve: Command = {
  ...approveRevision,
  summary: 'Take the revision, or the skills of an MCP source, that wait for a decision',
  operands: {
    text: 'SOURCE [COMMIT] | SKILL… | SOURCE/',
    most: Number.POSITIVE_INFINITY,
    offers: ['sources', 'skills'],
  },
  details: `
  COMMIT, in full or its first digits, makes sure that it is the one you looked at.
  SKILL is SOURCE/PATH or the URI of a skill of an MCP source; SOURCE/ means all of its skills that wait.
  What is approved is exactly what the source declares now, files and frontmatter: anything else waits again.
`,
  async run(context) {
    const isOfSkills = context.operands.some((operand) => operand.includes('/'))
    return isOfSkills ? approveSkills(context) : approveRevision.run(context)
  },
}

export const reject = deciding({
  verb: 'reject',
  summary: 'Pass over the revision that waits for a decision; the next one is looked at',
  details: 'COMMIT, in full or its first digits, makes sure that it is the one you looked at.',
  operands: 'commit',
  done: 'rejected',
  moves: ALWAYS,
})

function deciding(kind: Deciding): Command {
  return {
    name: kind.verb,
    summary: kind.summary,
    operands: OPERANDS[kind.operands],
    details: `\n  ${kind.details}\n`,
    async run(context) {
      const config = await configOf(context)
      const commit = kind.operands === 'commit' ? commitNamed(context.operands[1]) : undefined
      const ids = await meant(kind, context, config)
      return withWriter(context, config, async (ask) => {
        const decided = await decideEach(ids, kind, commit, ask)
        const moving = kind.moves(commit) ? decided.filter(({ error }) => error === undefined) : []
        const ends = await pulled(
          context,
          moving.map(({ source }) => source),
          ask,
        )
        print(context, kind, decided, ends)
        return decided.some(({ error }) => error !== undefined) ? 1 : exitOfPulls(ends)
      })
    },
  }
}

/** The sources that are named, or those that the decision can be about. */
async function meant(kind: Deciding, { operands }: Context, config: Config): Promise<readonly SourceId[]> {
  const named = kind.operands === 'commit' ? operands.slice(0, 1) : operands
  if (named.length > 0) return sourcesOf(named, config)
  if (kind.isMeant === undefined)
    throw new UsageError(`"${kind.verb}" wants the id of a source; skillsyncd status shows them`)
  const decisions = await decisionsOf(config)
  const ids = sourcesOf([], config).filter((id) => kind.isMeant?.(decisions.get(id) ?? UNDECIDED))
  if (ids.length > 0) return ids
  throw new ControlError('nothing-to-decide', `There is no source to ${kind.verb}; skillsyncd status shows them all`)
}

async function decisionsOf(config: Config): Promise<Decisions> {
  return (await Store.openExisting(config.state))?.decisions.read() ?? new Map<SourceId, Decision>()
}

/** What became of the decision about one source. */
interface Decided {
  readonly source: SourceId
  /** Why there was nothing to decide. */
  readonly error?: ControlError
}

/** One after the other; where there is nothing to decide about one, the others are decided all the same. */
async function decideEach(
  ids: readonly SourceId[],
  { verb }: Deciding,
  commit: string | undefined,
  ask: AskWriter,
): Promise<Decided[]> {
  const decided: Decided[] = []
  for (const source of ids) {
    try {
      await ask('decide', { source, verb, ...(commit !== undefined && { commit }) })
      decided.push({ source })
    } catch (error) {
      const isNothing = error instanceof ControlError && error.code === 'nothing-to-decide'
      // Of one source it is the whole answer.
      if (!isNothing || ids.length === 1) throw error
      decided.push({ source, error })
    }
  }
  return decided
}

function print(context: Context, kind: Deciding, decided: readonly Decided[], ends: readonly SyncEnd[]): void {
  const endOf = (id: SourceId): SyncEnd | undefined => ends.find(({ source }) => source === id)
  if (context.json) {
    const rows = decided.map(({ source, error }) => ({
      source,
      decision: kind.verb,
      ...(error !== undefined && { error: { code: error.code, message: error.message } }),
      ...(endOf(source) !== undefined && { pull: endOf(source) }),
    }))
    printJson(context, { sources: rows })
    return
  }
  const lines = decided.flatMap(({ source, error }) => {
    if (error !== undefined) return [`${source}: ${printable(error.message)}`]
    const end = endOf(source)
    return [`${source}: ${kind.done}`, ...(end === undefined ? [] : linesOfPull(end))]
  })
  printLines(context, lines)
}
