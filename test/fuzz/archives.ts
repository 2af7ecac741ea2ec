import { gunzipSync, gzipSync } from 'node:zlib'
import { foldedPath } from '../../src/base/paths.ts'
import { gunzipStream, unpack, UNPACK_LIMITS } from '../../src/sync/upstream/archive/unpack.ts'
import type { ArchiveForm } from '../../src/sync/upstream/archive/unpack.ts'
import { pax, tar, tarGz, zip } from '../sync/upstream/archive/hand-made.ts'
import { expect, refuse } from './target.ts'
import type { Target } from './target.ts'

/** Readers of archives of skills. */
export const ARCHIVES = {
  zip: (bytes) => readArchive(bytes, 'zip'),
  'tar.gz': (bytes) => readArchive(bytes, 'tar.gz'),
  // The sums of gzip and of the headers are right, so that what they guard is reached.
  tar: (bytes) => readArchive(gzipSync(withSums(bytes), { level: 1 }), 'tar.gz'),
  gzip: async (bytes) => {
    const parts: Buffer[] = []
    for await (const part of gunzipStream(bytes, MOST_BYTES, new AbortController().signal)) parts.push(part)
    const whole = Buffer.concat(parts)
    expect(whole.length <= MOST_BYTES, 'more comes out than there is room for')
    expect(whole.equals(gunzipSync(bytes)), 'other bytes come out than zlib reads')
  },
} as const satisfies Readonly<Record<string, Target>>

const MOST_BYTES = 2 ** 16

async function readArchive(bytes: Buffer, form: ArchiveForm): Promise<void> {
  // Half of them where there is hardly room.
  const limits = { ...UNPACK_LIMITS, ...(bytes.length % 2 === 0 ? { bytes: MOST_BYTES } : { bytes: 64, entries: 4 }) }
  const result = await unpack(bytes, form, limits, new AbortController().signal)
  expect(result.bytes <= bytes.length * 1032, 'more is said to be unpacked than can be')
  if (!result.ok) refuse(result.why)
  const paths = result.files.map(({ path }) => path)
  expect(paths.includes('SKILL.md'), 'no skill comes out')
  expect(new Set(paths.map(foldedPath)).size === paths.length, 'two files come out at one place')
  expect(paths.every(isPlain), 'a path leads elsewhere')
  expect(paths.length <= limits.entries, 'more files come out than may')
  const sum = result.files.reduce((total, file) => total + file.bytes.byteLength, 0)
  expect(sum === result.bytes && sum <= limits.bytes, 'more bytes come out than may')
}

function isPlain(path: string): boolean {
  if (/^[a-z]:|[\\\p{Cc}]/iu.test(path)) return false
  return path.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..')
}

/** The tar with the sum of each of its headers made right. */
function withSums(bytes: Buffer): Buffer {
  const archive = Buffer.from(bytes)
  for (let at = 0; at + 512 <= archive.length;) {
    const header = archive.subarray(at, at + 512)
    if (header.every((byte) => byte === 0)) break
    header.fill(' ', 148, 156)
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
    const size = Number.parseInt(header.toString('latin1', 124, 136), 8)
    at += 512 + (size > 0 ? Math.ceil(size / 512) * 512 : 0)
  }
  return archive
}

const SKILL = { name: 'SKILL.md', content: '---\nname: tidy\n---\n' }
const FOLDERED = [
  { name: './', type: '5' },
  { ...SKILL, name: './SKILL.md' },
  { name: './a/', type: '5' },
] as const
const SCRIPT = { name: 'a/run.sh', content: '#!/bin/sh\n', mode: 0o755 }
const LONG = `b/${'c'.repeat(120)}.txt`

const TARS = [
  [SKILL, SCRIPT],
  [...FOLDERED, { ...SCRIPT, name: './a/run.sh' }],
  [SKILL, pax({ path: LONG, size: 1, mtime: '1.5' }), { name: 'short', content: 'x' }],
  [pax({ comment: 'c' }, 'g'), SKILL, { name: '././@LongLink', type: 'L', content: `${LONG}\0` }, SCRIPT],
] as const

/** Sound archives of each kind, each small enough for the small limits where that can be. */
export const ARCHIVE_SEEDS: Readonly<Record<keyof typeof ARCHIVES, readonly Buffer[]>> = {
  zip: [
    zip(SKILL, SCRIPT),
    zip({ ...SKILL, method: 0 }, { name: 'a/', mode: 0o040755, method: 0 }, { ...SCRIPT, method: 0 }),
    zip({ ...SKILL, extra: Buffer.from([0x55, 0x54, 5, 0, 1, 0, 0, 0, 0]) }),
  ],
  'tar.gz': [tarGz(...TARS[0])],
  tar: TARS.map((members) => tar(...members)),
  gzip: [gzipSync('text '.repeat(300)), gzipSync(Buffer.alloc(2 ** 15), { level: 1 }), gzipSync('x', { level: 0 })],
}
