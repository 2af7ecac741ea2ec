import { z } from 'zod'
import { diagnosticsAbout } from '../../sync/catalog/contract-diagnostics.ts'
import type { Puller } from '../pull/puller.ts'
import type { PullActivity } from '../pull/schedule/pull-activity.ts'
import type { ContractNews } from '../status/contract-news.ts'
import { summarizeContract } from '../status/contract-news.ts'
import { SYNC_EVENT, syncEndOf } from '../status/pull-result.ts'
import type { StatusReader } from '../status/status-reader.ts'
import { defineRequest, paramsOfSources } from './request.ts'
import type { LinkedParts } from './request.ts'

interface SyncParts extends LinkedParts {
  readonly activity: PullActivity
  readonly contract: ContractNews
  readonly folders: { readonly follow: () => void }
  readonly followedLock: { readonly look: (signal: AbortSignal) => Promise<void> }
  readonly puller: Puller
  readonly status: StatusReader
}

/** Pulls sources now. Returns the problems between skills in which they have a part. */
export const syncRequest = defineRequest({
  name: 'sync',
  isForLeader: true,
  params: paramsOfSources(),
  // A daemon of another version returns nothing.
  answer: z
    .object({
      problems: z
        .array(z.object({ code: z.string(), message: z.string() }))
        .readonly()
        .default([]),
    })
    .nullish()
    .transform((answer) => answer ?? { problems: [] }),
  event: SYNC_EVENT,
  async run(parts: SyncParts, { sources }, { send, signal }) {
    const { activity, contract, folders, followedLock, linked, puller, status } = parts
    await followedLock.look(signal)
    const pulls = sources.map(async (source) => {
      using _watching = activity.watch(source, (fetched) => send({ fetching: { source, ...fetched } }))
      const outcome = await puller.request(source, 'command')
      folders.follow()
      await linked()
      send(syncEndOf(source, outcome, status.sourceNotes(source)))
    })
    await Promise.all(pulls)
    const summaries = summarizeContract(diagnosticsAbout(new Set(sources), await contract.diagnostics()))
    return { problems: summaries.map(({ code, message }) => ({ code, message })) }
  },
})
