import { createHash } from 'node:crypto'
import { VERSION } from '../../../serve/version.ts'
import { baseName } from '../../../base/paths.ts'
import type { Generation } from '../../../sync/model/generation.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { signersTexts } from '../../base/signer-text.ts'
import { bareAddress } from './address.ts'
import { licenseOf } from './license.ts'
import type { License } from './license.ts'
import { purlOf } from './purl.ts'

/** What a generation is made of, before it is put into the words of a standard. The same generation gives the same bill. */
export interface Bill {
  readonly generation: number
  /** When the generation was made: nothing else here has a time. ISO 8601, UTC. */
  readonly createdAt: string
  /** The version of this program. */
  readonly version: string
  /** In the order of the generation, by path. */
  readonly skills: readonly BilledSkill[]
}

export interface BilledSkill {
  /** The source and the true path in it, as no file of another skill can be called. */
  readonly ref: string
  readonly source: string
  readonly name: string
  readonly description: string | undefined
  readonly license: License | undefined
  /** Of the content, as docs/digest.md has it. */
  readonly digest: string
  /** Without a secret, as an address of the web; undefined for what has none. */
  readonly address: string | undefined
  /** How the address is read. */
  readonly kind: 'repository' | 'server'
  /** The name of the ref, and where it pointed. */
  readonly revision: string
  readonly commit: string
  readonly purl: string
  /** A text for each object that was signed. */
  readonly signers: readonly string[]
  readonly files: readonly BilledFile[]
}

export interface BilledFile {
  /** Unique in the bill, as that of a skill. */
  readonly ref: string
  readonly path: string
  readonly sha256: string
}

/**
 * The bill of what a generation offers. Withheld skills are not in it; what people decided about others (disabled, waiting for
 * approval) is no part of a generation.
 */
export function billOf(generation: Generation, snapshots: readonly Snapshot[]): Bill {
  const { number, createdAt } = generation
  const skills = snapshots.flatMap((snapshot) => snapshot.skills.flatMap((skill) => billed(skill, snapshot)))
  return { generation: number, createdAt, version: VERSION, skills }
}

function billed(skill: Skill, snapshot: Snapshot): BilledSkill[] {
  const { digest, path, files, frontmatter } = skill
  if (skill.standing === 'withheld' || digest === undefined) return []
  const { source, url, revision, roots, form, proof } = snapshot
  const address = bareAddress(url)
  const ref = `${source}/${quoted(path)}`
  const name = shortened(skill.name ?? (baseName(path) || source))
  const place = { address, commit: revision.commit, folder: [roots?.skills ?? '', path].filter((part) => part !== '') }
  return [
    {
      ref,
      source,
      name,
      description: skill.description === undefined ? undefined : shortened(skill.description),
      license: licenseOf(frontmatter?.['license']),
      digest,
      address,
      kind: form === undefined ? 'repository' : 'server',
      revision: revision.ref,
      commit: revision.commit,
      purl: purlOf(name, place),
      signers: signersTexts(proof.signers),
      files: files.map(({ path, sha256 }) => ({ ref: `${ref}#${quoted(path)}`, path, sha256 })),
    },
  ]
}

/** A path in which a `#` ends nothing. */
function quoted(path: string): string {
  const parts = path.toWellFormed().split('/')
  return parts.map(encodeURIComponent).join('/')
}

/** No tool shows more, and a frontmatter may have 64 KiB. A half of a character is no text of JSON. */
function shortened(text: string): string {
  return text.slice(0, MOST_CHARACTERS).toWellFormed()
}

const MOST_CHARACTERS = 4_096

/** A UUID that is the same for the same bill in the same form (version 8 of RFC 9562: ours to make). */
export function uuidOf(bill: Bill, form: string): string {
  const hex = createHash('sha256')
    .update(JSON.stringify([form, bill]))
    .digest('hex')
  const variant = (8 + (Number.parseInt(hex.slice(15, 16), 16) % 4)).toString(16)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(12, 15)}`,
    variant + hex.slice(16, 19),
    hex.slice(19, 31),
  ].join('-')
}
