import type { ItemsOf } from '../../daemon/status/items.ts'
import type { Item } from '../../sync/model/item.ts'

/** The rings that take no commit of a source now. Each takes one as soon as the reason is over. */
export const ringItems: ItemsOf = ({ rings = [] }) =>
  rings.flatMap(({ id, sources }) =>
    sources.flatMap(({ source, stopped, heldAt }): Item[] => {
      if (stopped === undefined) return []
      const fix = 'skillsyncd status --rings shows what it serves, and what comes next'
      const problems = [{ code: 'ring-stopped', message: `${stopped.code}: ${stopped.message}`, fix }] as const
      const of = { kind: 'ring', id: `${id}, ${source}`, source, problems, isPrivate: true } as const
      return heldAt === undefined
        ? [{ ...of, state: 'stopped', urgency: 'retried' }]
        : [{ ...of, state: 'held', urgency: 'chosen', since: heldAt }]
    }),
  )
