import { describe } from 'vitest'
import { fetches } from './contract-fetch.ts'
import { refuses } from './contract-refuse.ts'
import { resolves } from './contract-resolve.ts'
import { stops } from './contract-stop.ts'
import { takes } from './contract-take.ts'
import type { Open } from './reached.ts'

/** What every upstream promises, tried on real repositories. */
export function keepsTheUpstreamContract(name: string, open: Open): void {
  describe(`an upstream ${name}`, () => {
    resolves(open)
    fetches(open)
    takes(open)
    refuses(open)
    stops(open)
  })
}
