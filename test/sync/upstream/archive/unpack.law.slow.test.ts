import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createGzip, gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { foldedPath } from '../../../../src/base/paths.ts'
import { gzipBytes } from '../../../../src/serve/mcp/resources/derived/deflate.ts'
import { tarOf } from '../../../../src/serve/mcp/resources/derived/tar.ts'
import type { ArchiveEntry } from '../../../../src/serve/mcp/resources/derived/tar.ts'
import { zipOf } from '../../../../src/serve/mcp/resources/derived/zip.ts'
import { comparePaths } from '../../../../src/sync/model/digest.ts'
import { unpack, UNPACK_LIMITS } from '../../../../src/sync/upstream/archive/unpack.ts'
import type { ArchiveForm, Unpacked } from '../../../../src/sync/upstream/archive/unpack.ts'
import { openSmall, readBytes, skillOf } from '../../../conformance/small.ts'
import { untar, unzip } from '../../../support/http/unpack.ts'
import { lawRuns } from '../../../support/law-runs.ts'
import { neededProgram } from '../../../support/process/has-program.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { tar, TAR_END, tarGz, tarMember, zip } from './hand-made.ts'

const FORMS = ['tar.gz', 'zip'] as const
const run = promisify(execFile)

describe('what our own server packs', () => {
  const PACK = {
    'tar.gz': async (entries: readonly ArchiveEntry[]) => gzipBytes(tarOf(entries)),
    zip: async (entries: readonly ArchiveEntry[]) => zipOf(entries, 'deflated'),
    'stored zip': async (entries: readonly ArchiveEntry[]) => zipOf(entries, 'stored'),
  } as const

  test.each(['tar.gz', 'zip', 'stored zip'] as const)('in a %s unpacks to the same files', async (kind) => {
    const law = fc.asyncProperty(ENTRIES, async (entries) => {
      const result = await unpacked(kind === 'tar.gz' ? kind : 'zip', await PACK[kind](entries))

      const files = entries.toSorted((a, b) => comparePaths(a.path, b.path))
      const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0)
      expect(plain(result)).toEqual(plain({ ok: true, files, bytes }))
    })

    await fc.assert(law, { numRuns: lawRuns(60, 1 / 3) })
  })

  test('of a skill in a repository unpacks to its files', async () => {
    const text = skillOf('one')
    const files = { 'one/SKILL.md': text, 'one/a/b.txt': 'b', 'one/run.sh': { executable: '#!/bin/sh\n' } }
    await using small = await openSmall(files, { config: ['serve: { forms: [default, archives] }'] })

    for (const form of FORMS) {
      const archive = await readBytes(small.all[0]!, `skill://fx/one.${form}`)

      const result = await unpacked(form, archive)

      expect(plain(result)).toEqual([
        ['SKILL.md', false, text],
        ['a/b.txt', false, 'b'],
        ['run.sh', true, '#!/bin/sh\n'],
      ])
    }
  })
})

