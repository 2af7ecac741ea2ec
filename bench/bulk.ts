import { createCipheriv } from 'node:crypto'

/** Files of so many bytes that do not compress, no two alike; the same for the same number, on each machine. */
export function makeBulk(paths: readonly string[], bytes: number, number = 0): Record<string, Uint8Array> {
  const start = Buffer.alloc(16)
  start.writeUInt32BE(number)
  const cipher = createCipheriv('aes-128-ctr', Buffer.alloc(16), start)
  // Each begins a little behind the one before: as many bytes as there are files would not fit everywhere.
  const noise = cipher.update(Buffer.alloc(bytes + paths.length * STEP))
  return Object.fromEntries(
    paths.map((path, index) => [path, noise.subarray(index * STEP, index * STEP + bytes)] as const),
  )
}

const STEP = 64
