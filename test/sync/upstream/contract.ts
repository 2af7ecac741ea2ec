import { afterAll, beforeEach, describe, expect } from 'vitest'
import type { ObjectFormat } from '../../../src/sync/model/revision.ts'
import { fetches } from './contract-fetch.ts'
import { lacks, refuses } from './contract-refuse.ts'
import { relates, relatesAnyHistory } from './contract-relation.ts'
import { resolves } from './contract-resolve.ts'
import { stops } from './contract-stop.ts'
import { takes } from './contract-take.ts'
import type { Open } from './reached.ts'

/** One promise of every upstream, tried on real repositories. */
type Promised = (open: Open, objectFormat: ObjectFormat) => void

interface Kind {
  /** Of the repositories that are tried. */
  readonly objectFormat?: ObjectFormat
  /** The promises that are tried; all unless given. */
  readonly promises?: readonly Promised[]
  /** The tests that it cannot pass, by the start of their names: each is skipped with the reason. */
  readonly beyond?: Readonly<Record<string, string>>
}

const ALL: readonly Promised[] = [resolves, fetches, takes, refuses, lacks, stops, relates, relatesAnyHistory]

/**
 * What every upstream promises. An implementation tries all of it once. A variant of one, which differs from it in a
 * part of the code, tries the promises that this part keeps.
 */
export function keepsTheUpstreamContract(name: string, open: Open, kind: Kind = {}): void {
  const { objectFormat = 'sha1', promises = ALL, beyond = {} } = kind
  describe(`an upstream ${name}`, () => {
    const starts = Object.keys(beyond)
    const met = new Set<string>()
    beforeEach(({ task, skip }) => {
      const start = starts.find((each) => task.name.startsWith(each))
      if (start === undefined) return
      met.add(start)
      skip(beyond[start])
    })
    afterAll(() => expect([...met].toSorted(), 'rows that name no test').toEqual(starts.toSorted()))
    for (const keeps of promises) keeps(open, objectFormat)
  })
}
