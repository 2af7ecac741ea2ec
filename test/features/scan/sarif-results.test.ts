import { expect, test } from 'vitest'
import { NotScannedError, sarifResultsIn } from '../../../src/features/scan/sarif-results.ts'

const RULES = [{ id: 'r1', defaultConfiguration: { level: 'note' } }, { id: 'r2' }]

function logOf(run: object, log: object = {}): string {
  const tool = { driver: { name: 'scanner', rules: RULES } }
  return JSON.stringify({ version: '2.1.0', runs: [{ tool, results: [], ...run }], ...log })
}

test.each([
  ['of an unknown kind', { kind: 'evil' }, ['error']],
  ['of a kind that is none', { kind: 5 }, ['error']],
  ['of a kind in other letters', { kind: 'Pass' }, ['error']],
  ['of the kind null', { kind: null }, ['error']],
  ['of an unknown level', { level: 'ERROR' }, ['error']],
  ['that has passed', { kind: 'pass' }, []],
  ['that is informational', { kind: 'informational' }, []],
  ['that does not apply', { kind: 'notApplicable' }, []],
])('a result %s', (_, edit, levels) => {
  const results = sarifResultsIn(logOf({ results: [{ ruleId: 'r1', message: { text: 'x' }, ...edit }] }))

  expect(results.map(({ level }) => level)).toEqual(levels)
})

test.each([
  ['its rule by its id', { descriptor: { id: 'r1' }, configuration: { level: 'error' } }, 'error'],
  ['its rule by its index', { descriptor: { index: 0 }, configuration: { level: 'error' } }, 'error'],
  ['no rule', { configuration: { level: 'error' } }, 'error'],
  ['its rule to an unknown level', { descriptor: { id: 'r1' }, configuration: { level: 'worst' } }, 'error'],
  ['its rule to less', { descriptor: { id: 'r1' }, configuration: { level: 'none' } }, 'note'],
  ['another rule', { descriptor: { id: 'r2' }, configuration: { level: 'error' } }, 'note'],
  ['another rule by its index', { descriptor: { index: 1 }, configuration: { level: 'error' } }, 'note'],
])('a result without a level, where the scan has changed %s', (_, override, level) => {
  const invocations = [{ executionSuccessful: true, ruleConfigurationOverrides: [override] }]
  const results = [{ ruleId: 'r1', message: { text: 'x' } }]

  expect(sarifResultsIn(logOf({ results, invocations })).map((one) => one.level)).toEqual([level])
})

test.each<readonly [what: string, run: object, log: object]>([
  ['results in another file', { externalPropertyFileReferences: { results: [{ location: { uri: 'x' } }] } }, {}],
  ['invocations in another file', { externalPropertyFileReferences: { invocations: [{}] } }, {}],
  ['rules in another file', { externalPropertyFileReferences: { driver: { location: { uri: 'x' } } } }, {}],
  ['results beside its runs', {}, { inlineExternalProperties: [{ results: [{}] }] }],
  ['an exit code of a failure', { invocations: [{ executionSuccessful: true, exitCode: 2 }] }, {}],
  ['an exit code without a result', { invocations: [{ executionSuccessful: true, exitCode: 1 }] }, {}],
  ['an exit code that is none', { invocations: [{ executionSuccessful: true, exitCode: '0' }] }, {}],
  ['the signal that ended it', { invocations: [{ executionSuccessful: true, exitSignalName: 'SIGKILL' }] }, {}],
  ['why it did not start', { invocations: [{ executionSuccessful: true, processStartFailureMessage: 'no' }] }, {}],
])('a log that has %s is no answer', (_, run, log) => {
  expect(() => sarifResultsIn(logOf(run, log))).toThrow(NotScannedError)
})

test('the usual exit code of a scanner that has found something is no failure', () => {
  const invocations = [{ executionSuccessful: true, exitCode: 1 }]

  expect(sarifResultsIn(logOf({ results: [{ ruleId: 'r1', message: { text: 'x' } }], invocations }))).toHaveLength(1)
})
