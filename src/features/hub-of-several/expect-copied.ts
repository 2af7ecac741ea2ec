import { z } from 'zod'
import { digestOf } from '../../sync/model/digest.ts'
import { isObjectId } from '../../sync/model/revision.ts'
import type { Skill } from '../../sync/model/skill.ts'
import type { Snapshot } from '../../sync/model/snapshot.ts'
import { isSourceId } from '../../sync/model/source-id.ts'
import { Damaged } from '../../sync/model/sync-error.ts'
import { FORM_LIMITS, formProblem, nameProblem } from '../../sync/skill/skill-path.ts'
import type { Digest } from '../../sync/store/objects/object-store.ts'
import { isDigest } from '../../sync/store/skills/stored-path.ts'

// Another process wrote what is copied, perhaps with rights on the database alone. What could lead outside the store, or
// end a process, is refused here; all else is as it was written.

const DIGEST = z.string().refine(isDigest)
const COUNT = z.int().nonnegative()
const PATH = z.string().refine((path) => (formProblem(path, FORM_LIMITS) ?? nameProblem(path)) === undefined)

const FILE = z.looseObject({ path: PATH, executable: z.boolean(), size: COUNT, sha256: DIGEST })
const CONTENT = { files: z.array(FILE), size: COUNT, digest: DIGEST.optional() }

/** A folder in a repository may have any name; no part of it leads out of the repository. */
const FOLDER = z.string().refine((path) => !path.split('/').some((name) => name === '..' || name.includes('\0')))

const DETAILS = {
  path: FOLDER,
  servedPath: FOLDER.optional(),
  name: z.string().optional(),
  description: z.string().optional(),
  frontmatter: z.record(z.string(), z.unknown()).optional(),
  findings: z.array(z.looseObject({ rule: z.string(), path: z.string(), message: z.string() })),
}

/** The files of a withheld skill are not stored, and may be the reason. */
const SKILL = z.discriminatedUnion('standing', [
  z.looseObject({ ...CONTENT, ...DETAILS, standing: z.enum(['served', 'unlisted', 'tools']) }),
  z.looseObject({ ...DETAILS, standing: z.literal('withheld'), files: z.array(z.unknown()), size: COUNT }),
])

const SNAPSHOT = z.looseObject({
  source: z.string().refine(isSourceId),
  url: z.string(),
  revision: z.looseObject({ ref: z.string(), commit: z.string().refine(isObjectId) }),
  tree: z.string(),
  rules: z.string(),
  skills: z.array(z.unknown()),
  findings: z.array(z.unknown()),
  folders: z.record(z.string(), z.string()),
  proof: z.looseObject({ commit: z.string() }),
  docs: z.looseObject(CONTENT).optional(),
})

/** Throws `Damaged` if skills of a snapshot do not have the form of ours, or the digest of their files. */
export function expectSkills(skills: readonly Skill[], of: Digest): void {
  for (const skill of skills) {
    if (!SKILL.safeParse(skill).success) throw misshapen(of)
    // What another server declares is verified when its files are read.
    if (skill.upstream === undefined && skill.standing !== 'withheld') expectDigest(skill, of)
  }
}

/** Throws `Damaged` if a snapshot, without its parts, does not have the form of ours. */
export function expectSnapshot(snapshot: Snapshot, of: Digest): void {
  if (!SNAPSHOT.safeParse(snapshot).success) throw misshapen(of)
  expectSkills(snapshot.skills, of)
  if (snapshot.docs !== undefined) expectDigest(snapshot.docs, of)
}

function expectDigest({ digest, files }: Pick<Skill, 'digest' | 'files'>, of: Digest): void {
  if (digest !== undefined && digest !== digestOf(files)) throw misshapen(of)
}

function misshapen(digest: Digest): Damaged {
  return new Damaged(`Cannot take over the object "${digest}": it is not what a skillsyncd writes`)
}
