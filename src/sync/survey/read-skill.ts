import { foldedPath, foldersAbove, joinPath } from '../../base/paths.ts'
import { fewText } from '../../base/text/first-few.ts'
import { digestOf, inPathOrder } from '../model/digest.ts'
import type { ObjectId } from '../model/revision.ts'
import { tooManyFiles } from '../model/skill.ts'
import type { Skill, SkillFile, SkillLimits, Standing } from '../model/skill.ts'
import type { Selection } from '../model/source.ts'
import type { RefusedBlob } from '../model/tree.ts'
import { worstStanding } from '../model/worst-standing.ts'
import type { DocumentReading } from '../skill/document-reader.ts'
import type { FrontmatterLimits } from '../skill/frontmatter.ts'
import { hiddenIn, isReadByAgents } from '../skill/hidden-unicode.ts'
import type { HiddenText } from '../skill/hidden-unicode.ts'
import type { SkillDiagnostic, SkillCode } from '../skill/skill-diagnostic.ts'
import { nameProblem, PATH_LIMITS, TOO_FAR } from '../skill/skill-path.ts'
import { checkContract, contractFindings } from './check-contract.ts'
import type { OmittedFiles } from './find-skills.ts'
import { hiddenBesides, hiddenInValues, judgeHidden } from './hidden-diagnostics.ts'
import type { HidingPlace } from './hidden-diagnostics.ts'
import type { JudgedSkill } from './last-good.ts'
import { judgeDocument, UNSAID } from './read-document.ts'
import type { Said } from './read-document.ts'

/** A candidate after its links were followed: its SKILL.md, and every file that would be served with it. */
export interface ResolvedCandidate {
  readonly path: string
  /** The name of the entry in the tree. */
  readonly documentName: string
  /** The blob of SKILL.md, or the reason why there is none. */
  readonly document: { readonly id: ObjectId } | { readonly refused: string }
  readonly files: readonly ResolvedFile[]
  /** Paths with a name that cannot be served. */
  readonly unusable: readonly string[]
  /** Present if the folder has more than `files`, over the limits of a skill. */
  readonly cut?: OmittedFiles
  readonly findings: readonly SkillDiagnostic[]
}

export interface ResolvedFile {
  readonly path: string
  readonly executable: boolean
  readonly id: ObjectId
  readonly link: boolean
}

/** The known data of a blob's content. */
export type BlobContent = KnownContent | RefusedBlob

export interface KnownContent {
  readonly kind: 'known'
  readonly size: number
  readonly sha256: string
  readonly isLfsPointer: boolean
  readonly hidden: HiddenText | undefined
}

/** The inputs for reading a skill. */
export interface Reading {
  contentOf(blob: ObjectId): BlobContent
  readonly document: DocumentReading
  /** By path: the hidden characters that escapes spell in its other YAML files. */
  readonly escapes: ReadonlyMap<string, HiddenText>
  readonly policy: Pick<Selection, 'root' | 'lfs' | 'hiddenUnicode' | 'contract'>
  readonly limits: SurveyLimits
}

/** The limits for one skill. */
export interface SurveyLimits {
  readonly skill: SkillLimits
  readonly frontmatter: FrontmatterLimits
  readonly fetch: { readonly segmentBytes: number }
}

/** Judges one candidate alone. Its served path and its conflicts with neighbors are decided elsewhere. */
export function judgeSkill(candidate: ResolvedCandidate, reading: Reading): JudgedSkill {
  const said = judgeDocument(candidate.path, reading.document)
  const leftOut = pointersLeftOut(candidate, reading)
  const content = readFiles(without(candidate, leftOut), reading)
  const hidden = hiddenInFiles(candidate, said.fields, reading)
  const held = heldToContract(candidate.path, said.fields, content, reading)
  const noted = { findings: leftOutFindings(candidate.path, leftOut) }
  const parts = [candidate, documentCase(candidate), said, hidden, content, noted, held]
  const findings = parts.flatMap((part) => part.findings)
  const judgements = [said, hidden, content, held, documentCase(candidate)]
  const skill: Skill = {
    path: candidate.path,
    servedPath: undefined,
    standing: worstStanding(judgements.map((part) => part.standing)),
    ...said.fields,
    ...content.fields,
    ...held.fields,
    findings,
  }
  return { skill, causes: judgements.flatMap((part) => (part.standing === 'served' ? [] : part.findings)) }
}

/** The skill for a SKILL.md that cannot be read at all. */
export function unreadableSkill(candidate: ResolvedCandidate, rule: SkillCode, message: string): JudgedSkill {
  const causes = [...documentCase(candidate).findings, finding(rule, candidate.path, message)]
  const findings = [...candidate.findings, ...causes]
  const unread = { servedPath: undefined, standing: 'withheld', ...UNSAID, ...NO_FILES } as const
  return { skill: { path: candidate.path, ...unread, findings }, causes }
}

