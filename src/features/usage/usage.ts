import { systemClock } from '../../base/async/clock.ts'
import { countOf } from '../../base/text/plural.ts'
import { readDatabaseUrl } from '../../daemon/access/open-shared.ts'
import { printCsv, printRows } from '../../daemon/cli/columns.ts'
import { printJson } from '../../daemon/cli/command.ts'
import type { Context, ExitStatus } from '../../daemon/cli/command.ts'
import { configInUse } from '../../daemon/cli/config-in-use.ts'
import { durationOf } from '../../daemon/config/schema/scalars.ts'
import { agreeWithDaemon } from '../../daemon/control/running-daemon.ts'
import { printableLine } from '../../daemon/runtime/log/log-line.ts'
import { OperatorError } from '../../daemon/runtime/operator-error.ts'
import { UsageError } from '../../daemon/runtime/usage-error.ts'
import { readRows } from '../../daemon/status/skill-rows.ts'
import type { SkillRow } from '../../daemon/status/skill-rows.ts'
import { SyncError } from '../../sync/model/sync-error.ts'
import { withHiddenEscaped } from '../../sync/skill/hidden-unicode.ts'
import { LocalUsage } from './local-usage.ts'
import type { UsageReader } from './local-usage.ts'
import { SharedUsage } from './shared-usage.ts'
import type { CountedConfig } from './usage-config.ts'
import { dayOf, usagePathIn } from './usage-database.ts'
import { isDimension, spanUpTo } from './usage-report.ts'
import type { CountedDays, DaySpan, Dimension } from './usage-report.ts'

/** Prints how often skills were listed, loaded and read, or with `--unused` those that were not. */
export async function printUsage(context: Context<CountedConfig>): Promise<ExitStatus> {
  const config = await configInUse(context)
  const { by, since, unused, csv } = context.values
  if (context.operands.length > 0) throw new UsageError('--usage and --unused have all skills: leave out WORDS')
  if (csv === true && context.json) throw new UsageError('--csv and --json exclude each other')
  const span = spanOf(unused ?? since ?? '30d', dayOf(systemClock.now()))
  const dimensions = dimensionsOf(by)
  await agreeWithDaemon(config, context.signal)
  await (unused === undefined ? showRows(context, config, span, dimensions) : showUnused(context, config, span))
  return 0
}

async function showRows(
  context: Context,
  config: CountedConfig,
  span: DaySpan,
  by: readonly Dimension[],
): Promise<void> {
  const { found: rows, ...counted } = await readCounts(context, config, span, async (counts) => counts.rows(span, by))
  if (context.json) return printJson(context, { ...span, ...factsOf(config, counted), rows })
  const cells = rows.map((row) => [
    ...by.map((one) => row[one] ?? NULLS[one]),
    ...COUNTS.map((one) => String(row[one])),
  ])
  print(context, [...by, ...COUNTS], cells)
  explain(context, config, counted, span, [
    ...(rows.length === 0 ? ['no use was counted in this time'] : []),
    ...(by.includes('principal') && config.usage?.principals === false
      ? ['principals are not counted: the configuration has no usage: { principals: true }']
      : []),
  ])
}

const COUNTS = ['lists', 'loads', 'reads', 'failures'] as const

async function showUnused(context: Context, config: CountedConfig, span: DaySpan): Promise<void> {
  const { found: last, ...counted } = await readCounts(context, config, span, async (counts) =>
    counts.lastUses(span.to),
  )
  const unused = (await readRows(config))
    .filter(isServed)
    .map((row) => unusedOf(row, last))
    .filter((row) => row.last === null || row.last < span.from)
  if (context.json) return printJson(context, { ...span, ...factsOf(config, counted), unused })
  const cells = unused.map(({ skill, last: day }) => [skill, day ?? 'never'])
  print(context, ['skill', 'last use'], cells)
  explain(context, config, counted, span, unused.length === 0 ? ['every served skill was used in this time'] : [])
}

function unusedOf({ source, path, uri }: SkillRow, lastUse: ReadonlyMap<string, string>): UnusedSkill {
  const skill = `${source}/${withHiddenEscaped(path)}`
  return { skill, uri: uri ?? null, last: lastUse.get(skill) ?? null }
}

interface UnusedSkill {
  readonly skill: string
  /** `null` for a tools-only skill. */
  readonly uri: string | null
  /** The last day with a load or a read; `null` if none is known. */
  readonly last: string | null
}

