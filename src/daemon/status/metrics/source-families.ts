import type { Outcome } from '../../../sync/model/outcome.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { SourceRecord } from '../../../sync/store/source-records.ts'
import type { Age } from '../../pull/schedule/staleness.ts'
import type { Pulls } from '../../runtime/pull-counts.ts'
import type { Family, Sample } from './family.ts'

/** The figures of one source. */
export interface SourceFigures {
  readonly age: Age
  readonly record: SourceRecord
  readonly pulls: Pulls
  /** Bytes of files that were fetched since the process started. */
  readonly fetchedBytes: number
  readonly isLookedAt: boolean
  /** The age of the newest entry of the log that the source follows; `undefined` if it follows none. */
  readonly entryAgeMs: number | undefined
}

/** The metrics of sources. A source without any success has the time 0 and an infinite age: alerts must not miss it. */
export function sourceFamilies(sources: readonly SourceFigures[]): Family[] {
  const each = (valueOf: (figures: SourceFigures) => number): Sample[] =>
    sources.map((figures) => ({ labels: { source: idOf(figures) }, value: valueOf(figures) }))
  return [
    {
      name: 'skillsyncd_source_last_attempt_timestamp_seconds',
      kind: 'gauge',
      help: 'The end of the last poll, with any result; 0 if there was none.',
      samples: each(({ record }) => secondsOf(record.lastAttempt)),
    },
    {
      name: 'skillsyncd_source_last_success_timestamp_seconds',
      kind: 'gauge',
      help: 'The end of the last successful poll; 0 if there was none.',
      samples: each(({ record }) => secondsOf(record.lastSuccess)),
    },
    {
      name: 'skillsyncd_source_age_seconds',
      kind: 'gauge',
      help: 'The seconds since the last successful poll; infinite if there was none.',
      samples: each(({ age }) => age.ageMs / 1_000),
    },
    {
      name: 'skillsyncd_source_max_age_seconds',
      kind: 'gauge',
      help: 'The highest accepted age: max_age, or the default that follows from the schedule.',
      samples: each(({ age }) => age.limitMs / 1_000),
    },
    {
      name: 'skillsyncd_source_stale',
      kind: 'gauge',
      help: '1 if the age is above the highest accepted one, else 0; 0 too if it is deliberately not polled (hold --no-poll, --offline).',
      samples: each(({ age }) => Number(age.isTooOld)),
    },
    {
      name: 'skillsyncd_source_problem',
      kind: 'gauge',
      help: '1 for the code of the present problem; absent without one.',
      samples: sources.flatMap((figures) => problemOf(figures)),
    },
    {
      name: 'skillsyncd_source_pulls_total',
      kind: 'counter',
      help: 'Finished polls, by outcome and by the code of the problem, if there is one.',
      samples: sources.flatMap((figures) => endsOf(figures)),
    },
    {
      name: 'skillsyncd_source_pull_duration_seconds',
      kind: 'summary',
      help: 'The duration of polls.',
      samples: sources.flatMap((figures) => durationsOf(figures)),
    },
    {
      name: 'skillsyncd_source_fetched_bytes_total',
      kind: 'counter',
      help: 'Bytes of fetched files, without the overhead of the transport.',
      samples: each(({ fetchedBytes }) => fetchedBytes),
    },
    {
      name: 'skillsyncd_source_pulling',
      kind: 'gauge',
      help: '1 during a poll, else 0.',
      samples: each(({ isLookedAt }) => Number(isLookedAt)),
    },
    {
      name: 'skillsyncd_source_entry_age_seconds',
      kind: 'gauge',
      help: 'The age of the newest log entry that was seen of a followed channel; absent for other sources.',
      samples: sources.flatMap((figures) => entryAgeOf(figures)),
    },
  ]
}

function idOf({ age }: SourceFigures): SourceId {
  return age.configured.source.id
}

function secondsOf(time: string | undefined): number {
  return time === undefined ? 0 : Date.parse(time) / 1_000
}

function problemOf(figures: SourceFigures): Sample[] {
  const { problem } = figures.record
  return problem === undefined ? [] : [{ labels: { source: idOf(figures), code: problem.code }, value: 1 }]
}

function entryAgeOf(figures: SourceFigures): Sample[] {
  const { entryAgeMs } = figures
  return entryAgeMs === undefined ? [] : [{ labels: { source: idOf(figures) }, value: entryAgeMs / 1_000 }]
}

/** Outcomes that start with a zero: a rate needs a first sample before the first event. */
const USUAL: readonly Outcome['kind'][] = ['unchanged', 'updated']

function endsOf(figures: SourceFigures): Sample[] {
  const source = idOf(figures)
  const { ends } = figures.pulls
  const none = USUAL.filter((outcome) => !ends.some((one) => one.outcome === outcome && one.code === undefined))
  return [
    ...none.map((outcome) => ({ labels: { source, outcome }, value: 0 })),
    ...ends.map(({ outcome, code, count }) => ({ labels: { source, outcome, code }, value: count })),
  ]
}

function durationsOf(figures: SourceFigures): Sample[] {
  const labels = { source: idOf(figures) }
  const { tookMs, count } = figures.pulls
  return [
    { suffix: '_sum', labels, value: tookMs / 1_000 },
    { suffix: '_count', labels, value: count },
  ]
}
