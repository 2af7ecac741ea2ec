import { z } from 'zod'
import { TOKEN } from '../../access/tokens.ts'
import type { Tokens } from '../../access/tokens.ts'
import { defineRequest, NOTHING, paramsOf } from '../../control/request.ts'

interface TokenParts {
  readonly tokens: Tokens
}

export const addTokenRequest = defineRequest({
  name: 'token-add',
  params: paramsOf({ token: TOKEN }),
  answer: NOTHING,
  run: async ({ tokens }: TokenParts, { token }) => tokens.add(token),
})

export const renewTokenRequest = defineRequest({
  name: 'token-renew',
  params: paramsOf({ name: z.string(), expires: TOKEN.shape.expires }),
  answer: NOTHING,
  run: async ({ tokens }: TokenParts, { name, expires }) => tokens.renew(name, expires),
})

export const revokeTokenRequest = defineRequest({
  name: 'token-revoke',
  params: paramsOf({ name: z.string() }),
  answer: NOTHING,
  run: async ({ tokens }: TokenParts, { name }) => tokens.revoke(name),
})
