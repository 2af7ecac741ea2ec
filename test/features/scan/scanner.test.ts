import { readFile } from 'node:fs/promises'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CandidateSkill, GateCandidate } from '../../../src/features/scan/candidate.ts'
import { NotScannedError, sarifResultsIn } from '../../../src/features/scan/sarif-results.ts'
import type { ScanResult } from '../../../src/features/scan/sarif-results.ts'
import { lawRuns } from '../../support/law-runs.ts'
import { CANDIDATE, Desk } from './desk.ts'

test.each([
  ['nothing', [], { kind: 'publish' }],
  ['a note', [resultOf('note')], { kind: 'publish' }],
  [
    'a warning',
    [resultOf('warning')],
    { kind: 'hold', reason: 'the scan has results, 1 of level warning: new/run.sh:3: bad (semgrep, r1)' },
  ],
  [
    'an error after a note',
    [resultOf('note'), resultOf('error', { ruleId: 'r2' })],
    {
      kind: 'refuse',
      reason:
        'the scan has results, 1 of level error, 1 of level note: new/run.sh:3: bad (semgrep, r2); new/run.sh:3: bad (semgrep, r1)',
    },
  ],
])('a scan with %s', async (_, results, verdict) => {
  await using desk = await Desk.open()

  expect(await scanOf(desk, sarifOf({ results }))).toEqual(verdict)
})

test.each([
  ['{ refuse: never }', 'error', 'hold'],
  ['{ refuse: warning }', 'warning', 'refuse'],
  ['{ refuse: never, hold: never }', 'error', 'publish'],
  ['{ hold: note }', 'note', 'hold'],
])('with the levels %s, a result of level %s has the verdict %s', async (levels, level, kind) => {
  await using desk = await Desk.open()

  expect(await scanOf(desk, sarifOf({ results: [resultOf(level)] }), levels)).toMatchObject({ kind })
})

test.each([
  ['without a level that of its rule', { level: undefined, ruleIndex: 0 }, 'refuse'],
  ['without any level a warning', { level: undefined }, 'hold'],
  [
    'with an index of none the level of the rule with its id',
    { level: undefined, ruleId: 'r1', ruleIndex: -1 },
    'refuse',
  ],
  [
    'of an extension the level of its rule',
    { level: undefined, rule: { index: 1, toolComponent: { index: 0 } }, ruleIndex: 0 },
    'publish',
  ],
  ['of a part of a rule the level of the rule', { level: undefined, ruleId: 'r1/part' }, 'refuse'],
  ['with a level that no standard has an error', { level: 'WARNING' }, 'refuse'],
  ['that passed is none', { kind: 'pass' }, 'publish'],
  ['that a person has to judge is a warning', { kind: 'review', level: 'none' }, 'hold'],
  ['that is gone is none', { baselineState: 'absent' }, 'publish'],
  ['that the operator suppressed is none', { suppressions: [{ kind: 'external' }] }, 'publish'],
  [
    'that a reviewer has rejected to suppress counts',
    { suppressions: [{ kind: 'external', status: 'rejected' }] },
    'hold',
  ],
  [
    'with a suppression that a reviewer has rejected beside one that counts',
    { suppressions: [{ kind: 'external' }, { kind: 'external', status: 'rejected' }] },
    'hold',
  ],
  ['that the scanned file suppresses counts', { suppressions: [{ kind: 'inSource' }] }, 'hold'],
])('a result %s', async (_, changes, kind) => {
  await using desk = await Desk.open()
  const rules = [{ id: 'r1', defaultConfiguration: { level: 'error' } }]
  const log = sarifOf({ results: [resultOf('warning', { ruleId: 'r9', ...changes })], rules })

  expect(await scanOf(desk, log)).toMatchObject({ kind })
})

test.each([
  ['no JSON', 'echo oops >&2; echo no', /not a SARIF 2.1.0 log with a run; it says: oops/],
  ['nothing', 'exit 1', /not a SARIF 2.1.0 log/],
  ['another version', 'echo \'{"version":"2.0.0","runs":[{}]}\'', /not a SARIF 2.1.0 log/],
  ['no results', 'echo \'{"version":"2.1.0","runs":[{}]}\'', /no results, not even an empty list/],
  ['no result', 'echo \'{"version":"2.1.0","runs":[{"results":[1]}]}\'', /results that are none/],
  [
    'an error of a rule',
    'echo \'{"version":"2.1.0","runs":[{"invocations":[{"executionSuccessful":true,"toolExecutionNotifications":[{"level":"error"}]}],"results":[]}]}\'',
    /the scan failed/,
  ],
  [
    'a failure',
    'echo \'{"version":"2.1.0","runs":[{"invocations":[{"executionSuccessful":false}],"results":[]}]}\'',
    /the scan failed/,
  ],
])('a scanner that writes %s gives no answer', async (_, script, reason) => {
  await using desk = await Desk.open()

  expect(await desk.ask(script, { lines: ['sarif: {}'], candidate: commitOf(desk) })).toEqual({
    kind: 'refuse',
    reason: expect.stringMatching(reason),
  })
})

