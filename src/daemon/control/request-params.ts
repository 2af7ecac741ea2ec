import type { z } from 'zod'
import { OperatorError } from '../runtime/operator-error.ts'

/** The part of a request that the schema describes. */
export function parseParams<Value>(schema: z.ZodType<Value>, params: unknown): Value {
  const { data, success } = schema.safeParse(params)
  if (!success) throw new OperatorError('bad-request', 'The request lacks something, or has it in another form')
  return data
}
