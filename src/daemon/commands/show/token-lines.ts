import { countOf } from '../../../base/text/plural.ts'
import type { HttpStatus } from '../../status/status.ts'

/** The line of the status about the access of clients. */
export function accessText({ tokens: { required, count } }: HttpStatus): string {
  const need = required ? 'clients need a token' : 'clients need no token'
  if (count === undefined) return need
  if (count === 0) return required ? `${need}, and there is none` : need
  return `${need}; there ${count === 1 ? 'is' : 'are'} ${countOf(count, 'token')}`
}
