import { budgetDeltas, deltaText } from '../../../sync/catalog/budget/budget-delta.ts'
import type { BudgetDelta } from '../../../sync/catalog/budget/budget-delta.ts'
import type { RecordedRevision } from '../../../sync/model/changes/generation-record.ts'
import { pluginChanges } from '../../../sync/model/changes/plugin-changes.ts'
import type { PluginChange } from '../../../sync/model/changes/plugin-changes.ts'
import { docsBetween, skillChanges } from '../../../sync/model/changes/skill-changes.ts'
import type { SkillChange } from '../../../sync/model/changes/skill-changes.ts'
import type { DocsChange, DocsReview, SkillReview } from '../../../sync/model/changes/skill-review.ts'
import { comparePaths, digestText } from '../../../sync/model/digest.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import { readLock } from '../../../sync/store/lock-file.ts'
import { Store } from '../../../sync/store/store.ts'
import { paintFor } from '../../cli/colors.ts'
import type { Paint } from '../../cli/colors.ts'
import { configFor, printJson, printLines } from '../../cli/command.ts'
import type { Command, Context, ExitStatus } from '../../cli/command.ts'
import type { SourceFailure } from '../../cli/store-reader.ts'
import { idsOf } from '../../config/config.ts'
import type { Config } from '../../config/config.ts'
import { agreeWithDaemon } from '../../control/running-daemon.ts'
import { lockRead, lockStateOf } from '../../pull/trust/lock-rules.ts'
import type { LockStanding } from '../../pull/trust/lock-rules.ts'
import { printableLine } from '../../runtime/log/log-line.ts'
import { UsageError } from '../../runtime/usage-error.ts'
import { docsLines, pluginLine, reviewLines } from '../../status/changes/change-lines.ts'
import { SkillTexts } from '../../status/changes/skill-texts.ts'
import { isFollowed, lockStandingText } from '../../status/lock-text.ts'
import { sideOf } from './diff-side.ts'
import type { DiffContents, Side, SideSource } from './diff-side.ts'

export const diffCommand: Command = {
  name: 'diff',
  operands: { text: '[A] [B]', most: 2, offers: [['lock', 'served', 'upstream']] },
  details: `
  The exit status is 3 if they differ. A state is lock, served, upstream, the number of a generation, or the path of a
  lock file (./3 for a file named 3). The default for A is the lock, or served if there is no lock. The default for B
  is upstream, which is fetched and not served.
`,
  examples: ['skillsyncd diff', 'skillsyncd diff served upstream --only team', 'skillsyncd diff 41 42'],
  options: {
    only: {
      type: 'string',
      value: 'ID',
      multiple: true,
      help: 'compare only this source; may be repeated',
      offers: 'sources',
    },
    text: { type: 'boolean', help: 'with --json: include the changed lines of each file' },
  },
  async run(context) {
    const config = await configFor(context)
    const [a = await defaultSide(config), b = 'upstream'] = context.operands
    const only = onlyOf(context)
    const ids = idsOf(config).filter((id) => only?.has(id) ?? true)
    const before = await sideOf(a, ids, context, config)
    const after = await sideOf(b, ids, context, config)
    const ends = compareSides(before, after, only)
    if (only !== undefined) expectKnown(only, before, after, config)
    const texts = new SkillTexts(await Store.openExisting(config.state))
    const standings = await standingsOf(config, context)
    if (context.json) {
      const differences = await differencesOf(ends, texts, context.values['text'] === true)
      printJson(context, {
        a,
        b,
        sources: ends.map((end, at) => withStanding(differences[at], standings.get(end.source))),
      })
    } else {
      await printDifferences(context, ends, texts)
      if (a === 'lock' || b === 'lock') printLines(context, unfollowedLines(ends, standings))
    }
    return statusOf(ends)
  },
}

async function defaultSide({ lock }: Config): Promise<string> {
  return lock !== undefined && (await readLock(lock)) !== undefined ? 'lock' : 'served'
}

function onlyOf({ values }: Context): ReadonlySet<string> | undefined {
  const { only } = values
  return Array.isArray(only) ? new Set(only.map(String)) : undefined
}

