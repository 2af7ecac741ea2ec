import type { Principal } from './principal.ts'

/** Whether a request is let in. A denial says nothing of what was asked for, whether or not there is such a thing. */
export type Decision = Granted | Denied

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
  /** Who is denied, where that is known. */
  readonly principal?: Principal
}
