import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { DELIMITER, FLUSH, packet } from '../../../../src/base/pkt-line.ts'
import { printable } from '../../../../src/base/text/printable.ts'
import { guardAnswer, packets, ServerRefusedError, type Packet } from '../../../../src/sync/git/smart-http/pkt-line.ts'

test('lines come out as they went in, however the bytes are cut', async () => {
  const line = fc.oneof(fc.string({ maxLength: 50 }), fc.constant(FLUSH), fc.constant(DELIMITER))
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.integer({ min: 1, max: 9 }), async (lines, size) => {
      const bytes = Buffer.concat(lines.map((line) => (typeof line === 'string' ? packet(line) : line)))

      const read = await all(packets(cut(bytes, size)))

      expect(read.map(textOf)).toEqual(lines.map((line) => (typeof line === 'string' ? line : markOf(line))))
    }),
  )
})

test('the guard passes on a whole answer and no answer that is cut, wherever it is cut', async () => {
  const whole = Buffer.concat([packet('one'), DELIMITER, packet('two\n'), FLUSH])
  for (let length = 0; length < whole.length; length += 1) {
    await expect(all(guardAnswer(cut(whole.subarray(0, length), 3), 'Cannot reach it'))).rejects.toThrow('cut off')
  }

  const passed = await all(guardAnswer(cut(whole, 3), 'Cannot reach it'))

  expect(Buffer.concat(passed)).toEqual(whole)
})

test('the flush after the name of the service is not yet the end', async () => {
  const start = Buffer.concat([packet('# service=git-upload-pack\n'), FLUSH])

  await expect(all(guardAnswer(cut(start, 5), 'Cannot reach it'))).rejects.toThrow('cut off')
})

test.each(['ERR no such thing', '\u0003no such thing\n'])('what the server says in %j is the error', async (line) => {
  const answer = Buffer.concat([packet('NAK\n'), packet(line), FLUSH])
  for (const size of [1, 7, 100]) {
    const failure = all(guardAnswer(cut(answer, size), 'Cannot reach it'))

    await expect(failure).rejects.toThrow(ServerRefusedError)
    await expect(failure).rejects.toMatchObject({ said: 'no such thing' })
  }
})

test.each(['zzzz', '0003', 'fff1', '-001', ' 12a'])('the frame %j is none of git', async (frame) => {
  await expect(all(packets(cut(Buffer.from(frame), 4)))).rejects.toMatchObject({ code: 'source-unreachable' })
})

test('text of the other side becomes one short line', () => {
  expect(printable('a\r\n\u001b[31mb\u202e\t c ')).toBe('a [31mb c')
  expect(printable('x'.repeat(10_000)).length).toBeLessThan(1000)
})

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

async function* cut(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

function textOf(line: Packet): string {
  return typeof line === 'string' ? `<${line}>` : Buffer.from(line).toString()
}

function markOf(line: Buffer): string {
  return line === FLUSH ? '<flush>' : '<delimiter>'
}
