import type { Writable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'

/** Writes byte by byte, each after a wait, until all are written, nobody takes them or the server ends. */
export async function trickle(
  body: string | Uint8Array,
  delayMs: number,
  out: Writable,
  end: AbortSignal,
): Promise<void> {
  const gone = new AbortController()
  out.once('close', () => gone.abort())
  const signal = AbortSignal.any([end, gone.signal])
  for (const byte of Buffer.from(body)) {
    const isOver = await setTimeout(delayMs, false, { signal }).catch(() => true)
    if (isOver || out.destroyed) return
    out.write(Buffer.from([byte]))
  }
}
