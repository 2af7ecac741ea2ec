import type { z } from 'zod'

/** One deviation of a frontmatter from the contract. */
export interface ContractFault {
  /** The place in the frontmatter: `x-personal-mcp.references.api.path`. */
  readonly path: string
  /** The problem, with the value, and the fix. */
  readonly message: string
}

export function faultAt(path: readonly PropertyKey[], message: string): ContractFault {
  return { path: pathOf(path), message }
}

/** The faults that a schema found below `above`. Its messages are already ours. */
export function contractFaultsOf(error: z.ZodError | undefined, above: readonly string[]): ContractFault[] {
  return error?.issues.map(({ path, message }) => faultAt([...above, ...path], message)) ?? []
}

function pathOf(keys: readonly PropertyKey[]): string {
  return keys.map(segmentOf).join('').replace(/^\./, '')
}

function segmentOf(key: PropertyKey): string {
  if (typeof key === 'number') return `[${key}]`
  const text = String(key)
  // YAML allows any text as a key.
  return /^[\w-]{1,64}$/.test(text) ? `.${text}` : `[${JSON.stringify(text.slice(0, 64).toWellFormed())}]`
}
