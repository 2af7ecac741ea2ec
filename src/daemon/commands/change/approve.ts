import { commitWords } from '../../../serve/page/format.ts'
import { isObjectId, type ObjectId, type Revision } from '../../../sync/model/revision.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { revisionText } from '../../../sync/pull/move-policy.ts'
import { printJson, printLines } from '../../cli/command.ts'
import type { Command, Context, ExitStatus } from '../../cli/command.ts'
import { configInUse } from '../../cli/config-in-use.ts'
import { expectShown, isYes, nothingApproved } from '../../cli/confirm.ts'
import { withWriter } from '../../cli/daemon-client.ts'
import type { AskWriter } from '../../cli/daemon-client.ts'
import { readCandidate, withStoreAndWriter } from '../../cli/store-reader.ts'
import { sourcesNamed } from '../../config/named-sources.ts'
import type { ServedConfig } from '../../pull/trust/serving-policy.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { SkillTexts } from '../../status/changes/skill-texts.ts'
import { approveSkills } from './approve-skills.ts'
import { commitNamed } from './commit-operand.ts'
import type { WaitingRevision } from './decide-requests.ts'
import { waitingRequest } from './decide-requests.ts'
import { applyDecision } from './decide.ts'
import { diffContentsOf, sideOf } from './diff-side.ts'
import { compareSides, differencesOf, printDifferences } from './diff.ts'

export const approve: Command = {
  name: 'approve',
  operands: {
    text: 'SOURCE [ID] | SKILL… [ID] | SOURCE/ [ID]',
    most: Number.POSITIVE_INFINITY,
    offers: ['sources', 'skills'],
  },
  details: `
  Without ID it shows what waits and its difference from what is served, and approves nothing; on a terminal it asks.
  ID is the full id that was shown: of the commit, or of the tag object if the ref is an annotated tag. The first
  digits are not enough: a commit with the same first digits is easy to make. If something else waits by then, nothing
  is approved.

  SKILL is SOURCE/PATH or the URI of a skill of an MCP source; SOURCE/ means all of its skills that wait. Their ID
  covers exactly the files and the frontmatter that were shown: any change waits again.
`,
  examples: ['skillsyncd approve team', 'skillsyncd approve team 4f2c81d5a0d1c6f2b7e98a3c4d5e6f708192a3b4'],
  async run(context) {
    const isOfSkills = context.operands.some((operand) => operand.includes('/'))
    return isOfSkills ? approveSkills(context) : approveRevision(context)
  },
}

export const reject: Command = {
  name: 'reject',
  operands: { text: 'SOURCE [COMMIT]', most: 2, offers: ['sources', []] },
  details: `
  The next revision is considered again. COMMIT, in full or its first digits, makes sure that it is the revision that
  was shown.
`,
  examples: ['skillsyncd reject team', 'skillsyncd reject team 4f2c81d'],
  async run(context) {
    const config = await configInUse(context)
    const source = sourceIn(context, config)
    const commit = commitNamed(context.operands[1])
    return withWriter(context, config, async (ask) => {
      const waiting = await ask(waitingRequest, { source, verb: 'reject' })
      const isMeant = commit === undefined || waiting.commit.startsWith(commit) || waiting.tag?.startsWith(commit)
      // The writer reports the waiting revision if another one was named.
      const named = isMeant === true ? identityIn(waiting) : { commit }
      const done = (): string => `rejected ${revisionText(waiting)}`
      return applyDecision(context, { verb: 'reject', ids: [source], named, done, moves: true }, ask)
    })
  },
}

function identityIn({ commit, tag }: Pick<WaitingRevision, 'commit' | 'tag'>): {
  readonly commit: ObjectId
  readonly tag?: ObjectId
} {
  return tag === undefined ? { commit } : { commit, tag }
}

async function approveRevision(context: Context): Promise<ExitStatus> {
  const config = await configInUse(context)
  const source = sourceIn(context, config)
  const id = idIn(context.operands)
  if (id !== undefined)
    return withWriter(context, config, async (ask) =>
      approveExactly(context, source, await namedRevision(ask, source, id), ask),
    )
  const { waiting, notShown } = await showWaiting(context, config, source)
  expectShown(notShown, 'skillsyncd preview SKILL FILE --waiting', lineFor(source, waiting))
  // This process does not hold the lock while a person reads.
  if (!(await isYes(context, `Approve ${revisionText(waiting)}?`)))
    return nothingApproved(context, lineFor(source, waiting))
  return withWriter(context, config, async (ask) => approveExactly(context, source, waiting, ask))
}

