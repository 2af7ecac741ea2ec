import { expect, test } from 'vitest'
import type { Verdict } from '../../src/sync/model/verdict/verdict.ts'
import { Store } from '../../src/sync/store/store.ts'
import { cpuSecondsOf, memoryOf } from '../support/effort.ts'
import { Home } from '../support/process/program.ts'
import { Scene } from './scene.ts'

test('hostile and odd YAML comes to one result on every run, within bounds, and its siblings are served', async () => {
  await using scene = await Scene.set()
  await scene.play()
  const before = await cpuSecondsOf(scene.daemon.pid)

  const odd = Object.entries(ODD).map(([name, [, lines]]) => [`${name}/SKILL.md`, document(lines)])
  const commit = await scene.repository.commit(Object.fromEntries(odd))
  await scene.updated('team', commit)
  await scene.witness.looksAgain()
  const seen = await resultsOf(scene.home)
  await using another = await Home.create()
  await another.configure({ team: [`url: ${scene.git.origin}/team.git`] })
  await another.run('sync')

  const expected = Object.entries(ODD).map(([name, [result]]) => [name, result])
  expect(seen).toEqual({ ...Object.fromEntries(expected), moving: 'served', still: 'served' })
  // Their names are those of their content.
  expect(await snapshotsOf(scene.home)).toEqual(expect.arrayContaining([...(await snapshotsOf(another))]))
  // Some two seconds, and some 200 MB, as without any of it.
  expect((await cpuSecondsOf(scene.daemon.pid)) - before).toBeLessThan(20)
  expect((await memoryOf(scene.daemon.pid)).most).toBeLessThan(300_000_000)
  await scene.recovers()
  await scene.expectWell()
})

const ofLines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => line(index)).join('\n')

/** What becomes of a skill, and the lines of its frontmatter but for the description. */
const ODD: Readonly<Record<string, readonly [result: string, lines: string]>> = {
  'alias-bomb': ['partly frontmatter-invalid', `name: alias-bomb\na0: &a0 [x, x, x, x, x, x, x, x, x]\n${bomb(9)}`],
  'alias-loop': ['partly frontmatter-invalid', 'name: alias-loop\nloop: &loop { again: *loop }'],
  anchors: ['withheld frontmatter-too-large', `name: anchors\n${ofLines(3000, (index) => `k${index}: &n${index} x`)}`],
  'deep-flow': ['withheld frontmatter-too-large', `name: deep-flow\ndeep: ${'['.repeat(30_000)}`],
  'deep-flow-closed': [
    'partly frontmatter-invalid',
    `name: deep-flow-closed\ndeep: ${'['.repeat(7000)}${']'.repeat(7000)}`,
  ],
  'deep-block': [
    'partly frontmatter-invalid',
    `name: deep-block\n${ofLines(300, (depth) => `${' '.repeat(depth)}k:`)}`,
  ],
  commas: ['withheld frontmatter-too-large', `name: commas\nmany: [${','.repeat(60_000)}]`],
  questions: ['withheld frontmatter-too-large', `name: questions\n${'? '.repeat(30_000)}`],
  'many-keys': ['withheld frontmatter-too-large', `name: many-keys\n${ofLines(5000, (index) => `k${index}: x`)}`],
  'duplicate-keys': ['partly frontmatter-invalid', 'name: duplicate-keys\nlicense: one\nlicense: two'],
  'duplicate-names': ['partly frontmatter-invalid', 'name: duplicate-names\nname: other'],
  tags: [
    'partly frontmatter-invalid',
    'name: tags\nmetadata: { code: !!js/function "function () { return 1 }", own: !own x }',
  ],
  'tag-of-binary': ['partly frontmatter-invalid', 'name: tag-of-binary\nmetadata: { bytes: !!binary aGVsbG8= }'],
  prototypes: [
    'partly metadata-not-text field-refused',
    'name: prototypes\nmetadata: { __proto__: { polluted: yes }, constructor: x, toString: y }',
  ],
  'prototype-at-top': ['partly field-refused', 'name: prototype-at-top\n__proto__: { polluted: yes }'],
  merge: ['partly frontmatter-invalid', 'name: merge\nbase: &base { license: MIT }\n<<: *base'],
  'merge-literal': ['partly metadata-not-text', 'name: merge-literal\nmetadata: { "<<": { a: b } }'],
  dates: [
    'partly metadata-not-text',
    'name: dates\nmetadata: { day: 2024-01-01, time: 2024-01-01T00:00:00Z, octal: 0o17, old: 017, sexagesimal: 1:30, yes: yes, nothing: ~ }',
  ],
  'large-number': ['partly frontmatter-invalid', 'name: large-number\nmetadata: { large: 12345678901234567890 }'],
  'huge-number': ['partly frontmatter-invalid', 'name: huge-number\nmetadata: { huge: 1e400 }'],
  'no-number': ['partly frontmatter-invalid', 'name: no-number\nmetadata: { none: .nan }'],
  'number-as-name': ['partly name-invalid', 'name: 42'],
  'list-as-name': ['partly name-invalid', 'name: [list-as-name]'],
  'date-as-name': ['served name-unlike-folder', 'name: 2024-01-01'],
  'key-of-list': ['partly frontmatter-invalid', 'name: key-of-list\n? [a, b]\n: c'],
  'old-yaml': ['partly frontmatter-invalid', '%YAML 1.1\nname: old-yaml'],
}

/** Each level holds the one before nine times. */
function bomb(levels: number): string {
  const line = (level: number) =>
    `a${level}: &a${level} [${Array.from({ length: 9 }, () => `*a${level - 1}`).join(', ')}]`
  return Array.from({ length: levels }, (_, index) => line(index + 1)).join('\n')
}

function document(lines: string): string {
  return `---\n${lines}\ndescription: odd\n---\nThe body.\n`
}

/** What became of each skill: where it is offered, and the rules that it breaks. */
async function resultsOf(home: Home): Promise<Readonly<Record<string, string>>> {
  const { skills } = JSON.parse((await home.command('list', '--json')).stdout)
  const results = skills.map(({ path, verdict }: { readonly path: string; readonly verdict: Verdict }) => {
    return [path, [verdict.state, ...verdict.reasons.map(({ code }) => code)].join(' ')]
  })
  return Object.fromEntries(results)
}

async function snapshotsOf(home: Home): Promise<readonly string[]> {
  using store = (await Store.openExisting(home.state))!
  return await store.snapshots.digests()
}