test.each([
  ['is refused', 'error', { kind: 'refuse', reason: expect.stringContaining('added/run.sh:3: bad') }],
  ['has no answer', 'warning', { kind: 'publish', unanswered: expect.stringContaining('not a SARIF') }],
])('a commit with a skill that is found bad, and one that breaks the scanner, %s at %s', async (_, level, verdict) => {
  await using desk = await Desk.open()
  const { skills } = commitOf(desk, ['added', 'changed'])
  const script = `[ "$1" = ${desk.at('added')} ] && echo '${sarifOf({ results: [resultOf(level)] })}'`
  const lines = ['sarif: {}', 'on_failure: publish']

  expect(await desk.ask(script, { lines, candidate: { ...CANDIDATE, skills } })).toEqual(verdict)
})

test('each new or changed skill is scanned in its folder, and no other', async () => {
  await using desk = await Desk.open()
  const candidate = commitOf(desk, ['added', 'changed', 'unchanged', 'removed'])
  const log = `echo "$@" >> ${desk.at('seen')}; echo '${sarifOf({ results: [] })}'`

  const alone = await desk.ask(log, { lines: ['args: [--sarif]', 'sarif: {}'], candidate })
  const placed = await desk.ask(log, { lines: ["args: ['--in={folder}', -q]", 'sarif: {}'], candidate })

  expect([alone, placed]).toEqual([{ kind: 'publish' }, { kind: 'publish' }])
  const [added, changed] = [desk.at('added'), desk.at('changed')]
  const seen = (await readFile(desk.at('seen'), 'utf8')).trim().split('\n')
  expect(seen).toEqual([`--sarif ${added}`, `--sarif ${changed}`, `--in=${added} -q`, `--in=${changed} -q`])
})

test('places are those in the skill, however the scanner names them', async () => {
  await using desk = await Desk.open()
  const folder = desk.at('new')
  const names = ['a.py', `${folder}/b.py`, `file://${folder}/c%20d.py`, '/etc/e', 'file://host/f', undefined]
  const results = names.map((uri) => resultOf('error', { locations: uri === undefined ? [] : locationsOf(uri) }))

  const { reason } = Object(await scanOf(desk, sarifOf({ results })))

  const places = [...String(reason).matchAll(/(?:level error: |; )(.*?): bad/g)].map(([, place]) => place)
  expect(places).toEqual(['new/a.py:3', 'new/b.py:3', 'new/c d.py:3', '/etc/e:3', 'file://host/f:3', 'new'])
})

test('any output is results, or no scan', () => {
  const json = fc.json({ maxDepth: 6 })
  const like = fc.record({
    version: fc.constant('2.1.0'),
    runs: fc.array(
      fc.record(
        { tool: fc.anything(), invocations: fc.anything(), artifacts: fc.anything(), results: fc.array(fc.anything()) },
        { requiredKeys: ['results'] },
      ),
    ),
  })
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        json,
        like.map((value) => JSON.stringify(value)),
      ),
      (text) => {
        const [results, error] = outcomeOf(text)
        expect(error === undefined || error instanceof NotScannedError).toBe(true)
        for (const { rule, message } of results) expect([typeof rule, typeof message]).toEqual(['string', 'string'])
      },
    ),
    { numRuns: lawRuns(20_000, 0.05) },
  )
})

function outcomeOf(text: string): readonly [results: readonly ScanResult[], error?: unknown] {
  try {
    return [sarifResultsIn(text)]
  } catch (error) {
    return [[], error]
  }
}

/** The verdict about one new skill, of which a scanner writes this. */
async function scanOf(desk: Desk, log: string, levels = '{}') {
  const script = `cat <<'END'\n${log}\nEND\nexit 1`
  return desk.ask(script, { lines: [`sarif: ${levels}`], candidate: commitOf(desk) })
}

function commitOf(desk: Desk, changes: readonly CandidateSkill['change'][] = ['added']): GateCandidate {
  const skills = changes.map((change): CandidateSkill => {
    const path = changes.length === 1 ? 'new' : change
    return {
      path,
      name: path,
      digest: null,
      standing: 'served',
      change,
      folder: desk.at(path),
      files: [],
      findings: [],
    }
  })
  return { ...CANDIDATE, skills }
}

function sarifOf({ results, rules = [] }: { readonly results: readonly object[]; readonly rules?: readonly object[] }) {
  const note = { id: 'x', defaultConfiguration: { level: 'note' } }
  const tool = { driver: { name: 'semgrep', rules }, extensions: [{ rules: ['odd', note] }] }
  return JSON.stringify({ version: '2.1.0', runs: [{ tool, results }] })
}

function resultOf(level: string, changes: object = {}): object {
  return { ruleId: 'r1', level, message: { text: 'bad' }, locations: locationsOf('run.sh'), ...changes }
}

function locationsOf(uri: string): readonly object[] {
  return [{ physicalLocation: { artifactLocation: { uri }, region: { startLine: 3 } } }]
}
