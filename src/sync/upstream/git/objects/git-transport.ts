import type { Ref, Server } from './ref-rules.ts'
import type { FetchLimits } from '../../upstream.ts'

/** How a git repository is reached. It knows no rule about refs, and keeps nothing of the repository. */
export interface GitTransport {
  /** Those of the refs that exist, in full names; see `patternsOf`. Others may be in the answer, and a tag need not be peeled. */
  list(patterns: readonly string[], signal: AbortSignal): Promise<readonly Ref[]>
  /** The same ref, and where it is an annotated tag, what that leads to. */
  peel(ref: Ref, signal: AbortSignal): Promise<Ref>
  /** Whether there is no branch and no tag at all. */
  isEmpty(signal: AbortSignal): Promise<boolean>
  /** Where a worker finds the objects. */
  locate(signal: AbortSignal): Promise<Place>
  /** A fetch failed: what was remembered of the other side may be why. */
  forget(): void
}

/** What the git program is to work on: an address, or the folder of a repository on this disk. */
export type ProgramTarget =
  | { readonly kind: 'ssh'; readonly url: string }
  | { readonly kind: 'http'; readonly url: string }
  | { readonly kind: 'disk'; readonly folder: string }

/** Where a repository's objects are. */
export type Place =
  | { readonly kind: 'remote'; readonly url: string; readonly server: Server }
  | { readonly kind: 'disk'; readonly folder: string }
  /** With the git program, whose objects the worker reads over its own standard input and output. */
  | { readonly kind: 'program'; readonly target: ProgramTarget }

/** What a fetch begins with. `scratch` is a folder that it alone writes to. */
export interface WorkerTask {
  readonly place: Place
  readonly scratch: string
  readonly limits: FetchLimits
}
