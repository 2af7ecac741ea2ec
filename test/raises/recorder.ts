import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeEach, expect, inject } from 'vitest'
import type { RunnerTestFile } from 'vitest'
import { OperatorError } from '../../src/daemon/runtime/operator-error.ts'
import { SyncError } from '../../src/sync/model/sync-error.ts'
import { lineOf, watchRaises } from './call-sites.ts'
import type { Raise } from './raises.ts'
import { TRIGGERS } from './triggers.ts'

// Each file of tests is a process of its own, in which this runs first.

const ROOT = new URL('../../', import.meta.url)
const DIST = new URL('dist/', ROOT).href

const scratch = mkdtempSync(join(tmpdir(), 'raises-'))
const report = join(scratch, 'of-threads')
writeFileSync(report, '')
process.env['RAISES_OF_THREADS'] = report

const byFile = Map.groupBy(inject('raises'), ({ file }) => file)
const sites = new Set<string>()
let tests: RunnerTestFile | undefined

watchRaises([SyncError, OperatorError], (site) => sites.add(lineOf(site)))

beforeEach(({ task }) => {
  tests = task.file
})

afterAll(() => {
  for (const line of readFileSync(report, 'utf8').split('\n')) sites.add(line)
  rmSync(scratch, { recursive: true })
  // A run of some of the tests, or one that failed, shows nothing about the others.
  if (tests === undefined || !tests.tasks.every(isPassed)) return
  const triggered = TRIGGERS[relative(fileURLToPath(ROOT), tests.filepath)] ?? []

  const raised = new Set([...sites].map((line) => raiseAt(line)?.id))
  expect(
    triggered.filter((id) => !raised.has(id)),
    'raises that the table says are triggered here',
  ).toEqual([])
})

function isPassed(task: RunnerTestFile['tasks'][number]): boolean {
  return task.type === 'suite' ? task.tasks.every(isPassed) : task.result?.state === 'pass'
}

function raiseAt(siteLine: string): Raise | undefined {
  const [line = 0, column = 0] = siteLine.split(' ', 2).map(Number)
  const script = siteLine.trim().replace(/^\d+ \d+ /, '')
  if (!script.startsWith(DIST)) return undefined
  return byFile.get(script.slice(DIST.length).replace(/\.js$/, ''))?.find(({ from, to }) => {
    const isAfter = line > from.line || (line === from.line && column >= from.column)
    return isAfter && (line < to.line || (line === to.line && column <= to.column))
  })
}
