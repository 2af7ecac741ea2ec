import { baseName } from '../../base/paths.ts'
import type { SkillDiagnostic } from '../skill/skill-diagnostic.ts'
import type { Docs, DocsFolder } from './docs-folder.ts'
import type { GenerationEntry } from './generation.ts'
import type { ListingForm } from './listing-form.ts'
import type { Marketplace } from './marketplace.ts'
import type { ObjectId, Revision } from './revision.ts'
import type { Offers } from './server-listing.ts'
import type { Signers } from './signers.ts'
import type { Skill } from './skill.ts'
import type { SourceId } from './source-id.ts'
import type { Proof } from './tree.ts'

/** The content found in one revision of one source. Plain data: a round trip through JSON changes nothing. */
export interface Snapshot {
  readonly source: SourceId
  readonly url: string
  readonly revision: Revision
  /** The tree of the commit. */
  readonly tree: ObjectId
  /** Digest of the selection and of the survey's own version: two snapshots are comparable only if it is equal. */
  readonly rules: string
  /** The folders that the paths of skills and of docs are relative to, after all links to them. Absent for a listing and a channel. */
  readonly roots?: { readonly skills: string; readonly docs?: string }
  /** Sorted by `path`. */
  readonly skills: readonly Skill[]
  /** The docs folder of the source, if it has one and the revision has files in it. */
  readonly docs?: Docs
  /** Other data about that folder, if the source has one. */
  readonly docsFolder?: DocsFolder
  /** The plugin marketplace of the repository, without files if there is none. Absent if it was not read. */
  readonly marketplace?: Marketplace
  /** Findings that belong to no skill, sorted by `path`. */
  readonly findings: readonly SkillDiagnostic[]
  /** For an MCP server: the form of its listing. */
  readonly form?: ListingForm
  /** For an MCP server: it declares its listing as private to us, by the credential that we send. */
  readonly isPrivate?: true
  /** For an MCP server: what it offers and is not taken. */
  readonly offers?: Offers
  /** For the channel of another hub: the proof of what it has. */
  readonly published?: PublishedBy
  /**
   * Tree ids by folder (relative to the root, which is the empty path), for folders whose tree id alone decides what
   * was found below them. An equal id in a later commit means the same skills, which are then not read.
   */
  readonly folders: Readonly<Record<string, ObjectId>>
  /** The raw commit and tag objects in base64, and their signers if signatures were required. */
  readonly proof: { readonly commit: string; readonly tag?: string; readonly signers?: Signers }
  /**
   * The server that provided the skills after their commit was gone. There are no raw objects then: `proof.commit` is
   * empty.
   */
  readonly rebuiltFrom?: SourceId
  /** Digest of the operator's rules about the lifecycle of its skills. Only a snapshot of a catalog has it. */
  readonly lifecycles?: string
  /** The revisions of the skills with `kept`, sorted by commit. Absent without such skills. */
  readonly keptFrom?: readonly KeptRevision[]
}

/** A revision that earlier versions of skills are from. */
export interface KeptRevision extends Pick<Snapshot, 'revision' | 'proof'> {}

/** The log entry of a channel that names a snapshot, and the origin of its skills. */
export interface PublishedBy {
  /** The name of the log. */
  readonly log: string
  /**
   * The newest entry that names it: its index, from 0, and its time, ISO 8601, UTC. Absent if a newer one was followed
   * by then.
   */
  readonly entry?: { readonly index: number; readonly at: string }
  /** The sources that the hub has its skills from. The paths of the skills begin with their ids. */
  readonly sources: readonly HubSource[]
}

/** A source of another hub, at the revision that the hub serves. */
export interface HubSource {
  readonly source: SourceId
  readonly url: string
  readonly ref: string
  readonly commit: ObjectId
  readonly tag?: ObjectId | undefined
  /** The signers that the hub required and found. */
  readonly signers?: Signers | undefined
}

/** A source of another hub with its skills, as that hub has surveyed them. */
export interface ChannelSkills extends HubSource {
  /** Findings of the hub that belong to no skill. */
  readonly findings: readonly SkillDiagnostic[]
  readonly parts: readonly ChannelPart[]
}

/** Some skills of a source, in the order of their paths, and the object of the channel that they are in. */
export interface ChannelPart {
  /** SHA-256, 64 hex digits. */
  readonly digest: string
  /** `undefined` for an object that the caller knows. */
  readonly skills: readonly Skill[] | undefined
}

/** The number of skills of a list that the caller knows as one of this source of the hub; `undefined` for any other. */
export type KnownListSize = (hub: SourceId, digest: string) => number | undefined

/**
 * Each SKILL.md that is a link which leads nowhere, if a skill with the name of its folder is served. Collections
 * create links for one agent, and leave them behind when they move the targets.
 */
export function strayLinks(skills: readonly Skill[]): ReadonlySet<Skill> {
  const refused = skills.filter(isRefusedLink)
  if (refused.length === 0) return new Set()
  const served = new Set(skills.flatMap(({ standing, name }) => (standing === 'served' ? (name ?? []) : [])))
  return new Set(refused.filter(({ path }) => served.has(baseName(path))))
}

function isRefusedLink({ standing, path, digest, findings }: Skill): boolean {
  if (standing !== 'withheld' || digest !== undefined) return false
  return findings.some((finding) => finding.rule === 'link-refused' && finding.path === path)
}

/** The present state of a source, from its last generation. */
export interface ServedSource {
  readonly held: GenerationEntry
  readonly snapshot: Snapshot
}

/** The revision that a skill of the snapshot is from, which is an earlier one for an earlier version. */
export function originOfSkill(
  { revision, proof, keptFrom }: Pick<Snapshot, 'revision' | 'proof' | 'keptFrom'>,
  { kept }: Pick<Skill, 'kept'>,
): KeptRevision {
  const earlier = kept && keptFrom?.find((one) => one.revision.commit === kept.commit)
  return earlier ?? { revision, proof }
}

/** The raw objects as a snapshot has them. */
export function storedProof({ commit, tag }: Proof, signers: Signers | undefined): Snapshot['proof'] {
  return {
    commit: base64(commit),
    ...(tag !== undefined && { tag: base64(tag) }),
    ...(signers !== undefined && { signers }),
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

/** The raw objects of a snapshot, or of a revision that it has skills from. */
export function proofOf({ proof: { commit, tag } }: Pick<Snapshot, 'proof'>): Proof {
  const raw = (text: string) => Buffer.from(text, 'base64')
  return { commit: raw(commit), ...(tag !== undefined && { tag: raw(tag) }) }
}
