import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CandidateSkill, GateCandidate } from '../../../src/features/scan/candidate.ts'
import type { KnownScans } from '../../../src/features/scan/scanner.ts'
import { isSourceId } from '../../../src/sync/model/source-id.ts'
import type { StateFolder } from '../../../src/sync/store/files/state-folder.ts'
import { openState } from '../../../src/sync/store/files/state-folder.ts'
import { SARIF_LEVELS, ScanRecords } from '../../../src/sync/store/scan-records.ts'
import type { SarifLevel } from '../../../src/sync/store/scan-records.ts'
import { lawRuns } from '../../support/law-runs.ts'
import { CANDIDATE, Desk } from './desk.ts'

/** A scanner that counts its runs. Its version and its results are those of two files. */
const SCANNER = (desk: Desk): string => `
[ "$1" = --version ] && exec cat ${desk.at('version')}
echo "$1" >> ${desk.at('runs')}
cat ${desk.at('results')}`

const DIGEST = 'a'.repeat(64)
const VERSION = 'version_args: [--version]'

test('content that the same scanner has scanned is not scanned again, also by another process', async () => {
  await using scene = await sceneOf('error')

  const first = await scene.ask()
  scene.restart()
  const second = await scene.ask()

  expect(first).toMatchObject({ kind: 'refuse', reason: expect.stringContaining('new/run.sh:3: bad (semgrep, r1)') })
  expect(second).toEqual(first)
  expect(await scene.runs()).toBe(1)
})

test.each<readonly [string, (scene: Scene) => Promise<unknown>]>([
  ['of the scanner', async ({ desk }) => writeFile(desk.at('version'), '2.0')],
  ['of a file of its rules', async ({ desk }) => writeFile(desk.at('rules/a.yml'), 'other')],
  ['of the set of its rules', async ({ desk }) => writeFile(desk.at('rules/b.yml'), '')],
  ['of its arguments', async (scene) => scene.with('args: [--strict]')],
  ['of its environment', async (scene) => scene.with('env: { MODE: { value: strict } }')],
  ['of the content', async (scene) => scene.of('b'.repeat(64))],
])('another version %s has the content scanned again', async (_, change) => {
  await using scene = await sceneOf('note')

  await scene.ask()
  await change(scene)
  await scene.ask()

  expect(await scene.runs()).toBe(2)
})

test('a scanner of which no version is known scans each time', async () => {
  await using scene = await sceneOf('note')

  await scene.ask([])
  await scene.ask([])

  expect(await scene.runs()).toBe(2)
})

test.each([
  ['rules that are not there', ['rules: [/nowhere]'], /its rules cannot be read: "\/nowhere": ENOENT/],
  ['a version that it does not print', ['version_args: [--nothing]'], /asked for its version \(--nothing\)/],
])('a scanner with %s gives no answer', async (_, lines, reason) => {
  await using scene = await sceneOf('note')
  await writeFile(scene.desk.at('results'), 'x')
  const failing = '[ "$1" = --nothing ] && exit 1'

  const verdict = await scene.ask(lines, failing)

  expect(verdict).toEqual({ kind: 'refuse', reason: expect.stringMatching(reason) })
})

test('other levels judge the same scan anew', async () => {
  await using scene = await sceneOf('warning')

  const held = await scene.ask([VERSION, 'sarif: {}'])
  const refused = await scene.ask([VERSION, 'sarif: { refuse: warning }'])
  const published = await scene.ask([VERSION, 'sarif: { refuse: never, hold: never }'])

  expect([held, refused, published].map(({ kind }) => kind)).toEqual(['hold', 'refuse', 'publish'])
  expect(await scene.runs()).toBe(1)
})

test('what was scanned before the scanner failed is not scanned again', async () => {
  await using scene = await sceneOf('note')
  const two = scene.candidateOf([DIGEST, 'b'.repeat(64)])
  const failing = `[ "$1" = ${scene.desk.at('new-1')} ] && exit 9`

  const first = await scene.ask(undefined, failing, two)
  const second = await scene.ask(undefined, '', two)

  expect([first.kind, second.kind]).toEqual(['refuse', 'publish'])
  expect(await scene.runs()).toBe(2)
})

