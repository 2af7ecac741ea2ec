import type { Principal } from './principal.ts'

/** The decision about a request. A denial is the same whether or not the requested thing exists. */
export type AccessDecision = Granted | Denied

export interface Granted {
  readonly kind: 'granted'
  /** Undefined where none is needed and none was given. */
  readonly principal: Principal | undefined
}

export interface Denied {
  readonly kind: 'denied'
  readonly status: number
  readonly message: string
  readonly headers: Readonly<Record<string, string>>
  /** The denied principal, if it is known. */
  readonly principal?: Principal
}
