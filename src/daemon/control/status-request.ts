import { z } from 'zod'
import type { KnownLock } from '../pull/trust/known-lock.ts'
import type { StatusReader } from '../status/status-reader.ts'
import { defineRequest, paramsOf } from './request.ts'

/** Returns the status without the findings, which can exceed one line of the socket: the client reads them from the state folder. */
export const statusRequest = defineRequest({
  name: 'status',
  params: paramsOf({}),
  // A daemon of another version has another form of it.
  answer: z.unknown(),
  async run({ lock, status }: { readonly lock: KnownLock; readonly status: StatusReader }) {
    await lock.read()
    return status.status(true)
  },
})