/** A source can be in a lock although it is no longer configured. */
function expectKnown(only: ReadonlySet<string>, before: Side, after: Side, config: Config): void {
  const known = new Set<string>([...before.keys(), ...after.keys(), ...idsOf(config)])
  for (const id of only) if (!known.has(id)) throw new UsageError(`--only: no source is called "${id}" on either side`)
}

/** The differences of one source, or the reason why they are unknown. */
type End =
  | { readonly source: SourceId; readonly failure: SourceFailure }
  | {
      readonly source: SourceId
      readonly from: RecordedRevision | undefined
      readonly to: RecordedRevision | undefined
      readonly changes: readonly SkillChange[]
      /** True if the contents of a side are no longer in the store: only names and digests are compared. */
      readonly areContentsGone?: true
      /** The change of the docs, if any. */
      readonly docs?: DocsChange
      /** The changes of what the plugins of its marketplace have, if any. */
      readonly plugins?: readonly PluginChange[]
      /** The change of the listing of the source in agents. Absent if one side's descriptions are not known. */
      readonly budget?: readonly BudgetDelta[]
    }

/** The differences between two sides, source by source. */
export function compareSides(before: Side, after: Side, only: ReadonlySet<string> | undefined): End[] {
  const ids = [...new Set([...before.keys(), ...after.keys()])].filter((id) => only?.has(id) ?? true)
  return ids.toSorted(comparePaths).map((source) => endOf(source, before.get(source), after.get(source)))
}

function endOf(source: SourceId, before: SideSource | undefined, after: SideSource | undefined): End {
  for (const side of [before, after])
    if (side !== undefined && 'failure' in side) return { source, failure: side.failure }
  const [from, to] = [contentsIn(before), contentsIn(after)]
  const docs = docsBetween(from?.docs, to?.docs)
  // A lock has no plugins: nothing is known of what they had.
  const isOfLock = from?.isLock === true || to?.isLock === true
  const areContentsGone = from?.isRecord === true || to?.isRecord === true
  const budget = budgetBetween(from, to)
  const plugins = isOfLock || areContentsGone ? [] : pluginChanges(from?.plugins, to?.plugins)
  return {
    source,
    from: from?.revision,
    to: to?.revision,
    changes: changesOf(from, to),
    ...(areContentsGone && { areContentsGone }),
    ...(docs !== undefined && { docs }),
    ...(plugins.length > 0 && { plugins }),
    ...(budget !== undefined && { budget }),
  }
}

/** A side without the source lists nothing of it. */
function budgetBetween(
  from: Pick<DiffContents, 'listed'> = NOTHING_LISTED,
  to: Pick<DiffContents, 'listed'> = NOTHING_LISTED,
): readonly BudgetDelta[] | undefined {
  return from.listed === undefined || to.listed === undefined ? undefined : budgetDeltas(from.listed, to.listed)
}

const NOTHING_LISTED = { listed: [] }

function contentsIn(side: SideSource | undefined): DiffContents | undefined {
  return side === undefined || 'failure' in side ? undefined : side
}

/** A lock does not tell whether a skill that it lacks was withheld already. */
function changesOf(from: DiffContents | undefined, to: DiffContents | undefined): readonly SkillChange[] {
  const changes = skillChanges(from?.skills ?? new Map(), to?.skills ?? new Map())
  return changes.filter(({ change, from: was }) => change !== 'withheld' || was !== undefined || from?.isLock !== true)
}

function isEqual(end: End): boolean {
  if ('failure' in end) return false
  return (
    end.changes.length === 0 &&
    end.docs === undefined &&
    end.plugins === undefined &&
    end.from?.commit === end.to?.commit &&
    end.from?.tag === end.to?.tag
  )
}

function statusOf(ends: readonly End[]): ExitStatus {
  if (ends.some((end) => 'failure' in end)) return 1
  return ends.every(isEqual) ? 0 : 3
}

/** The state of the lock for each configured source. */
async function standingsOf(config: Config, { signal }: Context): Promise<Standings> {
  const lock = await lockRead(config)
  const mode = (await agreeWithDaemon(config, signal)) ?? config.mode
  const decisions = await (await Store.openExisting(config.state))?.decisions.read()
  return new Map(
    config.sources.map(({ source }) => [
      source.id,
      lockStateOf(lock, { ...config, mode }, source, decisions?.get(source.id)),
    ]),
  )
}

