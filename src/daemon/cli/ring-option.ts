import { earlierRing } from '../config/channel-names.ts'
import { printableLine } from '../runtime/log/log-line.ts'
import { UsageError } from '../runtime/usage-error.ts'

/** The ring whose channel `--ring` names. `undefined` if the option is absent, or names the last ring. */
export function channelRingNamed(
  { ring, pack }: { readonly ring?: unknown; readonly pack?: unknown },
  { rings }: { readonly rings: readonly { readonly id: string }[] },
): string | undefined {
  if (typeof ring !== 'string') return undefined
  if (pack !== undefined)
    throw new UsageError('--ring does not go with --pack: a pack has the content of the last ring')
  const known = rings.map(({ id }) => id)
  if (known.includes(ring)) return earlierRing(ring, rings)
  const there = known.length === 0 ? 'the configuration has none' : `there are ${known.join(', ')}`
  throw new UsageError(`--ring names a ring of the configuration; "${printableLine(ring)}" is none; ${there}`)
}
