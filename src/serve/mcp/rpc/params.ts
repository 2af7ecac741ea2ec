import { invalidParams } from './rpc-error.ts'

/** The params of a request; each field must be checked, because the client may send anything. */
export type Params = Readonly<Record<string, unknown>>

/** Returns the `uri` of a request that names a resource; throws if it is missing. */
export function requiredUri(params: Params): string {
  const uri = params['uri']
  if (typeof uri !== 'string' || uri === '') throw invalidParams('`uri` is required, and is a string')
  return uri
}
