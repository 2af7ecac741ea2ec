/** What a skill says of itself in its `x-personal-mcp` block, checked and with defaults filled in. */
export interface Contract {
  /** `^[a-z][a-z0-9-]*$`; the skill's name and the name of its folder. */
  readonly id: string
  /** A semantic version with at most one suffix. */
  readonly version: string
  readonly tags: readonly string[]
  /** URIs; `resource://skills/<id>/document` is among them. */
  readonly capabilities: readonly string[]
  /** Ids of other skills. */
  readonly dependsOn: readonly string[]
  /** In the order of their ids. */
  readonly references: readonly Reference[]
  /** As MCP has them; empty where none are given. */
  readonly icons: readonly Icon[]
}

/** One reference document. */
export interface Reference {
  /** `^[a-z][a-z0-9-]*$`, stable, whatever the file is called. */
  readonly id: string
  /** Relative to the skill's folder, normalised, below `references/`. */
  readonly path: string
  readonly mimeType: string
  readonly title?: string
}

export interface Icon {
  /** A normalised `https:` address, or an image as `data:` in base64. */
  readonly src: string
  readonly mimeType?: string
  readonly sizes?: readonly string[]
}

/** What an id of the contract looks like: that of a skill and that of a reference. Those of skills are skill names too. */
export function isContractId(text: string): boolean {
  return CONTRACT_ID.test(text)
}

const CONTRACT_ID = /^[a-z][a-z0-9-]*$/

/** The frontmatter key that the contract lives under. */
export const CONTRACT_KEY = 'x-personal-mcp'