function isServed({ verdict: { state } }: SkillRow): boolean {
  return state === 'served' || state === 'partly'
}

/** The days that were counted, and if these are the counts of one process of several. */
interface CountedBy extends CountedDays {
  /** The reason why the counts of the others are missing; `undefined` if none are. */
  readonly alone?: string
}

/** Reads the counts of all processes. If the database of a hub of several cannot be read, those of this one. */
async function readCounts<Found>(
  { environment, redactor }: Context,
  config: CountedConfig,
  span: DaySpan,
  find: (counts: UsageReader) => Promise<Found>,
): Promise<CountedBy & { readonly found: Found }> {
  const ofOne = new LocalUsage(usagePathIn(config.state))
  const read = async (counts: UsageReader): Promise<CountedDays & { readonly found: Found }> => ({
    found: await find(counts),
    ...(await counts.countedDays(span)),
  })
  if (config.postgres === undefined) return read(ofOne)
  try {
    const url = await readDatabaseUrl(config.postgres.url, environment, redactor)
    const { PostgresDatabase } = await import('../../sync/postgres/postgres-database.ts')
    await using database = PostgresDatabase.at({ url, times: TIMES, connections: 1 })
    return await read(new SharedUsage({ database, open: async () => {} }))
  } catch (error) {
    if (!(error instanceof SyncError || error instanceof OperatorError)) throw error
    return { ...(await read(ofOne)), alone: error.message }
  }
}

const TIMES = { connectMs: 5_000, statementMs: 30_000 }

/** The facts without which the counts mislead. */
function factsOf(config: CountedConfig, { since, missing, alone }: CountedBy): object {
  return {
    counting: config.usage !== undefined,
    countingSince: since,
    daysWithoutCounting: missing,
    ofOneProcess: alone !== undefined,
  }
}

function explain(
  { streams, quiet }: Context,
  config: CountedConfig,
  { since, missing, alone }: CountedBy,
  span: DaySpan,
  first: readonly string[],
): void {
  if (quiet) return
  const notes = [
    ...first,
    ...(config.usage === undefined ? ['counting is off: usage.enabled is false'] : []),
    ...(since === null ? ['no day was counted yet: a daemon, or skillsyncd mcp, counts from its start'] : []),
    ...(since !== null && since > span.from ? [`counting began on ${since}, later than ${span.from}`] : []),
    ...(missing > 0 ? [`no process counted on ${countOf(missing, 'day')} of this time`] : []),
    ...(alone === undefined ? [] : [`these are the counts of one process of the hub: ${printableLine(alone)}`]),
  ]
  streams.stderr.write(notes.map((note) => `${note}\n`).join(''))
}

/** Writes columns, or comma-separated values. */
function print(context: Context, heads: readonly string[], rows: readonly (readonly string[])[]): void {
  if (context.values['csv'] !== true)
    return printRows(
      context,
      heads.map((head) => head.toUpperCase()),
      rows,
      // Counts without heads say nothing.
      true,
    )
  printCsv(context, [heads, ...rows])
}

/** The words for `null`. */
const NULLS: Readonly<Record<Dimension, string>> = {
  skill: '(lists)',
  pack: '(everything)',
  client: '',
  principal: '(none)',
  day: '',
}

function dimensionsOf(given: unknown): readonly Dimension[] {
  const named = typeof given === 'string' ? given.split(',') : ['skill']
  const known = named.filter(isDimension)
  if (known.length < named.length || new Set(known).size < known.length)
    throw new UsageError(
      `Cannot add up by ${quote(given)}: the dimensions are skill, pack, client, principal and day, each at most once`,
    )
  return known
}

function spanOf(given: unknown, today: string): DaySpan {
  const text = String(given)
  const ms = durationOf(text)
  if (ms !== undefined && ms <= MOST_MS) return spanUpTo(today, ms)
  if (!isDay(text))
    throw new UsageError(`${quote(text)} is neither a duration such as 30d nor a day such as 2026-01-31`)
  if (text > today) throw new UsageError(`${quote(text)} is in the future: give a day up to today, ${today} in UTC`)
  return { from: text, to: today }
}

/** `Date.parse` takes February 31 for a day of March. */
function isDay(text: string): boolean {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isFinite(ms) && dayOf(new Date(ms)) === text
}

const MOST_MS = 3_650 * 86_400_000

function quote(given: unknown): string {
  return JSON.stringify(String(given))
}
