import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { SkillsClient, SkillVerificationError } from '@modelcontextprotocol/client/ext/skills'
import { expect, test } from 'vitest'
import { diagnosticsOf, sound } from '../features/author/lint/linted.ts'
import { Repository } from '../support/git/repository.ts'
import { serve } from '../support/served.ts'

const ODD: Readonly<Record<string, readonly string[]>> = {
  'in-lines': ['x: "one', '  two"'],
  indented: ['x: |2', '    one'],
  flow: ['x: [1,', '  2]'],
  anchored: ['x: &y one'],
  'two-parts': ['x: 1', '--- ', 'y: 2'],
}
const PLAIN: Readonly<Record<string, readonly string[]>> = {
  folded: ['x: >', '  one', '  two'],
  numbers: ['x: 0x1F', 'y: 1.0', 'z: 1e3'],
  nested: ['x:', '  - - one', '  - k: {v: [1, "two"]}'],
}
const ALL = Object.entries({ ...ODD, ...PLAIN })

test('the official client refuses the file of exactly those skills of which validate says so', async () => {
  const files = Object.fromEntries(ALL.map(([name, lines]) => [`${name}/SKILL.md`, sound(name, lines)]))
  await using repository = await Repository.create()
  await repository.commit(files)
  await using served = await serve(repository)
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new StreamableHTTPClientTransport(new URL(served.url)))
  const skills = new SkillsClient(client)

  const diagnostics = (await diagnosticsOf(files)).filter(({ code }) => code === 'yaml-subset')
  const { skills: listed } = await skills.list()
  const refused: string[] = []
  for (const skill of listed) {
    const read = await skills.read(skill).catch((error: unknown) => error)
    if (read instanceof SkillVerificationError) refused.push(new URL(skill.uri).pathname.split('/').at(-2) ?? '')
  }
  await client.close()

  const said = diagnostics.map(({ path }) => path.split('/')[0] ?? '')
  expect(listed.length).toBeGreaterThan(Object.keys(PLAIN).length)
  expect(refused.toSorted()).toEqual(
    said.filter((name) => listed.some(({ uri }) => uri.includes(`/${name}/`))).toSorted(),
  )
  expect(said).toEqual(expect.arrayContaining(['in-lines', 'indented', 'flow']))
  expect(said).toEqual(expect.not.arrayContaining(Object.keys(PLAIN)))
})
