import type { SourceId } from '../source-id.ts'

/**
 * The skills of other MCP servers that the operator named by URI because no server lists them: by source and URI. Every
 * check of the server includes them, like the `uris` of the configuration.
 */
export type Namings = ReadonlyMap<SourceId, ReadonlyMap<string, Naming>>

export interface Naming {
  /** The skill is taken even if the server cannot declare its files: their content is what a read returns. */
  readonly unverified?: true
  /** The skill was mirrored: its files are read to learn the sizes that the server does not declare. */
  readonly measured?: true
  /** ISO 8601, UTC. */
  readonly at: string
  /** The system user that named the skill. */
  readonly by: string
}

export const NONE_NAMED: Namings = new Map()

/** The namings with this one added, or removed if it is `undefined`. Returns the same value if nothing changes. */
export function withNaming(before: Namings, source: SourceId, uri: string, naming: Naming | undefined): Namings {
  const ofSource = new Map(before.get(source))
  const known = ofSource.get(uri)
  if (known === naming || (known !== undefined && naming !== undefined && saysTheSame(known, naming))) return before
  if (naming === undefined) ofSource.delete(uri)
  else ofSource.set(uri, naming)
  const rest = [...before].filter(([other]) => other !== source)
  return new Map(ofSource.size === 0 ? rest : [...rest, [source, ofSource]])
}

function saysTheSame(one: Naming, other: Naming): boolean {
  return one.unverified === other.unverified && one.measured === other.measured
}
