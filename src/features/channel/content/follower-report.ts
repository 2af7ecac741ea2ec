import { z } from 'zod'
import { canonicalJson } from '../../../base/canonical-json.ts'
import { parseJson } from '../../../base/json-value.ts'
import { MOST_RECALLS } from '../../../sync/model/decisions/published-recall.ts'
import { isDigest } from '../../../sync/store/skills/stored-path.ts'
import type { FollowerReport } from '../recall/follower-report.ts'

const FOLLOWER = /^[\da-f]{32}$/
const COUNT = z.int().nonnegative().max(1e9)
const COUNTS = z.object({ recall: z.string().refine(isDigest), obeyed: COUNT, behind: COUNT, unreachable: COUNT })

const REPORT = z.object({
  follower: z.string().regex(FOLLOWER),
  size: z.int().nonnegative(),
  below: z.array(COUNTS).max(MOST_RECALLS),
})

/** Parses the body of a report; `undefined` if it is none. */
export function parseReport(bytes: Uint8Array): FollowerReport | undefined {
  return REPORT.safeParse(parseJson(Buffer.from(bytes).toString('utf8'))).data
}

export function reportText(report: FollowerReport): string {
  return canonicalJson(report)
}

/** The value of the header of a follower: its id, and the size. */
export function followerHeader({ follower, size }: Pick<FollowerReport, 'follower' | 'size'>): string {
  return `${follower} ${size}`
}

/** Parses the value of that header; `undefined` if it is none. */
export function parseFollowerHeader(text: string): Pick<FollowerReport, 'follower' | 'size'> | undefined {
  const [, follower = '', size = ''] = /^([\da-f]{32}) (\d{1,15})$/.exec(text) ?? []
  return follower === '' ? undefined : { follower, size: Number(size) }
}
