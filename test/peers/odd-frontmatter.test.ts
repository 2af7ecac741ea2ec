import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLIENT_NAMES } from '../e2e/clients.ts'
import { modernHttp } from '../support/clients/peer.ts'
import type { Peer, Reply } from '../support/clients/peer.ts'
import { ODD_FRONTMATTERS, oddDocument } from '../support/content/odd-frontmatters.ts'
import { Repository } from '../support/git/repository.ts'
import { openProject } from '../support/process/installer.ts'
import { serve } from '../support/served.ts'
import type { Served } from '../support/served.ts'
import { problemsIn } from '../support/verdicts.ts'
import { LISTENERS, listedBy } from './listings.ts'
import { digestOf, inspect, readWithClient, readWithExtSkills } from './skill-peers.ts'

const ODD = Object.entries(ODD_FRONTMATTERS)
const REFUSED = ODD.flatMap(([name, { rule }]) => (rule === undefined ? [] : [[name, rule] as const]))
const DOCUMENTS = new Map([
  ['good', '---\nname: good\ndescription: Use when nothing is odd\n---\n# good\n'],
  ...ODD.map(([name, one]) => [name, oddDocument(name, one)] as const),
])
const uriOf = (name: string): string => `skill://fx/${name}/SKILL.md`
const EVERY = [...DOCUMENTS.keys()].map(uriOf).toSorted()
const TAKEN = ['good', ...ODD.flatMap(([name, { rule }]) => (rule === undefined ? [name] : []))].map(uriOf).toSorted()
/** Each file of those that every client takes, by its digest. */
const VERIFIED = new Map(
  [...DOCUMENTS].flatMap(([name, text]) =>
    TAKEN.includes(uriOf(name)) ? [[uriOf(name), { [uriOf(name)]: digestOf(text) }]] : [],
  ),
)

let repository: Repository
let served: Served
let peer: Peer
beforeAll(async () => {
  repository = await Repository.create()
  await repository.commit(Object.fromEntries([...DOCUMENTS].map(([name, text]) => [`${name}/SKILL.md`, text])))
  served = await serve(repository, { config: ['serve: { forms: [default, skill-prompts] }'] })
  peer = await modernHttp(served.url)
})
afterAll(async () => {
  await peer[Symbol.asyncDispose]()
  await served[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
})

test.each(CLIENT_NAMES)('%s lists and verifies every skill but those that a client refuses', async (name) => {
  expect(await readWithClient(name, { url: served.url })).toEqual(VERIFIED)
})

test.each([
  ['0.14.0', 'auto'],
  ['0.12.1', 'legacy'],
] as const)('ext-skills %s, %s, does too', async (version, mode) => {
  const { verified, refused } = await readWithExtSkills(version, mode, { url: served.url })

  expect(verified).toEqual(VERIFIED)
  expect(refused).toEqual(new Map())
})

test.each(['legacy', 'modern'] as const)(
  'the inspector does too, in the era %s',
  async (era) => {
    const { reports, stderr } = await inspect(era, { url: served.url }, '/')

    expect(stderr).toContain('no conformance errors')
    expect(new Map(reports.map(({ uri, outcome }) => [uri, outcome]))).toEqual(
      new Map(TAKEN.map((uri) => [uri, 'verified'])),
    )
  },
  60_000,
)

test('the skills installer adds every skill, the odd ones too, but for those that it cannot read', async () => {
  await using project = await openProject()

  const how = ['--skill', '*', '--agent', 'claude-code', '--copy', '--yes']
  const { status, printed } = await project.run('add', new URL(served.url).origin, ...how)

  expect(status, printed).toBe(0)
  const installed = [...(await project.installed())].map(([path, bytes]) => [path, String(bytes)] as const)
  const readable = [...DOCUMENTS].filter(([name]) => ODD_FRONTMATTERS[name]?.rule !== 'frontmatter-unquoted')
  expect(new Map(installed)).toEqual(new Map(readable.map(([name, text]) => [`${name}/SKILL.md`, text])))
})

test.each(Object.keys(LISTENERS))('%s takes each other list, and finds every skill there', async (name) => {
  const { resources, prompts, skills } = await listedBy(name, served.url)

  expect(resources.filter((uri) => uri.endsWith('/SKILL.md')).toSorted()).toEqual(EVERY)
  expect(prompts).toEqual(expect.arrayContaining([...DOCUMENTS.keys()]))
  expect(skills.toSorted()).toEqual([...DOCUMENTS.keys()].toSorted())
})

test('the index holds what skills/list holds', async () => {
  const { skills } = JSON.parse(
    resultOf(await peer.call('resources/read', { uri: 'skill://index.json' })).contents[0].text,
  )

  expect(skills.map(({ uri }: { uri: string }) => uri)).toEqual(TAKEN)
})

test.each(REFUSED)(
  '%s is answered for by its URI, as the file has it, and %s says why no list has it',
  async (name, rule) => {
    const text = DOCUMENTS.get(name) ?? ''

    const { skill } = resultOf(await peer.call('skills/get', { uri: uriOf(name) }))
    const { contents } = resultOf(await peer.call('resources/read', { uri: uriOf(name) }))
    const findings = problemsIn(served.daemon.parts.status.status().sources[0]!)

    expect(skill.resources).toEqual([{ uri: uriOf(name), digest: digestOf(text), size: Buffer.byteLength(text) }])
    expect(contents[0].text).toBe(text)
    expect(findings.filter(({ path }) => path === name)).toEqual([
      expect.objectContaining({
        code: rule,
        state: 'partly',
        message: expect.stringContaining('skills/list leaves it out'),
      }),
    ])
  },
)

test('nothing is said of what every client takes', () => {
  const findings = problemsIn(served.daemon.parts.status.status().sources[0]!)

  expect(findings.map(({ path }) => path)).toEqual(expect.not.arrayContaining(TAKEN.map(nameOf)))
})

function nameOf(uri: string): string {
  return uri.slice('skill://fx/'.length, -'/SKILL.md'.length)
}

function resultOf({ result, error }: Reply): Reply['result'] {
  expect(error).toBeUndefined()
  return result
}
