import { timed } from './figure.ts'
import type { Wire } from './wire.ts'

/** What each of the requests took that these connections have sent in turns, for as long as it is on. */
export async function latencies(wires: readonly Wire[], request: Buffer, isOn: () => boolean): Promise<number[]> {
  const all: number[] = []
  const ask = async (wire: Wire): Promise<void> => {
    while (isOn()) all.push(await timed(async () => wire.exchange(request)))
  }
  await Promise.all(wires.map(ask))
  return all
}

export function p99(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? Number.NaN
}
