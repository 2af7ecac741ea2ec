import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { CandidateSkill, GateCandidate } from '../../../src/features/scan/candidate.ts'
import { CANDIDATE, Desk } from './desk.ts'

const CLEAN = '{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},"results":[]}]}'

test.each([
  ['semgrep', 'pip install semgrep'],
  ['cisco-skill-scanner', 'pip install cisco-ai-skill-scanner'],
  ['snyk-agent-scan', 'uv tool install snyk-agent-scan'],
])('%s that is not installed is an error that says how to get it', async (scanner, install) => {
  await using desk = await Desk.open({ PATH: '/nowhere' })

  const verdict = await desk.askBy([`scanner: ${scanner}`], candidateOf(desk))

  expect(verdict).toEqual({
    kind: 'refuse',
    reason: expect.stringMatching(new RegExp(`is not installed, or not in the PATH of the daemon: ${install}`)),
  })
})

test.each([
  [
    'semgrep',
    'semgrep',
    [
      'scan --sarif --quiet --metrics=off --disable-version-check --disable-nosem --no-git-ignore',
      '--x-ignore-semgrepignore-files --max-target-bytes=0 --config /rules --strict FOLDER',
    ],
  ],
  ['cisco-skill-scanner', 'skill-scanner', ['scan FOLDER --format sarif --lenient --strict']],
  ['snyk-agent-scan', 'snyk-agent-scan', ['scan --json --no-bootstrap --strict FOLDER']],
])('%s is called with its options, those of the operator and the folder', async (scanner, program, words) => {
  await using desk = await Desk.open({ PATH: '/usr/bin:/bin' })
  const file = desk.at(program)
  const output = scanner === 'snyk-agent-scan' ? '{"a":{"path":"a","issues":[],"error":null}}' : CLEAN
  await mkdir(desk.at('rules'))
  const script = `[ "$1" = --version ] && exit 0\necho "$@" >> ${desk.at('asked')}\necho '${output}'`
  await writeFile(file, `#!/bin/sh\n${script}\n`)
  await chmod(file, 0o755)
  const lines = [`scanner: ${scanner}`, `command: ${file}`, `rules: [${desk.at('rules')}]`, 'args: [--strict]']

  const verdict = await desk.askBy(lines, candidateOf(desk))

  expect(verdict).toEqual({ kind: 'publish' })
  const asked = (await readFile(desk.at('asked'), 'utf8')).trim()
  expect(asked.replace(desk.at('new'), 'FOLDER').replace(desk.at('rules'), '/rules')).toBe(words.join(' '))
})

test.each([
  ['no issue', { issues: [] }, { kind: 'publish' }],
  [
    'a warning',
    { issues: [{ code: 'W008', message: 'a secret' }] },
    { kind: 'hold', reason: 'the scan has results, 1 of level warning: new: a secret (snyk-agent-scan, W008)' },
  ],
  [
    'an injection',
    { issues: [{ code: 'E004', message: 'an injection' }] },
    { kind: 'refuse', reason: 'the scan has results, 1 of level error: new: an injection (snyk-agent-scan, E004)' },
  ],
  ['an issue of another kind', { issues: [{}] }, { kind: 'refuse', reason: expect.stringContaining('without a code') }],
  ['a failure', { issues: [], error: { message: 'x', is_failure: true } }, FAILED()],
  ['a failure of a skill', { issues: [], servers: [{ error: { is_failure: true } }] }, FAILED()],
  ['a note about a skill', { issues: [], servers: [{ error: { is_failure: false } }] }, { kind: 'publish' }],
  ['no issues', {}, { kind: 'refuse', reason: expect.stringContaining('without a list of issues') }],
])('the output of snyk-agent-scan with %s', async (_, path, verdict) => {
  await using desk = await Desk.open({ PATH: '/usr/bin:/bin' })
  const output = JSON.stringify({ [desk.at('new')]: path })
  await writeFile(desk.at('scan'), `#!/bin/sh\ncat <<'END'\n${output}\nEND\n`)
  await chmod(desk.at('scan'), 0o755)

  const lines = ['scanner: snyk-agent-scan', `command: ${desk.at('scan')}`]

  expect(await desk.askBy(lines, candidateOf(desk))).toEqual(verdict)
})

test('a file that a scanner names from the root of the disk is that in the skill', async () => {
  await using desk = await Desk.open()
  const uri = `${desk.at('new').slice(1)}/run.sh`
  const result = { ruleId: 'r', locations: [{ physicalLocation: { artifactLocation: { uri } } }] }
  const log = { version: '2.1.0', runs: [{ tool: { driver: { name: 'x' } }, results: [result] }] }

  const verdict = await desk.ask(`echo '${JSON.stringify(log)}'`, {
    lines: ['sarif: {}'],
    candidate: candidateOf(desk),
  })

  expect(verdict).toMatchObject({ reason: expect.stringContaining(': new/run.sh: ') })
})

test.each([
  ['scanner: command', 'gate: needs exactly one of `command`, `url`, or a `scanner` that is known by name'],
  ['scanner: semgrep; url: https://x.example', 'gate: needs exactly one of `command`, `url`, or a `scanner` that'],
  ['command: x; rules: [/a]', 'gate.rules: goes with `scanner` or `sarif` alone'],
  ['command: x; rescan: {}', 'gate.rescan: goes with `scanner` or `sarif` alone'],
  ['url: https://x.example; rescan: {}', 'gate.rescan: goes with `command` alone'],
  ['scanner: semgrep; rescan: { every: 1s }', 'gate.rescan.every: must be 1m at least'],
  [
    'url: https://x.example; auth: { ssh: { key: { env: K } } }',
    'gate.auth: contains a key that is not known; known are `token`, `basic`, `header`',
  ],
])('{ %s } is refused', async (entry, fault) => {
  await using desk = await Desk.open()

  await expect(desk.askBy(entry.split('; '))).rejects.toThrow(
    new RegExp(fault.slice(fault.indexOf(': ') + 2, 60).replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')),
  )
})

function FAILED(): object {
  return { kind: 'refuse', reason: expect.stringContaining('the scan failed') }
}

function candidateOf(desk: Desk): GateCandidate {
  const rest = { name: 'new', digest: 'a'.repeat(64), standing: 'served', change: 'added', files: [] } as const
  const skill: CandidateSkill = { ...rest, path: 'new', folder: desk.at('new'), findings: [] }
  const docs = { digest: 'b'.repeat(64), change: 'added', folder: desk.at('docs'), files: [], findings: [] } as const
  return { ...CANDIDATE, skills: [skill], docs: { ...docs, folder: null } }
}
