import { expect, test } from 'vitest'
import { useIn } from '../../../src/features/usage/answered-use.ts'
import type { CountedUse } from '../../../src/features/usage/answered-use.ts'
import { legacyHttp, modernHttp } from '../../support/clients/peer.ts'
import { loseObject } from '../../support/damage.ts'
import { Repository } from '../../support/git/repository.ts'
import { serve } from '../../support/served.ts'

const MISTAKES: readonly (readonly [method: string, params: object])[] = [
  ['resources/read', { uri: 'skill://fx/pdf/none.md' }],
  ['resources/read', { uri: 'skill://fx/none/SKILL.md' }],
  ['resources/read', {}],
  ['tools/call', { name: 'get_skill', arguments: { id: 'none' } }],
  ['tools/call', { name: 'get_skill', arguments: {} }],
  ['tools/call', { name: 'read_skill_file', arguments: { id: 'pdf', path: 'none.md' } }],
  ['tools/call', { name: 'read_skill_file', arguments: { id: 'pdf', path: 'help.md', offset: 99_999 } }],
  ['tools/call', { name: 'read_skill_file', arguments: { id: 'pdf', path: 'help.md', offset: -1 } }],
  ['tools/call', { name: 'none', arguments: { id: 'pdf' } }],
  ['prompts/get', { name: 'none' }],
  ['skills/list', { cursor: 'none' }],
]
const READS: readonly (readonly [method: string, params: object])[] = [
  ['resources/read', { uri: 'skill://fx/pdf/SKILL.md' }],
  ['tools/call', { name: 'get_skill', arguments: { id: 'pdf' } }],
  ['prompts/get', { name: 'pdf' }],
  ['tools/call', { name: 'read_skill_file', arguments: { id: 'pdf', path: 'SKILL.md' } }],
]

test('an answer fails by its content alone: the mistakes of clients are no uses, and damage is one of the skill', async () => {
  await using repository = await Repository.create()
  await repository.commit({ 'pdf/SKILL.md': '---\nname: pdf\ndescription: reads\n---\nbody\n', 'pdf/help.md': 'help' })
  const uses: CountedUse[] = []
  await using served = await serve(repository, {
    config: ['serve: { forms: [default, -paths, skill-prompts] }'],
    use: (answered) => uses.push(...[useIn(answered)].filter((use) => use !== undefined)),
  })
  await using modern = await modernHttp(served.url)
  await using legacy = await legacyHttp(served.url)
  const [skill] = served.daemon.registry.catalog.snapshots.flatMap(({ skills }) => skills)
  const sha256 = skill?.files.find(({ path }) => path === 'SKILL.md')?.sha256 ?? ''

  for (const peer of [modern, legacy]) for (const [method, params] of MISTAKES) await peer.call(method, params)
  expect(uses).toEqual([])
  await served.git[Symbol.asyncDispose]()
  loseObject(served.config.state, sha256)
  for (const peer of [modern, legacy]) for (const [method, params] of READS) await peer.call(method, params)

  const failure = { kind: 'failure', skill: 'fx/pdf', content: skill?.digest }
  expect(uses).toEqual(Array.from({ length: 2 * READS.length }, () => failure))
})
