import type { ProbeFetch } from './probe-fetch.ts'

/** A client of one era of the protocol, at an address. Its methods follow the steps of an agent's host. */
export interface EraClient {
  /** The package, with its version if that is known. */
  readonly name: string
  /** Opens the connection. Returns the negotiated revision. */
  open(signal: AbortSignal): Promise<string>
  /** The listed skills. */
  list(signal: AbortSignal): Promise<readonly ListedSkill[]>
  /** Reads a file of a skill. Throws a `DigestMismatchError` if the file differs from the listing. */
  read(skill: ListedSkill, file: ClientFile, signal: AbortSignal): Promise<void>
  subscribe(uri: string, signal: AbortSignal): Promise<void>
  unsubscribe(uri: string, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

export interface ListedSkill {
  readonly uri: string
  readonly files: readonly ClientFile[]
}

export interface ClientFile {
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

/** A file differs from the listing. */
export class DigestMismatchError extends Error {
  override readonly name = 'DigestMismatch'
}