const NO_FILES: Pick<Skill, 'files' | 'size' | 'digest'> = { files: [], size: 0, digest: undefined }

interface Part<Fields> {
  readonly standing: Standing
  readonly fields: Fields
  readonly findings: readonly SkillDiagnostic[]
}

interface Judgement {
  readonly standing: Standing
  readonly findings: readonly SkillDiagnostic[]
}

function documentCase(candidate: ResolvedCandidate): Judgement {
  if (candidate.documentName === 'SKILL.md') return { standing: 'served', findings: [] }
  const message = `The file is called "${candidate.documentName}"; rename it to "SKILL.md", or to something else if it is not a skill`
  return { standing: 'withheld', findings: [finding('file-name-case', candidate.path, message)] }
}

/** Judges invisible characters in the text and the names of the files, and in escapes of the frontmatter. */
function hiddenInFiles(candidate: ResolvedCandidate, { frontmatter }: Said, reading: Reading): Judgement {
  const inFolder = { path: candidate.path, where: 'folder', hidden: hiddenIn(candidate.path) } as const
  const inFiles = candidate.files.flatMap(({ path, id }): HidingPlace[] => {
    const content = reading.contentOf(id)
    const isDocument = path === candidate.documentName
    const inFile = content.kind === 'known' ? content.hidden : undefined
    const inText = (isDocument ? reading.document.hidden : undefined) ?? inFile
    const inValues = isDocument ? hiddenBesides(inText, hiddenInValues(frontmatter)) : undefined
    const at = joinPath(candidate.path, path)
    return [
      { path: at, where: isDocument || isReadByAgents(path) ? 'text' : 'text besides', hidden: inText },
      { path: at, where: 'values', hidden: inValues },
      {
        path: at,
        where: isReadByAgents(path) ? 'escapes' : 'escapes besides',
        hidden: hiddenBesides(inText, reading.escapes.get(path)),
      },
      { path: at, where: 'name', hidden: hiddenIn(path) },
    ]
  })
  const { isWithheld, findings } = judgeHidden([inFolder, ...inFiles], reading.policy.hiddenUnicode)
  return { standing: isWithheld ? 'withheld' : 'served', findings }
}

function heldToContract(
  path: string,
  { frontmatter }: Said,
  content: Part<Pick<Skill, 'files' | 'digest'>>,
  { policy }: Reading,
): Part<Pick<Skill, 'contract'>> {
  // If the files of a skill are refused, they are unknown.
  const files = content.fields.digest === undefined ? undefined : content.fields.files.map((file) => file.path)
  const checked = checkContract(frontmatter, joinPath(policy.root, path), files, policy.contract)
  return {
    standing: checked.violated.length === 0 ? 'served' : 'withheld',
    fields: checked.contract === undefined ? {} : { contract: checked.contract },
    findings: contractFindings(path, checked),
  }
}

function readFiles(candidate: ResolvedCandidate, reading: Reading): Part<Pick<Skill, 'files' | 'size' | 'digest'>> {
  const refusal = refusalOf(candidate, reading)
  if (refusal !== undefined) return { standing: 'withheld', fields: NO_FILES, findings: [refusal] }
  const files = inPathOrder(candidate.files.flatMap((file) => skillFile(file, reading)))
  const size = files.reduce((sum, file) => sum + file.size, 0)
  const { bytes } = reading.limits.skill
  if (size <= bytes) return { standing: 'served', fields: { files, size, digest: digestOf(files) }, findings: [] }
  const message = `The files hold ${size} bytes, over the limit of ${bytes}`
  return { standing: 'withheld', fields: NO_FILES, findings: [finding('limit-bytes', candidate.path, message)] }
}

/** A message with the number of files, if there are more than `most`. */
function tooManyIn({ cut, files }: ResolvedCandidate, most: number): string | undefined {
  if (cut === undefined && files.length <= most) return undefined
  const { paths, isAll } = cut ?? { paths: files.map(({ path }) => path), isAll: true }
  if (paths.length <= most) return `The skill has more folders and links than are read for the limit of ${most} files`
  return `The skill has ${tooManyFiles(paths, most, isAll ? undefined : `${paths.length} or more`)}`
}

function skillFile(file: ResolvedFile, reading: Reading): SkillFile[] {
  const content = reading.contentOf(file.id)
  if (content.kind === 'refused') return []
  const { size, sha256, hidden } = content
  const known = { path: file.path, executable: file.executable, blob: file.id, size, sha256 }
  return [{ ...known, ...(file.link && { link: true }), ...(hidden !== undefined && { hidden }) }]
}

