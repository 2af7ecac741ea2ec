import { createHash } from 'node:crypto'
import { baseName } from '../../../base/paths.ts'
import { VERSION } from '../../../serve/version.ts'
import type { Generation } from '../../../sync/model/generation.ts'
import type { Skill } from '../../../sync/model/skill.ts'
import { originOfSkill } from '../../../sync/model/snapshot.ts'
import type { Snapshot } from '../../../sync/model/snapshot.ts'
import { signersTexts } from '../../runtime/signer-text.ts'
import { licenseOf } from './license.ts'
import type { License } from './license.ts'

/** The contents of a generation, independent of a standard's format. The same generation gives the same bill. */
export interface Bill {
  readonly generation: number
  /** The creation time of the generation, the only time in the bill. ISO 8601, UTC. */
  readonly createdAt: string
  /** The version of this program. */
  readonly version: string
  /** In the order of the generation, by path. */
  readonly skills: readonly BilledSkill[]
}

export interface BilledSkill {
  /** The source and the real path in it. No file of another skill can have this ref. */
  readonly ref: string
  readonly source: string
  readonly name: string
  readonly description: string | undefined
  readonly license: License | undefined
  /** The digest of the content, as docs/protocol.md defines it. */
  readonly digest: string
  /** The URL without secrets; `undefined` if the source has none. */
  readonly address: string | undefined
  /** The kind of upstream at the address. */
  readonly kind: 'repository' | 'server'
  /** The name of the ref to which `commit` belonged. */
  readonly revision: string
  readonly commit: string
  readonly purl: string
  /** One text for each signed object. */
  readonly signers: readonly string[]
  readonly files: readonly BilledFile[]
}

export interface BilledFile {
  /** Unique in the bill, like that of a skill. */
  readonly ref: string
  readonly path: string
  readonly sha256: string
}

/**
 * The bill of the skills in a generation. Withheld skills are not in it. The operator's decisions about other skills
 * (disabled, waiting for approval) are not part of a generation.
 */
export function billOf(generation: Generation, snapshots: readonly Snapshot[]): Bill {
  const { number, createdAt } = generation
  const skills = snapshots.flatMap((snapshot) => snapshot.skills.flatMap((skill) => billSkill(skill, snapshot)))
  return { generation: number, createdAt, version: VERSION, skills }
}

function billSkill(skill: Skill, snapshot: Snapshot): BilledSkill[] {
  const { digest, path, files, frontmatter } = skill
  if (skill.standing === 'withheld' || digest === undefined) return []
  const { source, url, roots, form } = snapshot
  const { revision, proof } = originOfSkill(snapshot, skill)
  const address = addressWithoutSecrets(url)
  const ref = `${source}/${quote(path)}`
  const name = shorten(skill.name ?? (baseName(path) || source))
  const place = { address, commit: revision.commit, folder: [roots?.skills ?? '', path].filter((part) => part !== '') }
  return [
    {
      ref,
      source,
      name,
      description: skill.description === undefined ? undefined : shorten(skill.description),
      license: licenseOf(frontmatter?.['license']),
      digest,
      address,
      kind: form === undefined ? 'repository' : 'server',
      revision: revision.ref,
      commit: revision.commit,
      purl: purlOf(name, place),
      signers: signersTexts(proof.signers),
      files: files.map(({ path, sha256 }) => ({ ref: `${ref}#${quote(path)}`, path, sha256 })),
    },
  ]
}

/** A path with `#` escaped. */
function quote(path: string): string {
  const parts = path.toWellFormed().split('/')
  return parts.map(encodeURIComponent).join('/')
}

/** No tool shows more, and a frontmatter can have 64 KiB. Half a surrogate pair is not valid in JSON. */
function shorten(text: string): string {
  return text.slice(0, MOST_CHARACTERS).toWellFormed()
}

const MOST_CHARACTERS = 4_096

/** A UUID that is the same for the same bill in the same format (version 8 of RFC 9562, whose content we define). */
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

/** The origin of a skill. */
interface PackageOrigin {
  readonly address: string | undefined
  readonly commit: string
  /** The parts of the path to its folder. */
  readonly folder: readonly string[]
}

/**
 * The package URL of a skill. Repositories on GitHub and Bitbucket have types of their own, which tools know. All
 * others are `generic`, with their address as `vcs_url` in the format of SPDX.
 */
export function purlOf(name: string, { address, commit, folder }: PackageOrigin): string {
  const subpath = folder.flatMap((part) => part.split('/')).filter((part) => !EMPTY.has(part))
  const tail = subpath.length === 0 ? '' : `#${subpath.map(encode).join('/')}`
  const hosted = /^https:\/\/(github\.com|bitbucket\.org)\/([\w.-]+)\/([\w.-]+?)(?:\.git)?\/?$/.exec(address ?? '')
  if (hosted !== null) {
    const [, host = '', owner = '', repository = ''] = hosted
    const path = [owner, repository].map((part) => encode(part.toLowerCase())).join('/')
    return `pkg:${host.split('.')[0]}/${path}@${commit}${tail}`
  }
  const isAway = address !== undefined && !address.startsWith('file:')
  const from = isAway ? `?vcs_url=${encode(`git+${address}@${commit}`)}` : ''
  // Leading and trailing spaces are not part of a name.
  return `pkg:generic/${encode(name.trim() === '' ? 'skill' : name.trim())}@${commit}${from}${tail}`
}

/** The segments that a subpath must not have. */
const EMPTY: ReadonlySet<string> = new Set(['', '.', '..'])

/**
 * The encoding of the specification: everything except letters, digits and `.-_~` is percent-encoded, and the colon
 * stays.
 */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%3A', ':')
}

/**
 * The address of a source, safe to publish: without a password, and over http(s) without a user name, which is often a
 * token. `git@host:path` becomes the URL that it means. `undefined` if the text is not an address.
 */
export function addressWithoutSecrets(text: string): string | undefined {
  const scp = /^([^@/:\s]+)@([^/:\s]+):(?!\/\/)(\S+)$/.exec(text)
  const url = URL.parse(scp === null ? text : scpAddress(scp))
  if (url === null || !KNOWN.has(url.protocol)) return undefined
  url.password = ''
  if (url.protocol !== 'ssh:') url.username = ''
  // Tokens with no better place are often in the query.
  url.search = ''
  url.hash = ''
  return url.href
}

const KNOWN: ReadonlySet<string> = new Set(['http:', 'https:', 'ssh:', 'file:'])

function scpAddress([, user, host, path = '']: RegExpExecArray): string {
  return `ssh://${user}@${host}/${path.replace(/^\//, '')}`
}
