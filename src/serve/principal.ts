/** What a token may open, each by itself. `skills` is what every MCP client needs. */
export const SCOPES = ['skills', 'tools', 'prompts', 'contract', 'page', 'well-known', 'metrics'] as const
export type Scope = (typeof SCOPES)[number]

/** Who is behind a request, as its token proves. */
export interface Principal {
  /** For the log, for limits, and for whose a session is: never another's, as a name may be. No secret. */
  readonly id: string
  readonly scopes: ReadonlySet<Scope>
  /** Whether the token has expired or was revoked since. What goes on for long, such as a stream, ends then. */
  readonly isOver?: () => boolean
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