/** The first reason why the files of a skill cannot be served whole. A part of them is never served. */
function refusalOf(candidate: ResolvedCandidate, reading: Reading): SkillDiagnostic | undefined {
  const at = (file: string): string => joinPath(candidate.path, file)
  const { skill } = reading.limits
  const tooMany = tooManyIn(candidate, skill.files)
  if (tooMany !== undefined) return finding('limit-files', candidate.path, tooMany)
  const [unusable] = candidate.unusable
  if (unusable !== undefined) return unusableDiagnostic(at(unusable), 'A file or folder')
  const folded = new Map<string, string>()
  for (const { path, id } of candidate.files) {
    const content = reading.contentOf(id)
    if (content.kind === 'refused') return contentRefusal(at(path), content, `limits.skill.bytes (${skill.bytes})`)
    if (content.isLfsPointer && reading.policy.lfs !== 'pointers') {
      return lfsDiagnostic(at(path))
    }
    const problem = nameProblem(at(path))
    if (problem !== undefined) return finding('path-refused', at(path), `The path ${problem}`)
    const twin = twinOf(path, folded)
    if (twin !== undefined) {
      return finding('path-collision', at(path), `The path meets "${twin}" where case or Unicode form does not count`)
    }
  }
  return undefined
}

/** The files of a skill that are Git LFS pointers, except for its SKILL.md, without which there is no skill. */
function pointersLeftOut(candidate: ResolvedCandidate, reading: Reading): ReadonlySet<ResolvedFile> {
  const isPointer = ({ path, id }: ResolvedFile): boolean => {
    const content = reading.contentOf(id)
    return path !== candidate.documentName && content.kind === 'known' && content.isLfsPointer
  }
  return new Set(reading.policy.lfs === 'leave-out' ? candidate.files.filter(isPointer) : [])
}

function without(candidate: ResolvedCandidate, leftOut: ReadonlySet<ResolvedFile>): ResolvedCandidate {
  if (leftOut.size === 0) return candidate
  return { ...candidate, files: candidate.files.filter((file) => !leftOut.has(file)) }
}

function leftOutFindings(path: string, leftOut: ReadonlySet<ResolvedFile>): readonly SkillDiagnostic[] {
  if (leftOut.size === 0) return []
  const paths = inPathOrder([...leftOut]).map((file) => `"${file.path}"`)
  const what = paths.length === 1 ? '1 file is a git LFS pointer' : `${paths.length} files are git LFS pointers`
  const message = `${what}, and left out of the skill: ${fewText(paths, MOST_NAMED)}; \`lfs: withhold\` withholds such a skill`
  return [finding('lfs-left-out', path, message)]
}

const MOST_NAMED = 8

/** The finding for a Git LFS pointer. */
export function lfsDiagnostic(path: string): SkillDiagnostic {
  const message = 'The file is a git LFS pointer, not the file; `lfs: pointers` serves the pointer'
  return finding('lfs-pointer', path, message)
}

/** The finding for a name that is not UTF-8 or too long, at any place. */
export function unusableDiagnostic(path: string, what: string): SkillDiagnostic {
  const message = `${what} here has a name that is not UTF-8, or over ${PATH_LIMITS.segmentBytes} bytes; the name is shown in part`
  return finding('path-refused', path, message)
}

/** Remembers the path and its folders. Returns another spelling of one of them that was already seen. */
export function twinOf(path: string, met: Map<string, string>): string | undefined {
  for (const spelling of [path, ...foldersAbove(path)]) {
    const folded = foldedPath(spelling)
    const first = met.get(folded)
    if (first !== undefined && first !== spelling) return first
    met.set(folded, spelling)
  }
  return undefined
}

/** The finding for a file whose content is unavailable. `most` describes the limit that a file can exceed. */
export function contentRefusal(
  path: string,
  { reason, size, by }: Omit<RefusedBlob, 'kind'>,
  most: string,
): SkillDiagnostic {
  switch (reason) {
    case 'absent':
      return finding('path-refused', path, 'The repository names the file and does not have its content')
    case 'forbidden':
      return finding('path-refused', path, 'The permission to read it is missing')
    case 'unreadable':
      return finding('path-refused', path, 'The disk does not give it')
    case 'changing':
      return finding('path-refused', path, 'It changes each time it is read')
    case 'too-far':
      return finding('path-refused', path, `It ${TOO_FAR}`)
    case 'special':
      return finding('path-refused', path, 'It is not a file, but a socket, a pipe or a device')
    case 'too-large':
      return finding('limit-bytes', path, `The file alone has ${size ?? 'more'} bytes, over ${most}`)
    case 'ignored':
      return finding(
        'skill-ignored',
        path,
        `The skill is not served: its SKILL.md is ignored by ${by ?? 'an ignore file'}`,
      )
    default:
      return reason satisfies never
  }
}

function finding(rule: SkillCode, path: string, message: string): SkillDiagnostic {
  return { rule, path, message }
}
