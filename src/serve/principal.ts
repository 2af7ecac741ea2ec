/** What a token may open, each by itself. `skills` is what every MCP client needs. */
export const SCOPES = ['skills', 'tools', 'prompts', 'contract', 'page', 'well-known', 'metrics'] as const
export type Scope = (typeof SCOPES)[number]

/** Who is behind a request, as its token proves. */
export interface Principal {
  /** For the log, for limits, and for whose a session is: never another's, as a name may be. No secret. */
  readonly id: string
  readonly scopes: ReadonlySet<Scope>
  /** The packs that it sees: nothing else exists for it. Undefined: everything. */
  readonly packs?: ReadonlySet<string>
  /** Whether the token has expired or was revoked since. What goes on for long, such as a stream, ends then. */
  readonly isOver?: () => boolean
}

/** Whether this is open to it. Figures are of everything, so to whoever sees packs alone they are not. */
export function opens({ scopes, packs }: Principal, scope: Scope): boolean {
  return scopes.has(scope) && (packs === undefined || scope !== 'metrics')
}

/** Whether what goes on in its name has to end. */
export function isOver(principal: Principal | undefined): boolean {
  return principal?.isOver?.() === true
}

/**
 * Whom a bearer token stands for; undefined for one that is unknown, expired, revoked or meant for somebody else. Which of
 * those it was is nothing that its bearer is told. `unavailable` where nobody can tell at the moment: the token may be good.
 */
export type Authenticate = (token: string) => Promise<Principal | 'unavailable' | undefined>