/** Binds the writer to exactly this revision: it refuses if another one waits by then. */
async function approveExactly(
  context: Context,
  source: SourceId,
  waiting: Pick<WaitingRevision, 'commit' | 'tag'>,
  ask: AskWriter,
): Promise<ExitStatus> {
  const done = (): string => `approved ${revisionText(waiting)}`
  const making = { verb: 'approve', ids: [source], named: identityIn(waiting), done, moves: true } as const
  return applyDecision(context, making, ask)
}

/**
 * The id of a tag object identifies its commit too. A commit id alone does not identify the tag object that was shown
 * with it.
 */
async function namedRevision(
  ask: AskWriter,
  source: SourceId,
  id: ObjectId,
): Promise<Pick<WaitingRevision, 'commit' | 'tag'>> {
  const waiting = await ask(waitingRequest, { source, verb: 'approve' })
  return waiting.tag === id ? waiting : { commit: id }
}

function sourceIn({ operands }: Context, config: ServedConfig): SourceId {
  const [source, , more] = operands
  if (source === undefined) throw new UsageError('the id of a source is wanted; skillsyncd status shows them')
  if (more !== undefined) throw new UsageError(`one source is decided on at a time, and "${more}" is one operand more`)
  const [id] = sourcesNamed([source], config)
  if (id === undefined) throw new TypeError('One source that was named came to none')
  return id
}

function idIn([source, text]: readonly string[]): ObjectId | undefined {
  if (text === undefined) return undefined
  const id = text.toLowerCase()
  if (isObjectId(id)) return id
  throw new UsageError(
    `"${text}" is not a full id, of 40 or 64 hex digits; skillsyncd approve ${source} shows what waits`,
  )
}

/** The command line that approves exactly what was shown. */
function lineFor(source: SourceId, { commit, tag }: WaitingRevision): string {
  return `skillsyncd approve ${source} ${tag ?? commit}`
}

/** Prints the waiting revision of a source, and its differences from the served one. */
async function showWaiting(context: Context, config: ServedConfig, source: SourceId): Promise<ShownRevision> {
  const served = await sideOf('served', [source], context, config)
  return withStoreAndWriter(context, config, async (looking) => {
    const waiting = await looking.ask(waitingRequest, { source, verb: 'approve' })
    const snapshot = await readCandidate(looking, source, waiting.commit)
    // The candidate was fetched by its commit id alone.
    const revision = { asked: snapshot.revision.asked, ...placeIn(waiting) }
    const after = new Map([[source, { ...diffContentsOf(snapshot), revision }]])
    const ends = compareSides(served, after, new Set([source]))
    const texts = new SkillTexts(looking.store)
    if (context.json) {
      const [difference] = await differencesOf(ends, texts, true)
      printJson(context, { ...jsonOf(source, waiting, snapshot, difference), notShown: texts.notShown })
    } else {
      printLines(context, headOf(source, waiting, snapshot))
      await printDifferences(context, ends, texts)
    }
    return { waiting, notShown: texts.notShown }
  })
}

/** A revision that waits, and the places of what was not printed of it. */
interface ShownRevision {
  readonly waiting: WaitingRevision
  readonly notShown: readonly string[]
}

function placeIn({ ref, ...rest }: WaitingRevision): Omit<Revision, 'asked'> {
  return { ref, ...identityIn(rest) }
}

/** The author and subject of the commit, if it was made by an author. */
function wordsIn(waiting: WaitingRevision, { revision, proof }: Snapshot): ReturnType<typeof commitWords> {
  return commitWords({ revision: { ...revision, ref: waiting.ref }, proof })
}

function headOf(source: SourceId, waiting: WaitingRevision, snapshot: Snapshot): string[] {
  const words = wordsIn(waiting, snapshot)
  const by = words && `  by ${words.author}${words.at === undefined ? '' : ` on ${words.at}`}: ${words.subject}`
  return [
    `${source}: ${waiting.code}: ${printableLine(waiting.message)}`,
    `  ${printableLine(waiting.ref)} at ${revisionText(waiting)}`,
    ...(by === undefined ? [] : [printableLine(by)]),
  ]
}

function jsonOf(
  source: SourceId,
  waiting: WaitingRevision,
  snapshot: Snapshot,
  difference: object | undefined,
): object {
  const { code, message } = waiting
  const words = wordsIn(waiting, snapshot)
  return {
    source,
    waiting: { ...placeIn(waiting), code, message, ...words },
    difference,
    approve: lineFor(source, waiting),
  }
}
