import { joinPath } from '../../base/paths.ts'
import type { Skill, SkillFile } from '../model/skill.ts'
import type { Snapshot } from '../model/snapshot.ts'
import {
  hasYamlEscapes,
  hiddenIn,
  hiddenInDocument,
  hiddenInEscapes,
  hiddenInFile,
  isReadByAgents,
  isYamlPath,
} from '../skill/hidden-unicode.ts'
import type { HiddenPolicy, HiddenText } from '../skill/hidden-unicode.ts'
import type { SkillDiagnostic } from '../skill/skill-diagnostic.ts'
import { hiddenBesides, hiddenInValues, judgeHidden } from './hidden-diagnostics.ts'
import type { HidingPlace } from './hidden-diagnostics.ts'

/** Hidden characters in files of one MCP server, by `textKeyOf` the file. Files without any are not in it. */
export type KnownTexts = ReadonlyMap<string, HiddenText>

/** The key of a text: its SHA-256, marked by what the path says of how it is searched. */
export function textKeyOf({ path, sha256 }: Pick<SkillFile, 'path' | 'sha256'>): string {
  if (isDocument({ path })) return `document-${sha256}`
  if (isReadByAgents(path)) return `agents-${sha256}`
  return isYamlPath(path) ? `yaml-${sha256}` : sha256
}

/** Finds hidden characters in a file, by the kind of the file. */
export function hiddenInText(file: Pick<SkillFile, 'path'>, bytes: Uint8Array): HiddenText | undefined {
  if (isDocument(file)) return hiddenInDocument(bytes)
  const inText = hiddenInFile(bytes)
  const hasEscapes = hasYamlEscapes({ path: file.path, size: bytes.length })
  return (hasEscapes ? hiddenBesides(inText, hiddenInEscapes(bytes)) : undefined) ?? inText
}

function isDocument({ path }: Pick<SkillFile, 'path'>): boolean {
  return path === 'SKILL.md'
}

/** Judges the data of an entry and, if they were read, the texts of its files. */
export function judgeDeclared(
  skill: Pick<Skill, 'path' | 'frontmatter' | 'files'>,
  policy: HiddenPolicy,
): ReturnType<typeof judgeHidden> {
  return judgeHidden(placesIn(skill), policy)
}

function placesIn({ path, frontmatter, files }: Pick<Skill, 'path' | 'frontmatter' | 'files'>): HidingPlace[] {
  const inDocument = files.find(isDocument)?.hidden
  return [
    { path, where: 'folder', hidden: hiddenIn(path) },
    { path, where: 'values', hidden: hiddenBesides(inDocument, hiddenInValues(frontmatter)) },
    ...files.flatMap((file): HidingPlace[] => [
      textPlace(path, file, file.hidden),
      { path: joinPath(path, file.path), where: 'name', hidden: hiddenIn(file.path) },
    ]),
  ]
}

function textPlace(skill: string, file: Pick<SkillFile, 'path'>, hidden: HiddenText | undefined): HidingPlace {
  const where = isDocument(file) || isReadByAgents(file.path) ? 'text' : 'text besides'
  return { path: joinPath(skill, file.path), where, hidden }
}

/** The first finding by which the text of a file withholds the skill; `undefined` if there is none. */
export function refusalIn(
  { path, files }: { readonly path: string; readonly files: readonly Pick<SkillFile, 'path' | 'sha256'>[] },
  texts: KnownTexts,
  policy: HiddenPolicy,
): SkillDiagnostic | undefined {
  for (const file of files) {
    const hidden = texts.get(textKeyOf(file))
    if (hidden === undefined) continue
    const { isWithheld, findings } = judgeHidden([textPlace(path, file, hidden)], policy)
    if (isWithheld) return findings[0]
  }
  return undefined
}

/** The skill with the known results for its texts; the same object if these are not new. */
export function withTexts(skill: Skill, texts: KnownTexts, policy: HiddenPolicy): Skill {
  const { upstream } = skill
  if (upstream === undefined || !skill.files.some((file) => isNews(file, texts))) return skill
  const files = skill.files.map((file) => (isNews(file, texts) ? withHidden(file, texts) : file))
  const { isWithheld, findings } = judgeDeclared({ ...skill, files }, policy)
  const others = skill.findings.filter(({ rule }) => rule !== 'hidden-unicode')
  const isRefused = isWithheld && skill.standing !== 'withheld'
  return {
    ...skill,
    files,
    standing: isWithheld ? 'withheld' : skill.standing,
    findings: [...others, ...findings],
    ...(isRefused && { upstream: { ...upstream, isRefusedAsRead: true } }),
  }
}

function isNews(file: SkillFile, texts: KnownTexts): boolean {
  return file.hidden === undefined && texts.has(textKeyOf(file))
}

function withHidden(file: SkillFile, texts: KnownTexts): SkillFile {
  const hidden = texts.get(textKeyOf(file))
  return hidden === undefined ? file : { ...file, hidden }
}

/** The snapshot with the known results for its texts; the same object if these are not new. */
export function snapshotWithTexts(snapshot: Snapshot, texts: KnownTexts, policy: HiddenPolicy): Snapshot {
  if (texts.size === 0) return snapshot
  const skills = snapshot.skills.map((skill) => withTexts(skill, texts, policy))
  return skills.some((skill, index) => skill !== snapshot.skills[index]) ? { ...snapshot, skills } : snapshot
}
