import { invalidParams } from './rpc-error.ts'

/** The params of a request: checked field by field, since nothing about them is known. */
export type Params = Readonly<Record<string, unknown>>

/** The `uri` of a request that names a resource; refuses params without one. */
export function requiredUri(params: Params): string {
  const uri = params['uri']
  if (typeof uri !== 'string' || uri === '') throw invalidParams('`uri` is required, and is a string')
  return uri
}
