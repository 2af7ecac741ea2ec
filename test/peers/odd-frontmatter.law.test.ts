import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import * as newest from '@olaservo/ext-skills/client'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLIENT_NAMES, CLIENTS } from '../e2e/clients.ts'
import { Repository } from '../support/git/repository.ts'
import { serve } from '../support/served.ts'
import type { Served } from '../support/served.ts'
import { LISTENERS, listedBy } from './listings.ts'

const SETTINGS = [
  'serve:',
  '  forms: [default, skill-prompts, archives, files, synthetic]',
  "  templates: ['skill://free/{name}/SKILL.md']",
]

/** Always as many: a commit that removes most skills is held. */
const ODD = 16

let kept: Repository
let free: Repository
let served: Served
beforeAll(async () => {
  kept = await Repository.create()
  free = await Repository.create()
  await commit(Array.from({ length: ODD }, () => []))
  // The contract withholds most of what is odd, and gives lists what nothing else does.
  served = await serve(kept, {
    id: 'kept',
    source: ['contract: true'],
    more: { free },
    config: SETTINGS,
  })
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await kept[Symbol.asyncDispose]()
  await free[Symbol.asyncDispose]()
})

async function commit(odd: readonly Fields[]): Promise<void> {
  const files = filesOf(odd)
  for (const repository of [kept, free]) await repository.commit(files)
}

/** Texts that hide nothing: what people do not see withholds a skill. */
const words = fc.string({ unit: 'grapheme-ascii', maxLength: 12 })
const scalar = fc.oneof(words, fc.integer(), fc.constantFrom(null, true, false, '', ' ', 1.5, 'x'.repeat(501)))
/** Values as JSON has them, of numbers that every reader takes alike. */
const anything = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 3 }),
  fc.dictionary(words, fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })), { maxKeys: 3 }),
)

/** Texts around the length of a limit, in characters of one or two units, with white space around them. */
const near = (limit: number): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.integer({ min: limit - 3, max: limit + 3 }),
      fc.constantFrom('x', '\u{1F600}'),
      fc.constantFrom('', '\n', ' ', '\n\n'),
    )
    .map(([length, character, end]) => character.repeat(length) + end)

const key = fc.oneof(
  words,
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toString',
    '',
    'version',
    'author',
    'license',
    'allowed-tools',
    'hooks',
    'arguments',
    'argument-hint',
    'user-invocable',
    'tags',
    'uri',
    'resources',
    '_meta',
  ),
)

const block = fc.record(
  {
    version: fc.constantFrom('1.0.0', 1, '1'),
    capabilities: fc.constant([]),
    tags: fc.oneof(fc.array(words, { maxLength: 3 }), anything),
    icons: fc.oneof(
      fc.array(fc.record({ src: fc.webUrl(), sizes: anything, mimeType: anything }), { maxLength: 3 }),
      anything,
    ),
    references: anything,
    depends_on: anything,
  },
  { requiredKeys: ['version', 'capabilities'] },
)

const frontmatter = fc
  .tuple(
    fc.oneof(fc.constant('Use when it is odd'), near(1024), words),
    fc.dictionary(key, anything, { maxKeys: 4 }),
    fc.record(
      {
        metadata: fc.oneof(
          fc.dictionary(key, words, { maxKeys: 3 }),
          fc.dictionary(key, anything, { maxKeys: 3 }),
          anything,
        ),
        compatibility: fc.oneof(near(500), anything),
        'x-personal-mcp': block,
      },
      { requiredKeys: [] },
    ),
  )
  .map(fieldsOf)

type Fields = readonly (readonly [string, unknown])[]

function fieldsOf([description, others, known]: readonly [string, object, object]): Fields {
  return [...Object.entries(others), ...Object.entries(known), ['description', description]]
}

test(
  'whatever the frontmatters are, each client takes each list, and the good skill is in them',
  { timeout: 300_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(frontmatter, { minLength: ODD, maxLength: ODD }), async (odd) => {
        await commit(odd)
        await served.sync()

        for (const name of CLIENT_NAMES) {
          await using client = await CLIENTS[name]({ url: served.url })
          const listed = await client.list()
          expect(listed.map(({ uri }) => uri)).toContain(GOOD)
          for (const entry of listed.slice(0, 3)) await client.get(entry.uri)
        }
        for (const name of Object.keys(LISTENERS)) {
          const { resources, templates, prompts, skills } = await listedBy(name, served.url)
          expect(resources).toContain(GOOD)
          expect(templates).toContain('skill://free/{name}/SKILL.md')
          expect(prompts).toContain('free/good')
          expect(skills).toContain('good')
        }
        await expectReadWhole()
      }),
      { numRuns: 8, endOnFailure: true },
    )
  },
)

/** Every skill that is listed is read and verified: the frontmatter of the entry is that of the file. */
async function expectReadWhole(): Promise<void> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new StreamableHTTPClientTransport(new URL(served.url)))
  try {
    const skills = new SkillsClient(client)
    for (const skill of (await skills.list()).skills) expect(await skills.read(skill)).toMatchObject({ verified: true })
    const host = client as unknown as newest.SkillsClient
    expect((await newest.listSkills(host)).map(({ uri }) => uri)).toContain(GOOD)
    const { contents } = await client.readResource({ uri: 'skill://index.json' })
    expect(JSON.stringify(contents)).toContain(GOOD)
  } finally {
    await client.close()
  }
}

const GOOD = 'skill://free/good/SKILL.md'

/** The good skill and the odd ones. JSON on one line is YAML that every reader takes. */
function filesOf(odd: readonly Fields[]): Record<string, string> {
  const files = odd.map((fields, index) => [`odd-${index}/SKILL.md`, documentOf(`odd-${index}`, fields)] as const)
  return {
    'good/SKILL.md': documentOf('good', [
      ['description', 'Use when nothing is odd'],
      ['x-personal-mcp', BLOCK],
    ]),
    ...Object.fromEntries(files),
  }
}

const BLOCK = { version: '1.0.0' }

function documentOf(name: string, fields: Fields): string {
  const block = { id: name, capabilities: [`resource://skills/${name}/document`] }
  const said = fields.map(([field, value]) => {
    const whole = field === 'x-personal-mcp' ? { ...Object(value), ...block } : value
    return `${JSON.stringify(field)}: ${JSON.stringify(whole)}`
  })
  return ['---', `name: ${name}`, ...said, '---', `# ${name}`, ''].join('\n')
}
