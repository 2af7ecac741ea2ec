/** The content of a skill's `x-personal-mcp` block, validated and with defaults filled in. */
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
  /** In the form of MCP; empty if none are given. */
  readonly icons: readonly Icon[]
  /** True if its source requires the contract of no skill: it raises no alarm, and takes no id from a required one. */
  readonly isOffered?: true
}

/** One reference document. */
export interface Reference {
  /** `^[a-z][a-z0-9-]*$`, stable, whatever the name of the file is. */
  readonly id: string
  /** Relative to the skill's folder, normalized, below `references/`. */
  readonly path: string
  readonly mimeType: string
  readonly title?: string
}

export interface Icon {
  /** A normalized `https:` address, or an image as `data:` in base64. */
  readonly src: string
  readonly mimeType?: string
  readonly sizes?: readonly string[]
}

/**
 * True if the text can be an id of the contract, of a skill or of a reference. Ids of skills must be skill names too.
 */
export function isContractId(text: string): boolean {
  return CONTRACT_ID.test(text)
}

const CONTRACT_ID = /^[a-z][a-z0-9-]*$/

/** The frontmatter key of the contract block. */
export const CONTRACT_KEY = 'x-personal-mcp'