describe('what the programs of this machine pack', () => {
  const FILES: Readonly<Record<string, string>> = {
    'SKILL.md': skillOf('one'),
    empty: '',
    'notes/ünï \u{1F600}.md': 'a name that is not ASCII\n',
    [`long/${'d'.repeat(90)}/${'e'.repeat(90)}/f.txt`]: 'a long name\n',
    [`${'n'.repeat(140)}.md`]: 'a long name without a slash\n',
    'scripts/run.sh': '#!/bin/sh\n'.repeat(1000),
  }
  const TOP = [...new Set(Object.keys(FILES).map((path) => path.split('/', 1).join('')))]
  const PYTHON_TAR =
    'import sys,tarfile\nt=tarfile.open(sys.argv[1],"w:gz",format=int(sys.argv[2]))\nt.add(".")\nt.close()'
  /** A zip that is written without going back, and so with descriptors. */
  const PYTHON_ZIP = `import sys,os,zipfile
class Out:
  def __init__(self,f): self.f=f
  def write(self,b): return self.f.write(b)
  def flush(self): self.f.flush()
z=zipfile.ZipFile(Out(open(sys.argv[1],"wb")),"w",zipfile.ZIP_DEFLATED)
for r,d,fs in os.walk("."):
  for f in fs: z.write(os.path.join(r,f))
z.close()`

  test.for([
    ['tar of GNU', 'tar.gz', ['tar', '--format=gnu', '-czf', 'OUT', '.']],
    ['tar of POSIX', 'tar.gz', ['tar', '--format=posix', '-czf', 'OUT', '.']],
    ['tar without folders', 'tar.gz', ['sh', '-c', 'find . -type f | tar --format=pax -czf "$0" -T -', 'OUT']],
    ['tar through gzip', 'tar.gz', ['sh', '-c', 'tar -cf "$0.tar" * && gzip "$0.tar" && mv "$0.tar.gz" "$0"', 'OUT']],
    ['Python as GNU', 'tar.gz', ['python3', '-c', PYTHON_TAR, 'OUT', '1']],
    ['Python as POSIX', 'tar.gz', ['python3', '-c', PYTHON_TAR, 'OUT', '2']],
    ['zip', 'zip', ['zip', '-qr', 'OUT', '.']],
    ['zip without folders', 'zip', ['zip', '-qrD', 'OUT', '.']],
    ['zip into a pipe', 'zip', ['sh', '-c', 'zip -qr - . | cat > "$0"', 'OUT'], 'zip'],
    ['Python as zip', 'zip', ['python3', '-m', 'zipfile', '-c', 'OUT', ...TOP]],
    ['Python into a pipe', 'zip', ['python3', '-c', PYTHON_ZIP, 'OUT']],
  ] as const)('%s: unpacks to the same files', async ([, form, [program, ...words], inside = program]) => {
    neededProgram(inside)
    await using folder = await temporaryFolder()
    const [from, out] = [join(folder.path, 'from'), join(folder.path, 'out.zip')]
    for (const [path, content] of Object.entries(FILES)) {
      await mkdir(dirname(join(from, path)), { recursive: true })
      await writeFile(join(from, path), content)
    }
    await chmod(join(from, 'scripts/run.sh'), 0o4755)
    const options = { cwd: from, env: { ...process.env, LC_ALL: 'C.UTF-8' } }
    const argv = words.map((word) => (word === 'OUT' ? out : word))
    await run(program, argv, options)

    const result = await unpacked(form, await readFile(out))

    const names = Object.keys(FILES).toSorted(comparePaths)
    expect(plain(result)).toEqual(names.map((path) => [path, path.startsWith('scripts/'), FILES[path]]))
  })

  test('git: unpacks to the same files', async () => {
    await using small = await openSmall({ 'SKILL.md': skillOf('fx'), 'a/ünï': 'a', 'run.sh': { executable: 'x' } })
    for (const form of FORMS) {
      await using folder = await temporaryFolder()
      const out = join(folder.path, `out.${form}`)
      await small.repository.git('archive', '-o', out, 'HEAD')

      const result = await unpacked(form, await readFile(out))

      expect(plain(result)).toEqual([
        ['SKILL.md', false, skillOf('fx')],
        ['a/ünï', false, 'a'],
        ['run.sh', true, 'x'],
      ])
    }
  })
})

