import type { SourceId } from './source-id.ts'

/**
 * The skills of other MCP servers that people named by their URIs, since no server lists them: by source and URI. Each is part
 * of every look at its server, like the `uris` of the configuration.
 */
export type Namings = ReadonlyMap<SourceId, ReadonlyMap<string, Naming>>

export interface Naming {
  /** It is taken even where the server cannot tell what lies there: its files are what they are when they are read. */
  readonly unverified?: true
  /** It was mirrored: its files are read to learn the sizes that its server does not tell. */
  readonly measured?: true
  /** ISO 8601, UTC. */
  readonly at: string
  /** The user of the system who did it. */
  readonly by: string
}

export const NONE_NAMED: Namings = new Map()

/** What is named once this is, or, undefined, is no longer. The same value where that changes nothing. */
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