test('a verdict from stored scans is the verdict of new ones, whatever the results and the levels are', async () => {
  await using scene = await sceneOf('note')
  const level = fc.constantFrom<SarifLevel[]>(...SARIF_LEVELS)
  const threshold = fc.constantFrom('error', 'warning', 'note', 'never')
  const results = fc.array(fc.record({ level, text: fc.string({ minLength: 1, maxLength: 400 }) }), { maxLength: 14 })

  await fc.assert(
    fc.asyncProperty(results, threshold, threshold, async (found, refuse, hold) => {
      await scene.writes(found.map(({ level: one, text }) => resultOf(one, text)))
      const lines = [VERSION, `sarif: { refuse: ${refuse}, hold: ${hold} }`]
      await scene.forget()

      const fresh = await scene.ask(lines)
      const runs = await scene.runs()
      scene.restart()
      const stored = await scene.ask(lines)

      expect(stored).toEqual(fresh)
      expect(await scene.runs()).toBe(runs)
    }),
    { numRuns: lawRuns(400, 0.05) },
  )
})

type Scene = Awaited<ReturnType<typeof sceneOf>>

async function sceneOf(level: SarifLevel) {
  const desk = await Desk.open()
  const state: StateFolder = await openState(desk.at('state'))
  const lines = [VERSION, `rules: [${desk.at('rules')}]`, 'sarif: {}']
  let digest = DIGEST
  await mkdir(desk.at('rules'))
  await writeFile(desk.at('rules/a.yml'), 'one')
  await writeFile(desk.at('version'), '1.0')
  await writeFile(desk.at('runs'), '')
  const restart = (): void => void (desk.scans = knownIn(new ScanRecords(state)))
  restart()
  const candidateOf = (digests: readonly string[]): GateCandidate => ({
    ...CANDIDATE,
    skills: digests.map((one, index) => skillOf(desk, digests.length === 1 ? 'new' : `new-${index}`, one)),
  })
  const scene = {
    desk,
    candidateOf,
    restart,
    with: async (line: string) => lines.push(line),
    of: async (other: string) => void (digest = other),
    writes: async (results: readonly object[]) => writeFile(desk.at('results'), sarifOf(results)),
    forget: async () => new ScanRecords(state).change(SOURCE, () => ({ scans: new Map() })),
    runs: async () => (await readFile(desk.at('runs'), 'utf8')).split('\n').length - 1,
    async ask(asked: readonly string[] = lines, before = '', candidate = candidateOf([digest])) {
      const script = desk.at('gate')
      await writeFile(script, `#!/bin/sh\n${before}\n${SCANNER(desk)}\n`)
      await chmod(script, 0o755)
      const scanner = asked.some((line) => line.startsWith('sarif')) ? [] : ['sarif: {}']
      return desk.askBy([`command: ${script}`, ...asked, ...scanner], candidate)
    },
    [Symbol.asyncDispose]: async () => desk[Symbol.asyncDispose](),
  }
  await scene.writes([resultOf(level, 'bad')])
  return scene
}

const SOURCE = sourceId('team')

function sourceId(text: string) {
  if (!isSourceId(text)) throw new TypeError(text)
  return text
}

/** The scans of one source; those of content that is not new stay. */
function knownIn(records: ScanRecords): KnownScans {
  return {
    read: async () => records.read(SOURCE),
    add: async (added, judged) => {
      await records.change(SOURCE, (before) => ({
        ...before,
        scans: new Map([...before.scans, ...added]),
        ...(judged && { judged }),
      }))
    },
  }
}

function skillOf(desk: Desk, path: string, digest: string): CandidateSkill {
  const rest = { name: path, digest, standing: 'served', change: 'added', files: [], findings: [] } as const
  return { ...rest, path, folder: desk.at(path) }
}

function sarifOf(results: readonly object[]): string {
  return JSON.stringify({ version: '2.1.0', runs: [{ tool: { driver: { name: 'semgrep' } }, results }] })
}

function resultOf(level: SarifLevel, text: string): object {
  const physicalLocation = { artifactLocation: { uri: 'run.sh' }, region: { startLine: 3 } }
  return { ruleId: 'r1', level, message: { text }, locations: [{ physicalLocation }] }
}
