import * as fc from 'fast-check'
import { packedIn } from '../../../src/sync/catalog/pack.ts'
import type { Pack } from '../../../src/sync/catalog/pack.ts'
import { catalogOfWorld } from '../content/contract-world.ts'
import type { SkillWorld, World } from '../content/contract-world.ts'

/** Of the packs. */
export const IDS = ['alpha', 'beta', 'gamma']

const STANDINGS = ['served', 'served', 'served', 'unlisted', 'tools', 'withheld'] as const
const FOLDERS = ['', 'a/', 'a/outer/', 'b/c/']
export const NAMES = ['outer', 'inner', 'twin', 'review', 'deploy']

const SKILL: fc.Arbitrary<SkillWorld> = fc
  .record({
    folder: fc.constantFrom(...FOLDERS),
    id: fc.constantFrom(...NAMES),
    standing: fc.constantFrom(...STANDINGS),
    contract: fc.boolean(),
    isOmitted: fc.boolean(),
    mark: fc.nat(999),
    dependsOn: fc.subarray(NAMES, { maxLength: 2 }),
  })
  .map(({ folder, id, standing, contract, isOmitted, mark, dependsOn }) => ({
    path: `${folder}${id}`,
    id,
    standing,
    contract: contract && standing !== 'tools',
    isOmitted,
    dependsOn,
    description: `What ${id} does, ${mark}`,
    files: { 'references/more.md': `more of ${mark}\n` },
    references: { guide: { text: `guide ${mark}\n` } },
  }))

const SKILLS = fc.uniqueArray(SKILL, { selector: ({ path }) => path, maxLength: 8 })

/** Two sources, with skills inside of each other, names that both have, and every standing. */
export const WORLDS: fc.Arbitrary<World> = fc
  .record({
    one: SKILLS,
    two: SKILLS,
    docs: fc.dictionary(fc.constantFrom('guide.md', 'more.md'), fc.constantFrom('words', 'other words')),
    disabled: fc.subarray(FOLDERS.map((folder) => `${folder}review`)),
  })
  .map(({ one, two, docs, disabled }) => ({
    one: { skills: withInner(told('one', one)), docs, disabled },
    two: { skills: withInner(told('two', two)) },
  }))

const CHOICE = fc.record(
  {
    source: fc.constantFrom('one', 'two', '*'),
    path: fc.constantFrom('a/**', '**', 'a/outer', 'b/c/*'),
    name: fc.constantFrom('outer', 'r*', 'twin', '*'),
  },
  { requiredKeys: [] },
)

export const PACKS: fc.Arbitrary<readonly Pack[]> = fc.tuple(
  ...IDS.map((id) =>
    fc.record({
      id: fc.constant(id),
      description: fc.constantFrom(undefined, `What ${id} is for`),
      include: fc.array(CHOICE, { minLength: 1, maxLength: 3 }),
      exclude: fc.array(CHOICE, { maxLength: 2 }),
    }),
  ),
)

/** The world without what nobody who sees these packs may know of. */
export function onlyThoseIn(world: World, packs: readonly Pack[]): World {
  const { snapshots } = catalogOfWorld(world)
  const entries = Object.entries(world).map(([id, source]) => {
    const snapshot = snapshots.find((one) => one.source === id)!
    const paths = new Set(packs.flatMap((one) => [...packedIn(snapshot, one)].map(({ path }) => path)))
    const disabled = source.disabled?.filter((path) => paths.has(path)) ?? []
    return [id, { skills: source.skills?.filter(({ path }) => paths.has(path)) ?? [], disabled }] as const
  })
  return Object.fromEntries(entries)
}

/** The configuration of them, with every form switched on. */
export function yamlOf(packs: readonly Pack[]): string {
  const entries = packs.map(({ id, description, include, exclude }) =>
    JSON.stringify({ id, ...(description !== undefined && { description }), include, exclude }),
  )
  return [
    'packs:',
    ...entries.map((entry) => `  - ${entry}`),
    'serve: { forms: [default, index-templates, skill-prompts, archives] }',
  ].join('\n')
}

/** Each says something that no other does. */
function told(source: string, skills: readonly SkillWorld[]): SkillWorld[] {
  return skills.map((skill) => ({
    ...skill,
    body: `# ${skill.id}\nsaid-in-${source}-${skill.path.replaceAll('/', '.')}!\n`,
  }))
}

/** The files of a skill are those of what lies inside of it too, as a survey has them. */
function withInner(skills: readonly SkillWorld[]): SkillWorld[] {
  return skills.map((skill) => {
    const inner = skills.filter(({ path }) => path.startsWith(`${skill.path}/`))
    const held = inner.map(({ path, id, body = '' }) => [
      `${path.slice(skill.path.length + 1)}/SKILL.md`,
      `---\nname: ${id}\n---\n${body}`,
    ])
    return { ...skill, files: { ...skill.files, ...Object.fromEntries(held) } }
  })
}
