import type { z } from 'zod'

/** Something that a frontmatter has against the contract. */
export interface ContractFault {
  /** Where in the frontmatter: `x-personal-mcp.references.api.path`. */
  readonly path: string
  /** What is the case there, with the value, and the mend. */
  readonly message: string
}

export function faultAt(path: readonly PropertyKey[], message: string): ContractFault {
  return { path: pathOf(path), message }
}

/** What a schema found below `above`. Its messages are ours already. */
export function faultsOf(error: z.ZodError | undefined, above: readonly string[]): ContractFault[] {
  return error?.issues.map(({ path, message }) => faultAt([...above, ...path], message)) ?? []
}

function pathOf(keys: readonly PropertyKey[]): string {
  return keys.map(segmentOf).join('').replace(/^\./, '')
}

function segmentOf(key: PropertyKey): string {
  if (typeof key === 'number') return `[${key}]`
  const text = String(key)
  // A key can be whatever YAML takes.
  return /^[\w-]{1,64}$/.test(text) ? `.${text}` : `[${JSON.stringify(text.slice(0, 64).toWellFormed())}]`
}