type Standings = ReadonlyMap<SourceId, LockStanding>

/** A difference from a lock that is not followed has no effect. */
function unfollowedLines(ends: readonly End[], standings: Standings): string[] {
  const differing = ends.filter((end) => !isEqual(end))
  return differing.flatMap(({ source }) => {
    const standing = standings.get(source)
    const text = standing === undefined || isFollowed(standing) ? undefined : lockStandingText(standing)
    return text === undefined ? [] : [`${source}: lock: ${text}`]
  })
}

function withStanding(difference: object | undefined, lock: LockStanding | undefined): object {
  return { ...difference, ...(lock !== undefined && { lock }) }
}

/** Differences as plain data. */
export async function differencesOf(ends: readonly End[], texts: SkillTexts, withText: boolean): Promise<object[]> {
  const sources: object[] = []
  for (const end of ends) {
    if ('failure' in end) sources.push({ source: end.source, problem: end.failure })
    else {
      const docs = end.docs && (await texts.reviewDocs(end.docs, {}, withText))
      sources.push({
        ...end,
        from: end.from && placeJson(end.from),
        to: end.to && placeJson(end.to),
        changes: await withDetails(end.changes, texts, withText),
        ...(docs && { docs: changeJson(docs) }),
      })
    }
  }
  return sources
}

async function withDetails(
  changes: readonly SkillChange[],
  texts: SkillTexts,
  withText: boolean,
): Promise<readonly object[]> {
  const told: object[] = []
  for (const change of changes) told.push(changeJson(await texts.review(change, {}, withText)))
  return told
}

/** A change as data: each digest is a text that people and programs know from other places. */
export function changeJson({ from, to, files, ...rest }: SkillReview | DocsReview): object {
  const side = (version: typeof from): unknown =>
    typeof version === 'object' ? { ...version, digest: digestText(version.digest) } : version && digestText(version)
  return {
    ...rest,
    from: side(from),
    to: side(to),
    files: files.map(({ sha256, ...file }) => ({ ...file, digest: digestText(sha256) })),
  }
}

function placeJson({ ref, commit, tag }: RecordedRevision): object {
  return { ref, commit, tag }
}

/** Prints differences one skill at a time, so that memory holds no more than that of a large change. */
export async function printDifferences(context: Context, ends: readonly End[], texts: SkillTexts): Promise<void> {
  const paint = paintFor(context)
  if (ends.every(isEqual)) printLines(context, ['no difference'])
  for (const end of ends) {
    if (isEqual(end)) continue
    printLines(context, [headOf(end)])
    if ('failure' in end) continue
    if (end.areContentsGone) printLines(context, [`  ${CONTENTS_GONE}`])
    const print = (lines: readonly string[]): void =>
      printLines(
        context,
        lines.map((line) => `  ${paintChange(line, paint)}`),
      )
    for (const change of end.changes) print(reviewLines(await texts.review(change, {}, true)))
    if (end.docs !== undefined) print(docsLines(await texts.reviewDocs(end.docs, {}, true)))
    print((end.plugins ?? []).map(pluginLine))
    if (end.budget !== undefined && end.budget.length > 0)
      printLines(context, [`  context budget: ${deltaText(end.budget)}`])
  }
}

const CONTENTS_GONE = 'names and digests alone: the contents of an earlier generation are no longer in the store'

/** Colors a line of a comparison by its mark. */
function paintChange(line: string, paint: Paint): string {
  const mark = line.trimStart()
  if (mark.startsWith('+')) return paint('green', line)
  return mark.startsWith('-') ? paint('red', line) : line
}

function headOf(end: End): string {
  if ('failure' in end) return `${end.source}: not known (${end.failure.code}): ${printableLine(end.failure.message)}`
  return `${end.source}: ${placeOf(end.from)} to ${placeOf(end.to)}`
}

function placeOf(revision: RecordedRevision | undefined): string {
  if (revision === undefined) return 'nothing'
  const { ref, commit, tag } = revision
  return `${printableLine(ref)} at ${commit}${tag === undefined ? '' : ` (tag object ${tag})`}`
}
