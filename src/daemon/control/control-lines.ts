import type { Socket } from 'node:net'
import { isObject } from '../../base/json-object.ts'
import { parseJson } from '../../base/json-value.ts'

/** The longest line that either end of the control socket accepts, including its newline. */
export const LINE_BYTES = 1_048_576

/**
 * Calls `onLine` for each line that arrives, in order. After a line that is too long it calls `onTooLong` once, and
 * then nothing more.
 */
export function readLines(socket: Socket, onLine: (line: string) => void, onTooLong: () => void): void {
  let parts: Buffer[] = []
  let bytes = 0
  let over = false
  socket.on('data', (chunk: Buffer) => {
    for (let rest = chunk; rest.length > 0 && !over;) {
      const feed = rest.indexOf(0x0a)
      const part = feed === -1 ? rest : rest.subarray(0, feed + 1)
      rest = rest.subarray(part.length)
      bytes += part.length
      over = bytes > LINE_BYTES
      if (over) return onTooLong()
      parts.push(part)
      if (feed === -1) return
      const line = Buffer.concat(parts).toString('utf8')
      parts = []
      bytes = 0
      onLine(line)
    }
  })
}

/** The JSON object in a line, or `undefined`. */
export function parseLine(line: string): Readonly<Record<string, unknown>> | undefined {
  const value = parseJson(line)
  return isObject(value) ? value : undefined
}