describe('bytes that nobody meant', () => {
  test.each(FORMS)('are refused as a %s, and nothing is thrown', async (form) => {
    const law = fc.asyncProperty(fc.uint8Array({ maxLength: 3000 }), async (bytes) => {
      expect(await unpacked(form, bytes)).toMatchObject({ ok: false, why: expect.any(String) })
    })

    await fc.assert(law, { numRuns: lawRuns(300, 1 / 3) })
  })

  test.each(FORMS)('after the marks of a %s are refused, and nothing is thrown', async (form) => {
    const law = fc.asyncProperty(fc.array(fc.oneof(fc.uint8Array({ maxLength: 40 }), MARKS)), async (parts) => {
      const bytes = Buffer.concat(parts)

      const result = await unpacked(form, form === 'zip' ? bytes : gzipSync(bytes))

      expect(flawsOf(result)).toEqual([])
    })

    await fc.assert(law, { numRuns: lawRuns(200, 1 / 3) })
  })

  test.each(FORMS)('in a good %s throw nothing, and no path leads out', async (form) => {
    const law = fc.asyncProperty(ENTRIES, FLIPS, async (entries, flips) => {
      const whole = form === 'zip' ? await zipOf(entries, 'stored') : tarOf(entries)
      for (const [at, by] of flips) whole.writeUInt8(whole.readUInt8(at % whole.length) ^ by, at % whole.length)

      const result = await unpacked(form, form === 'zip' ? whole : gzipSync(whole))

      expect(flawsOf(result)).toEqual([])
    })

    await fc.assert(law, { numRuns: lawRuns(200, 1 / 3) })
  })

  test('in a name lead nowhere, and two readers that are not ours find the same', async () => {
    const law = fc.asyncProperty(fc.uniqueArray(NAME, { maxLength: 5 }), async (names) => {
      const members = [{ name: 'SKILL.md', content: '#' }, ...names.map((name) => ({ name, content: name }))]
      const archives = { 'tar.gz': tarGz(...members), zip: zip(...members) }
      for (const form of FORMS) {
        const result = await unpacked(form, archives[form])

        expect(flawsOf(result)).toEqual([])
        if (!result.ok) continue
        const other = await (form === 'zip' ? unzip : untar)(archives[form])
        const found = [...other].map(([path, { bytes }]): [string, Buffer] => [path.replace(/^\.\//, ''), bytes])
        expect(new Map(found)).toEqual(new Map(result.files.map(({ path, bytes }) => [path, Buffer.from(bytes)])))
      }
    })

    await fc.assert(law, { numRuns: lawRuns(150, 1 / 3) })
  })
})

describe('a bomb of 128 MiB', () => {
  const ZEROS = Array<Buffer>(128).fill(Buffer.alloc(2 ** 20))
  const SKILL = tarMember({ name: 'SKILL.md', content: '#' })
  const header = (size: number) => tarMember({ name: 'bomb', size })

  test.each([
    ['in one file of a tar', [SKILL, header(2 ** 27)], 'makes the files come to more than'],
    [
      'in a file of a tar that says it is small',
      [SKILL, header(512), Buffer.alloc(1024, 1)],
      'the checksum that it declares',
    ],
    ['after the end of a tar', [SKILL, TAR_END], 'inflates to more than'],
  ])('%s is refused, and memory stays small', async (_, start, why) => {
    const archive = await gzippedOf([...start, ...ZEROS])

    const { result, grown } = await watched('tar.gz', archive)

    expect(result).toMatchObject({ ok: false, why: expect.stringContaining(why) })
    expect(grown).toBeLessThan(SMALL)
  })

  test('in many files of a tar is refused, and no more is held than the limit', async () => {
    const members = Array.from({ length: 128 }, (_, index) => tarMember({ name: `f${index}`, size: 2 ** 20 }))
    const archive = await gzippedOf([SKILL, ...members.flatMap((member, index) => [member, ZEROS[index]!]), TAR_END])

    const { result, grown } = await watched('tar.gz', archive)

    expect(result).toEqual({
      ok: false,
      why: 'the member "f49" makes the files come to more than 52428800 bytes',
      bytes: 1 + 49 * 2 ** 20,
      isTooLarge: true,
    })
    expect(grown).toBeLessThan(UNPACK_LIMITS.bytes + SMALL)
  })

  test.each([
    ['that is what it says', {}, 'makes the files come to more than'],
    ['that says it is small', { size: 100 }, 'the member "bomb" inflates to more than 100 bytes'],
    ['that says it is 50 MiB', { size: 50 * 2 ** 20 - 1 }, 'the member "bomb" inflates to more than 52428799 bytes'],
  ])('in a zip %s is refused, and memory stays small', async (_, said, why) => {
    const packed = (await gzippedOf(ZEROS)).subarray(10, -8)
    const sizes = { packed: packed.length, size: 2 ** 27, ...said }
    const archive = zip({ name: 'SKILL.md' }, { name: 'bomb', data: packed, said: sizes })

    const { result, grown } = await watched('zip', archive)

    expect(result).toMatchObject({ ok: false, why: expect.stringContaining(why) })
    expect(grown).toBeLessThan(sizes.size === 2 ** 27 || sizes.size === 100 ? SMALL : UNPACK_LIMITS.bytes + SMALL)
  })

  test('that a header promises and that is not there allocates nothing', async () => {
    const size = 50 * 2 ** 20 - 1
    const inTar = await watched('tar.gz', gzipSync(Buffer.concat([SKILL, tarMember({ name: 'bomb', size })])))
    const inZip = await watched('zip', zip({ name: 'SKILL.md' }, { name: 'bomb', content: 'x', said: { size } }))

    expect(inTar.result).toMatchObject({ ok: false, why: 'the tar ends early' })
    expect(inZip.result).toMatchObject({ ok: false, why: `the member "bomb" has 1 bytes, but declares ${size}` })
    for (const { result } of [inTar, inZip]) expect('bytes' in result && result.bytes).toBeLessThan(2 ** 20)
    for (const { grown } of [inTar, inZip]) expect(grown).toBeLessThan(SMALL)
  })
})

test('no order of the members makes the answer another', async () => {
  const members = ['SKILL.md', 'b', 'a/c', 'a.d'].map((name) => ({ name, content: name }))
  const law = fc.asyncProperty(fc.shuffledSubarray(members, { minLength: 4 }), async (shuffled) => {
    const results = [await unpacked('tar.gz', gzipSync(tar(...shuffled))), await unpacked('zip', zip(...shuffled))]

    for (const result of results) {
      expect(plain(result)).toEqual(['SKILL.md', 'a.d', 'a/c', 'b'].map((name) => [name, false, name]))
    }
  })

  await fc.assert(law, { numRuns: lawRuns(30, 1 / 3) })
})

/** What a run may hold for a while: pieces that were read and not yet collected. */
const SMALL = 40 * 2 ** 20

/** Garbage of what came before would hide what is held. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

/** By how much memory grew at the most, looked at in each turn of the event loop. */
async function watched(
  form: ArchiveForm,
  archive: Buffer,
): Promise<{ readonly result: Unpacked; readonly grown: number }> {
  const held = (): number => {
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  collectGarbage()
  const before = held()
  const progress = { isDone: false }
  const result = unpacked(form, archive).finally(() => {
    progress.isDone = true
  })
  let most = before
  while (!progress.isDone) {
    await turn()
    most = Math.max(most, held())
  }
  return { result: await result, grown: most - before }
}

/** Packed piece by piece: the test itself must not hold what it packs. */
async function gzippedOf(parts: readonly Buffer[]): Promise<Buffer> {
  const gzip = createGzip()
  const packed: Buffer[] = []
  gzip.on('data', (piece: Buffer) => packed.push(piece))
  const ended = new Promise((resolve, reject) => gzip.once('end', resolve).once('error', reject))
  for (const part of parts) await new Promise<void>((resolve) => gzip.write(part, () => resolve()))
  gzip.end()
  await ended
  return Buffer.concat(packed)
}

async function unpacked(form: ArchiveForm, archive: Uint8Array): Promise<Unpacked> {
  return unpack(archive, form, UNPACK_LIMITS, new AbortController().signal)
}

/** Path, mode and text of each file; of what is long, its digest. */
function plain(result: Unpacked): unknown {
  if (!result.ok) return result.why
  return result.files.map(({ path, executable, bytes }) => [path, executable, textOf(Buffer.from(bytes))])
}

function textOf(bytes: Buffer): string {
  return bytes.length > 2 ** 16 ? createHash('sha256').update(bytes).digest('hex') : bytes.toString()
}

/** None where it was refused, or where each path leads below the place that it is put at, and to one of its own. */
function flawsOf(result: Unpacked): readonly string[] {
  if (!result.ok) return []
  const paths = result.files.map(({ path }) => path)
  const folded = paths.map(foldedPath)
  const twins = folded.filter((path, index) => folded.indexOf(path) !== index)
  const leadOut = paths.filter((path) => /(?:^|\/)\.{0,2}(?:\/|$)|[\\\p{Cc}]|^[a-z]:/iu.test(path))
  const alsoFolders = folded.filter((path) => folded.some((other) => other.startsWith(`${path}/`)))
  return [...twins, ...leadOut, ...alsoFolders, ...(paths.includes('SKILL.md') ? [] : ['no SKILL.md'])]
}

const SKILL_MD: ArchiveEntry = { path: 'SKILL.md', executable: false, bytes: Buffer.from('# A skill\n') }

const MARKS = fc.constantFrom(
  ...['PK\x03\x04', 'PK\x01\x02', 'PK\x05\x06', 'PK\x07\x08', 'SKILL.md'].map((mark) => Buffer.from(mark, 'latin1')),
  zip({ name: 'SKILL.md', content: '#' }),
  zip({ name: 'a/b', content: '#' }),
  tarMember({ name: 'SKILL.md', content: '#' }),
  tarMember({ name: 'a', type: '5' }),
  tarMember({ name: 'x', type: 'x', content: '9 path=a\n' }),
  tarMember({ name: 'x', type: 'L', content: '../a\0' }),
  TAR_END,
)

const FLIPS = fc.array(fc.tuple(fc.nat({ max: 5000 }), fc.integer({ min: 1, max: 255 })), {
  minLength: 1,
  maxLength: 6,
})

/** Made of what names go wrong with. */
const NAME = fc
  .array(fc.constantFrom('a', 'A', 'b', '.', '..', '/', '\\', 'C:', '\u00e9', 'e\u0301', '\0', ' ', '\u202e'), {
    minLength: 1,
    maxLength: 6,
  })
  .map((parts) => parts.join(''))

/** No path lies below another, none is too long, and no two meet. */
const ENTRIES: fc.Arbitrary<readonly ArchiveEntry[]> = fc
  .uniqueArray(
    fc.record({
      folder: fc.constantFrom('', 'd/', 'd/e/', `${'l'.repeat(90)}/`),
      name: fc.stringMatching(/^[a-zü ]{1,40}x$/),
      executable: fc.boolean(),
      bytes: fc.oneof(fc.uint8Array({ maxLength: 1200 }), fc.constant(Buffer.alloc(200_000, 'line of many\n'))),
    }),
    { maxLength: 8, selector: ({ name }) => name },
  )
  .map((files) => files.map(({ folder, name, ...file }): ArchiveEntry => ({ ...file, path: `${folder}f${name}` })))
  .map((files) => files.concat(SKILL_MD))
