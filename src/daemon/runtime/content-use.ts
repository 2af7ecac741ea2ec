/** One content of a skill: `<source>/<path>`, with invisible characters escaped, and the digest of its files. */
export interface SkillContent {
  readonly skill: string
  readonly content: string
}

/** The uses of one content of a skill by all clients, and those of them that failed. */
export interface ContentUse extends SkillContent {
  /** Loads and failures. A use reads any number of files, so reads would hide its failure. */
  readonly uses: number
  readonly failures: number
}

/** Counts of use, by the content of skills. */
export interface ContentUseReader {
  /** The uses of these contents of skills; those without a use are left out. Throws `store-failed`. */
  contentUses(wanted: readonly SkillContent[]): Promise<readonly ContentUse[]>
}

/** A text for each content, and no other has it: a skill has no line break. */
export function contentKeyText({ skill, content }: SkillContent): string {
  return `${skill}\n${content}`
}
