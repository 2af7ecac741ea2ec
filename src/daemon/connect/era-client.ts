import type { ProbeFetch } from './probe-fetch.ts'

/** A client of one era of the protocol, at an address: what an agent's host does, one thing after another. */
export interface EraClient {
  /** The package that it is, with its version where that is known. */
  readonly name: string
  /** Opens the connection. Gives the revision that was agreed on. */
  open(signal: AbortSignal): Promise<string>
  /** The skills that are listed. */
  list(signal: AbortSignal): Promise<readonly ListedSkill[]>
  /** Reads a file of a skill, and throws a `DigestMismatch` where it is not what the listing says. */
  read(skill: ListedSkill, file: ListedFile, signal: AbortSignal): Promise<void>
  subscribe(uri: string, signal: AbortSignal): Promise<void>
  unsubscribe(uri: string, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

export interface ListedSkill {
  readonly uri: string
  readonly files: readonly ListedFile[]
}

export interface ListedFile {
  readonly uri: string
  readonly digest: string
  readonly size: number
}

/** The address, transport and version with which a client is opened. */
export interface ClientOptions {
  readonly url: URL
  readonly fetch: ProbeFetch
  /** The version of this program. */
  readonly version: string
}

/** A file came otherwise than the listing says. */
export class DigestMismatch extends Error {
  override readonly name = 'DigestMismatch'
}
