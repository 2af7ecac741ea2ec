import { z } from 'zod'
import { isMapping, parseJson } from '../../../base/json-value.ts'
import type { JsonObject } from '../../../base/json-value.ts'
import { isSkillCode } from '../../../sync/model/code-descriptions.ts'
import { isObjectId } from '../../../sync/model/revision.ts'
import type { ObjectId } from '../../../sync/model/revision.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import type { ChannelSkills } from '../../../sync/model/snapshot.ts'
import { isSourceId } from '../../../sync/model/source-id.ts'
import type { SourceId } from '../../../sync/model/source-id.ts'
import type { SkillCode } from '../../../sync/skill/skill-diagnostic.ts'
import { FORM_LIMITS, formProblem } from '../../../sync/skill/skill-path.ts'
import { textOf } from '../../../sync/store/objects/json-object.ts'
import type { Digest } from '../../../sync/store/objects/object-store.ts'
import { isDigest } from '../../../sync/store/skills/stored-path.ts'

// The JSON of the objects of a channel. Another machine wrote it: each field is checked, and one that is not known here is
// dropped, so that a later version can add some.

/**
 * A list of digests. A long one is in several objects, so that one changed digest changes few bytes: `lists` names
 * objects that are such lists.
 */
export type DigestList = { readonly items: readonly Digest[] } | { readonly lists: readonly Digest[] }

/** The object that an entry of the log names: everything that a channel has at one moment. */
export interface ChannelHead {
  readonly format: 1
  /** The objects of its sources, `PublishedSource`, in the order of the hub. */
  readonly sources: DigestList
  /** The object with the recalls of the hub, in force and ended; absent if it has had none. */
  readonly recalls?: Digest
}

/** A source of the hub with its skills. */
export interface PublishedSource extends Omit<ChannelSkills, 'parts'> {
  /** Objects that are arrays of skills, sorted by path. */
  readonly skills: DigestList
}

const DIGEST = z.string().refine(isDigest)
const DIGESTS = z.array(DIGEST).max(1_024)
const LIST = z.union([z.object({ items: DIGESTS }), z.object({ lists: DIGESTS })])
const HEAD = z.object({ format: z.literal(1), sources: LIST, recalls: DIGEST.exactOptional() })

const OBJECT_ID = z.custom<ObjectId>((value) => typeof value === 'string' && isObjectId(value))
const SOURCE_ID = z.custom<SourceId>((value) => typeof value === 'string' && isSourceId(value))
const CODE = z.custom<SkillCode>((value) => typeof value === 'string' && isSkillCode(value))
const FRONTMATTER = z.custom<JsonObject>(isMapping)

const TEXT = z.string().max(4_096)
/** The form alone: a name that this machine refuses withholds one skill, and not the entry. */
const PATH = z.string().refine((path) => formProblem(path, FORM_LIMITS) === undefined)
const COUNT = z.int().nonnegative()

const FINDING = z.object({ rule: CODE, path: z.string().max(16_384), message: TEXT })

/** The findings, without those of rules that a later version has. */
const FINDINGS = z.array(z.unknown()).transform((all) => all.flatMap((one) => FINDING.safeParse(one).data ?? []))

const RUN = z.object({ line: COUNT, column: COUNT, codePoints: z.array(COUNT).max(64), length: COUNT })
const HIDDEN = z.object({
  count: COUNT,
  runs: z.array(RUN).max(64),
  deceit: z.enum(['smuggled', 'disguised']).exactOptional(),
})

const FILE = z.object({
  path: PATH,
  executable: z.boolean(),
  blob: OBJECT_ID,
  size: COUNT,
  sha256: DIGEST,
  link: z.literal(true).exactOptional(),
  hidden: HIDDEN.exactOptional(),
})

const SKILL = z.object({
  path: z.union([z.literal(''), PATH]),
  servedPath: PATH.optional(),
  standing: z.enum(['served', 'unlisted', 'tools', 'withheld']),
  isUnlisted: z.literal(true).exactOptional(),
  name: z.string().optional(),
  description: z.string().optional(),
  frontmatter: FRONTMATTER.optional(),
  files: z.array(FILE),
  size: COUNT,
  digest: DIGEST.optional(),
  findings: FINDINGS,
})

const SIGNER = z.object({ scheme: z.enum(['ssh', 'openpgp']), principal: TEXT, fingerprint: TEXT })
const SOURCE = z.object({
  source: SOURCE_ID,
  url: TEXT,
  ref: TEXT,
  commit: OBJECT_ID,
  tag: OBJECT_ID.optional(),
  signers: z.object({ commit: SIGNER.exactOptional(), tag: SIGNER.exactOptional() }).optional(),
  findings: FINDINGS,
  skills: LIST,
})

/** Parses the object that an entry names; `undefined` if it is none. */
export function parseHead(bytes: Uint8Array): ChannelHead | undefined {
  return HEAD.safeParse(jsonIn(bytes)).data
}

/** Parses a list of digests; `undefined` if it is none. */
export function parseList(bytes: Uint8Array): DigestList | undefined {
  return LIST.safeParse(jsonIn(bytes)).data
}

/** Parses a source with its skills; `undefined` if it is none. */
export function parseSource(bytes: Uint8Array): PublishedSource | undefined {
  return SOURCE.safeParse(jsonIn(bytes)).data
}

/** Parses an array of skills; `undefined` if one of them has a field of the wrong form. */
export function parseSkills(bytes: Uint8Array): readonly Skill[] | undefined {
  return z.array(SKILL).safeParse(jsonIn(bytes)).data?.map(complete)
}

/** True for a skill that every follower can parse. */
export function isPublishable(skill: Skill): boolean {
  return SKILL.safeParse(skill).success
}

/** JSON has no `undefined`. */
function complete({ servedPath, name, description, frontmatter, digest, ...skill }: z.infer<typeof SKILL>): Skill {
  return { ...skill, servedPath, name, description, frontmatter, digest }
}

function jsonIn(bytes: Uint8Array): unknown {
  return parseJson(textOf(bytes))
}
