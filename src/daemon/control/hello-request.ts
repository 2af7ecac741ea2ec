import type { Config } from '../config/config.ts'
import { defineRequest, paramsOf } from './request.ts'
import { MODE } from './same-config.ts'

/** Returns the mode of the process that writes the state folder. */
export const helloRequest = defineRequest({
  name: 'hello',
  params: paramsOf({}),
  // Another version of this program does not return it.
  answer: MODE.optional().catch(undefined),
  run: async ({ config }: { readonly config: Config }) => config.mode,
})
