import { z } from 'zod'
import type { Config } from '../config/config.ts'
import { sourceNamed } from '../config/named-sources.ts'
import type { PullScheduler } from '../pull/schedule/pull-scheduler.ts'
import { defineRequest, NOTHING, paramsOf } from './request.ts'

interface LookParts {
  readonly config: Config
  readonly scheduler: PullScheduler
}

/** Checks the stale sources, or the one that is named, for a process that answers clients. */
export const lookRequest = defineRequest({
  name: 'look',
  checks: 'mode',
  isForLeader: true,
  params: paramsOf({ sources: z.array(z.string()).optional() }),
  answer: NOTHING,
  async run({ config, scheduler }: LookParts, { sources = [] }) {
    const [source] = sources
    await scheduler.refresh(source === undefined ? undefined : sourceNamed(source, config))
  },
})
