import type { Enumeration, Offer } from './hostile-offer.ts'
import { contentOf, digestOf } from './hostile-skills.ts'
import type { Entry, OfferedSkill, SkillsOnOffer } from './hostile-skills.ts'

const INDEX = 'skill://index.json'
const SCHEMA = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'
const MANIFEST = '/_manifest'

/** The `contents` of a resource that is made of the skills: the index, or the manifest that FastMCP has of each. */
export function madeContents({ offers, skills }: Offer, uri: unknown): readonly object[] | undefined {
  const document = uri === INDEX ? indexOf(offers, skills) : offers === 'fastmcp' ? manifestAt(skills, uri) : undefined
  if (document === undefined) return undefined
  const text = Buffer.from(JSON.stringify(document))
  return [{ ...contentOf(String(uri), text), mimeType: 'application/json' }]
}

/** The manifests, as FastMCP lists them beside each SKILL.md. */
export function listedManifests(skills: SkillsOnOffer): readonly object[] {
  return skills.listed.map(({ root }) => ({ uri: root + MANIFEST, name: 'manifest', mimeType: 'application/json' }))
}

function indexOf(offers: Enumeration, { listed, added }: SkillsOnOffer): object | undefined {
  const entryOf = FORMS[offers]
  if (entryOf === undefined) return undefined
  const isOldest = offers === 'index-r0' || offers === 'index-r1'
  return { ...(isOldest && { $schema: SCHEMA }), skills: [...listed.map(({ entry }) => entryOf(entry)), ...added] }
}

/** What each form of the index says of a skill. Added entries stand in all of them as they are. */
const FORMS: Partial<Record<Enumeration, (entry: Entry) => object>> = {
  'index-r0': oldest,
  'index-r1': (entry) => ({ ...oldest(entry), digest: digestOfDocument(entry) }),
  'index-r2': (entry) => {
    const { uri, frontmatter, archives } = entry
    return { frontmatter, url: uri, digest: digestOfDocument(entry), archives }
  },
  'index-r4': ({ uri, frontmatter, resources }) => ({ uri, frontmatter, resources: unsized(resources) }),
}

function oldest({ uri, frontmatter }: Entry): object {
  const { name, description } = Object(frontmatter)
  return { type: 'skill-md', name, description, url: uri }
}

function digestOfDocument({ uri, resources }: Entry): unknown {
  if (!Array.isArray(resources)) return undefined
  return Object(resources.find((resource) => Object(resource).uri === uri)).digest
}

function unsized(resources: unknown): unknown {
  if (!Array.isArray(resources)) return resources
  return resources.map((resource) => ({ ...Object(resource), size: undefined }))
}

function manifestAt({ listed }: SkillsOnOffer, uri: unknown): object | undefined {
  const skill = listed.find(({ root }) => root + MANIFEST === uri)
  return skill && manifestOf(skill)
}

function manifestOf({ root, files }: OfferedSkill): object {
  const entries = files.map(({ path, bytes }) => ({ path, size: bytes.length, hash: digestOf(bytes) }))
  return { skill: root.slice('skill://'.length), files: entries }
}
