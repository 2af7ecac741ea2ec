import type { FetchLimits } from '../../upstream/upstream.ts'
import type { Ref, Server } from './ref-rules.ts'

/** The transport to a git repository. It knows no rule about refs, and keeps nothing of the repository. */
export interface GitTransport {
  /** Lists the matching refs by full names; see `patternsOf`. It may list others, and tags that are not peeled. */
  list(patterns: readonly string[], signal: AbortSignal): Promise<readonly Ref[]>
  /** The same ref, and where it is an annotated tag, what that leads to. */
  peel(ref: Ref, signal: AbortSignal): Promise<Ref>
  /** True if the repository has no branch and no tag. */
  isEmpty(signal: AbortSignal): Promise<boolean>
  /** The location of the objects, for a worker. */
  locate(signal: AbortSignal): Promise<ObjectLocation>
  /** A fetch failed: what was remembered of the other side may be why. */
  forget(): void
}

/** The operand of the git program: an address, or the folder of a repository on this disk. */
export type ProgramTarget =
  | { readonly kind: 'ssh'; readonly url: string }
  | { readonly kind: 'http'; readonly url: string }
  | { readonly kind: 'disk'; readonly folder: string }

/** The location of the objects of a repository. */
export type ObjectLocation =
  | { readonly kind: 'remote'; readonly url: string; readonly server: Server }
  | { readonly kind: 'disk'; readonly folder: string }
  /** Over http(s) or on this disk, read by isomorphic-git. */
  | {
      readonly kind: 'isomorphic'
      readonly repository:
        | { readonly kind: 'remote'; readonly url: string }
        | { readonly kind: 'disk'; readonly folder: string }
    }
  /** With the git program, whose objects the worker reads over its own standard input and output. */
  | { readonly kind: 'program'; readonly target: ProgramTarget }

/**
 * The first message of a fetch. `scratch` is a folder that this fetch alone writes to, and `database` the one that
 * blobs are stored in.
 */
export interface WorkerTask {
  readonly place: ObjectLocation
  readonly scratch: string
  readonly database: string
  readonly limits: FetchLimits
}
