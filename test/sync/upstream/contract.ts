import { describe } from 'vitest'
import type { ObjectFormat } from '../../../src/sync/model/revision.ts'
import { fetches } from './contract-fetch.ts'
import { refuses } from './contract-refuse.ts'
import { relates, relatesNothing } from './contract-relation.ts'
import { resolves } from './contract-resolve.ts'
import { stops } from './contract-stop.ts'
import { takes } from './contract-take.ts'
import type { Open } from './reached.ts'

interface Kind {
  /** Of the repositories that are tried. */
  readonly objectFormat?: ObjectFormat
  /** Whether commits can be had without all that they hold. */
  readonly seesHistory?: boolean
}

/** What every upstream promises, tried on real repositories. */
export function keepsTheUpstreamContract(name: string, open: Open, kind: Kind = {}): void {
  const { objectFormat = 'sha1', seesHistory = true } = kind
  describe(`an upstream ${name}`, () => {
    resolves(open, objectFormat)
    fetches(open, objectFormat)
    takes(open, objectFormat)
    refuses(open, objectFormat)
    stops(open, objectFormat)
    if (seesHistory) relates(open, objectFormat)
    else relatesNothing(open, objectFormat)
  })
}
