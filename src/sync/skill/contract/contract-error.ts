import type { z } from 'zod'
import type { FrontmatterPath } from '../skill-diagnostic.ts'
import { CONTRACT_KEY } from './contract.ts'

/** One deviation of a frontmatter from the contract. */
export interface ContractFault {
  /** The place in the frontmatter: `x-personal-mcp.references.api.path`. */
  readonly path: string
  /** The same place, key by key. */
  readonly keys: FrontmatterPath
  /** The problem, with the value, and the fix. */
  readonly message: string
}

export function faultAt(keys: FrontmatterPath, message: string): ContractFault {
  return { path: pathOf(keys), keys, message }
}

/** Noted first where the contract is only offered, and broken. */
export const NOT_OFFERED = faultAt(
  [CONTRACT_KEY],
  'is not served at resource://, because the frontmatter breaks the contract',
)

/** The faults that a schema found below `above`. Its messages are already ours. */
export function contractFaultsOf(error: z.ZodError | undefined, above: readonly string[]): ContractFault[] {
  return error?.issues.map(({ path, message }) => faultAt([...above, ...path], message)) ?? []
}

function pathOf(keys: FrontmatterPath): string {
  return keys.map(segmentOf).join('').replace(/^\./, '')
}

function segmentOf(key: PropertyKey): string {
  if (typeof key === 'number') return `[${key}]`
  const text = String(key)
  // YAML allows any text as a key.
  return /^[\w-]{1,64}$/.test(text) ? `.${text}` : `[${JSON.stringify(text.slice(0, 64).toWellFormed())}]`
}
