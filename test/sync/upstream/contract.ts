import { describe } from 'vitest'
import type { ObjectFormat } from '../../../src/sync/model/revision.ts'
import { fetches } from './contract-fetch.ts'
import { refuses } from './contract-refuse.ts'
import { resolves } from './contract-resolve.ts'
import { stops } from './contract-stop.ts'
import { takes } from './contract-take.ts'
import type { Open } from './reached.ts'

/** What every upstream promises, tried on real repositories of one object format. */
export function keepsTheUpstreamContract(name: string, open: Open, objectFormat: ObjectFormat = 'sha1'): void {
  describe(`an upstream ${name}`, () => {
    resolves(open, objectFormat)
    fetches(open, objectFormat)
    takes(open, objectFormat)
    refuses(open, objectFormat)
    stops(open, objectFormat)
  })
}
