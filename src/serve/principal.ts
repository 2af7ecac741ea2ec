/** The scopes of a token; each is granted separately. Every MCP client needs `skills`. */
export const SCOPES = [
  'skills',
  'tools',
  'prompts',
  'contract',
  'page',
  'well-known',
  'marketplace',
  'channel',
  'metrics',
  'telemetry',
] as const
export type Scope = (typeof SCOPES)[number]

/** The identity behind a request, as its token proves it. */
export interface Principal {
  /**
   * Identifies the principal in the log, for limits and for session ownership. It is unique, unlike a name, and holds
   * no secret.
   */
  readonly id: string
  /** The name of the person in the words of the issuer, if it gives one. Only shown: two persons can have one name. */
  readonly name?: string
  readonly scopes: ReadonlySet<Scope>
  /** The packs that the principal sees; nothing else exists for it. `undefined`: it sees everything. */
  readonly packs?: ReadonlySet<string>
  /** The limits of an access token of an authorization server, by which other processes of a hub know its end. */
  readonly term?: PrincipalTerm
  /** True if the token has expired or was revoked. Long-lived work, such as a stream, ends then. */
  readonly isOver?: () => boolean
}

/** The end of a principal by the clock of the wall, and whether the hub had packs, which its scopes depend on. */
export interface PrincipalTerm {
  readonly endMs: number
  readonly hadPacks: boolean
}

/**
 * True if a principal of this term must authenticate again. The first pack, and the removal of the last one, change what
 * its token opens.
 */
export function isTermOver({ endMs, hadPacks }: PrincipalTerm, now: Date, hasPacks: boolean): boolean {
  return now.getTime() >= endMs || hasPacks !== hadPacks
}

/** True if the principal has the scope. Metrics cover everything, so a principal limited to packs never has them. */
export function hasScope({ scopes, packs }: Principal, scope: Scope): boolean {
  return scopes.has(scope) && (packs === undefined || scope !== 'metrics')
}

/** True if work on behalf of the principal must end. */
export function isOver(principal: Principal | undefined): boolean {
  return principal?.isOver?.() === true
}

/**
 * Returns the principal of a bearer token; `undefined` if the token is unknown, expired, revoked or issued for another
 * service. The client never learns which. `unavailable` if this cannot be decided at the moment: the token may be
 * valid.
 */
export type Authenticate = (token: string) => Promise<Principal | 'unavailable' | undefined>
