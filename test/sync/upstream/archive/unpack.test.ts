import { crc32, deflateRawSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { archiveFormOf, unpack, UNPACK_LIMITS } from '../../../../src/sync/upstream/archive/unpack.ts'
import type { ArchiveForm, Unpacked } from '../../../../src/sync/upstream/archive/unpack.ts'
import { descriptorOf, le16, pax, tar, TAR_END, tarGz, tarMember, zip, zipWith } from './hand-made.ts'
import type { TarMember, ZipMember } from './hand-made.ts'

const SKILL = { name: 'SKILL.md', content: '# A skill\n' } as const

const TAKEN = 'it was taken'

describe('which form an archive has', () => {
  test.each([
    ['application/gzip', 'skill://a/b.zip', 'tar.gz'],
    ['Application/ZIP ; charset=binary', 'skill://a/b.tar.gz', 'zip'],
    ['application/x-gzip', 'skill://a/b', 'tar.gz'],
    ['application/octet-stream', 'skill://a/b.TAR.GZ', 'tar.gz'],
    [undefined, 'skill://a/b.tgz', 'tar.gz'],
    [undefined, 'skill://a/b.zip', 'zip'],
    [undefined, 'skill://a/b.tar', undefined],
    ['text/markdown', 'skill://a/SKILL.md', undefined],
  ] as const)('is told by the type %s, and then by the end of %s: %s', (type, uri, form) => {
    expect(archiveFormOf(type, uri)).toBe(form)
  })
})

describe('names', () => {
  test.each([
    ['a name that leads up', '../evil.md'],
    ['a name that leads up from a folder', 'a/../../evil.md'],
    ['a name that leads up and back', 'a/../evil.md'],
    ['a name that ends in two dots', 'a/..'],
    ['an absolute name', '/etc/evil.md'],
    ['a name with a backslash', '..\\evil.md'],
    ['the name of a drive', 'C:/evil.md'],
    ['the name of a drive without a slash', 'c:evil.md'],
    ['the name of a drive behind a dot', './C:/evil.md'],
    ['a UNC name', '//server/share/evil.md'],
    ['a UNC name with backslashes', '\\\\server\\share\\evil.md'],
    ['a name with a dot inside', 'a/./evil.md'],
    ['a name with two dots ahead', '././evil.md'],
    ['a name with an empty segment', 'a//evil.md'],
    ['a dot for a file', '.'],
    ['a name with a line feed', 'evil\n.md'],
    ['a name with an escape', 'evil\u001b[2J.md'],
    ['a name with a control character of Latin-1', 'evil\u0085.md'],
    ['a name that is not UTF-8', Buffer.from([0x65, 0xff, 0x6c])],
    ['no name', ''],
  ])('%s is refused in both forms', async (_, name) => {
    const [inTar, inZip] = await inBoth([SKILL, { name, content: 'evil' }])

    expect(whyOf(inTar)).toMatch(/^the member ".*" has /)
    expect(whyOf(inZip)).toBe(whyOf(inTar))
  })

  test.each(['evil/', './'])('the name %s, which a folder has, is refused for a file', async (name) => {
    expect(whyOf(await unpacked('tar.gz', tarGz(SKILL, { name })))).toContain('has a segment in its name that is empty')
  })

  test('a name with a NUL is refused where a form can hold it', async () => {
    const inZip = await unpacked('zip', zip(SKILL, { name: 'evil\0.md' }))
    const inPax = await unpacked('tar.gz', tarGz(SKILL, pax({ path: 'evil\0.md' }), { name: 'fine.md' }))

    expect([inZip, inPax].map(whyOf)).toEqual(
      Array.from({ length: 2 }, () => 'the member "evil\\u0000.md" has a control character in its name'),
    )
  })

  test.each([
    ['pax', pax({ path: '../evil.md' })],
    ['GNU', { name: '././@LongLink', type: 'L', content: '../evil.md\0' }],
  ])('a name that leads up is refused in a header of %s too', async (_, header) => {
    const result = await unpacked('tar.gz', tarGz(SKILL, header, { name: 'fine.md' }))

    expect(whyOf(result)).toContain('the member "../evil.md"')
  })

  test('a prefix that leads up is refused', async () => {
    expect(whyOf(await unpacked('tar.gz', tarGz(SKILL, { name: 'evil.md', prefix: '..' })))).toContain('"../evil.md"')
  })

  test('a leading dot and slash, as tar writes it, is left out', async () => {
    const folders = [
      { name: './', type: '5' },
      { name: './a/', type: '5' },
    ]
    const result = await unpacked('tar.gz', tarGz(...folders, { ...SKILL, name: './SKILL.md' }, { name: './a/b' }))

    expect(pathsOf(result)).toEqual(['SKILL.md', 'a/b'])
  })

  test('names that only look odd are taken as they are', async () => {
    const names = ['...', 'a b', 'ünï/\u{1F600}.md', 'ab:c', '.hidden', '~', '%2e%2e/x', 'CON']

    const results = await inBoth([SKILL, ...names.map((name) => ({ name }))])

    for (const result of results) expect(new Set(pathsOf(result))).toEqual(new Set(['SKILL.md', ...names]))
  })
})

describe('names that meet', () => {
  test.each([
    ['a name that is there twice', ['a', 'a'], 'is there twice'],
    ['a second SKILL.md', ['SKILL.md'], 'is there twice'],
    ['SKILL.md and Skill.md', ['Skill.md'], 'where case or Unicode form does not count'],
    ['a name in NFC and in NFD', ['\u00e9', 'e\u0301'], 'where case or Unicode form does not count'],
    ['names that case makes longer', ['stra\u00dfe', 'STRASSE'], 'where case or Unicode form does not count'],
    ['folders that case alone tells apart', ['Docs/a', 'docs/b'], 'where case or Unicode form does not count'],
    ['a file above a file', ['a', 'a/b'], 'makes "a" both a file and a folder'],
    ['a file above a file, the other way round', ['a/b', 'a'], 'makes "a" both a file and a folder'],
    ['SKILL.md as a folder', ['SKILL.md/b'], 'makes "SKILL.md" both a file and a folder'],
  ])('%s: refused in both forms', async (_, names, why) => {
    const results = await inBoth([SKILL, ...names.map((name) => ({ name }))])

    for (const result of results) expect(whyOf(result)).toContain(why)
  })

  test('a folder that is named twice is refused', async () => {
    const folders = [
      { name: 'a/', type: '5' },
      { name: './a', type: '5' },
    ]

    expect(whyOf(await unpacked('tar.gz', tarGz(SKILL, ...folders)))).toBe('the member "a" is there twice')
  })

  test('a name that is there twice by its longer header is refused', async () => {
    expect(whyOf(await unpacked('tar.gz', tarGz(SKILL, pax({ path: 'SKILL.md' }), { name: 'x' })))).toContain('twice')
  })

  test.each([['nothing'], ['skill.md'], ['wrapped/SKILL.md']])(
    'with %s in place of SKILL.md it is refused',
    async (name) => {
      for (const result of await inBoth([{ name, content: '# A skill\n' }])) {
        expect(whyOf(result)).toBe('it has no SKILL.md at its root')
      }
    },
  )

  test('a folder named SKILL.md is none', async () => {
    expect(whyOf(await unpacked('tar.gz', tarGz({ name: 'SKILL.md', type: '5' })))).toContain('no SKILL.md')
  })
})

describe('what is neither a file nor a folder', () => {
  test.each([
    ['a symbolic link that leads out', { type: '2', link: '../../etc/passwd' }, 'a symbolic link'],
    ['a symbolic link that stays inside', { type: '2', link: 'SKILL.md' }, 'a symbolic link'],
    ['a hard link that leads out', { type: '1', link: '/etc/passwd' }, 'a hard link'],
    ['a hard link that stays inside', { type: '1', link: 'SKILL.md' }, 'a hard link'],
    ['a long name of a link', { type: 'K', content: '/etc/passwd\0' }, 'a link'],
    ['a device of characters', { type: '3' }, 'a device'],
    ['a device of blocks', { type: '4' }, 'a device'],
    ['a FIFO', { type: '6' }, 'a pipe'],
    ['a sparse file', { type: 'S' }, 'a file with holes'],
    ['a file of another kind', { type: '7' }, 'of the kind "7"'],
    ['a volume', { type: 'V' }, 'of the kind "V"'],
  ])('%s in a tar is refused', async (_, member: Partial<TarMember>, what) => {
    const result = await unpacked('tar.gz', tarGz(SKILL, { name: 'evil', ...member }))

    expect(whyOf(result)).toBe(`the member "evil" is ${what}, and neither a file nor a folder`)
  })

  test.each([
    ['a symbolic link', 0o120777, 'a symbolic link'],
    ['a FIFO', 0o010644, 'a pipe'],
    ['a device of characters', 0o020644, 'a device'],
    ['a device of blocks', 0o060644, 'a device'],
    ['a socket', 0o140644, 'a socket'],
    ['a kind that nobody knows', 0o150644, 'of an unknown kind'],
  ])('%s in a zip is refused', async (_, mode, what) => {
    const result = await unpacked('zip', zip(SKILL, { name: 'evil', content: '../../etc/passwd', mode }))

    expect(whyOf(result)).toBe(`the member "evil" is ${what}, and neither a file nor a folder`)
  })

  test.each([
    ['a slash and the mode of a file', { name: 'evil/', mode: 0o100644 }],
    ['the mode of a folder and no slash', { name: 'evil', mode: 0o040755 }],
    ['the DOS attribute of a folder and no slash', { name: 'evil', mode: 0, dos: 0x10 }],
  ])('%s in a zip are refused', async (_, member) => {
    expect(whyOf(await unpacked('zip', zip(SKILL, member)))).toContain('is listed as a file and as a folder')
  })

  test('a folder that has bytes is refused', async () => {
    const folder = { name: 'a/', content: 'hidden' }
    const inTar = await unpacked('tar.gz', tarGz(SKILL, { ...folder, type: '5' }))
    const inZip = await unpacked('zip', zip(SKILL, { ...folder, mode: 0o040755 }))

    expect([inTar, inZip].map(whyOf)).toEqual(
      Array.from({ length: 2 }, () => 'the member "a" is a folder that has bytes'),
    )
  })

  test('of a mode nothing is kept but whether the owner may execute it', async () => {
    const modes = [0o4755, 0o2644, 0o1777, 0o6611, 0o7444, 0o100]
    const members = modes.map((mode) => ({ name: mode.toString(8), mode }))
    const inTar = await unpacked('tar.gz', tarGz(SKILL, ...members))
    const inZip = await unpacked(
      'zip',
      zip(SKILL, ...members.map(({ name, mode }) => ({ name, mode: 0o100000 + mode }))),
    )

    for (const result of [inTar, inZip]) {
      if (!result.ok) throw new Error(result.why)
      const files = result.files.filter(({ path }) => path !== 'SKILL.md')
      expect(files.map(({ path, executable }) => [path, executable])).toEqual([
        ['100', true],
        ['1777', true],
        ['2644', false],
        ['4755', true],
        ['6611', false],
        ['7444', false],
      ])
      for (const file of files) expect(Object.keys(file).toSorted()).toEqual(['bytes', 'executable', 'path'])
    }
  })
})

describe('limits', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `f${index}`, content: '' }))

  test('1,024 entries are taken, and 1,025 or 2,000 are refused', async () => {
    for (const [count, ok] of [
      [1024, true],
      [1025, false],
      [2000, false],
    ] as const) {
      for (const result of await inBoth([SKILL, ...many(count - 1)])) {
        expect(whyOf(result)).toBe(ok ? TAKEN : 'it has more than 1024 members')
      }
    }
  })

  test('folders are entries too', async () => {
    const folders = many(1024).map(({ name }) => ({ name: `${name}/`, type: '5' }))

    expect(whyOf(await unpacked('tar.gz', tarGz(SKILL, ...folders)))).toBe('it has more than 1024 members')
  })

  test('a depth of 32 is taken, and of 33 or 100 is refused', async () => {
    for (const [depth, ok] of [
      [32, true],
      [33, false],
      [100, false],
    ] as const) {
      const name = Array.from({ length: depth }, () => 'd').join('/')
      const inZip = await unpacked('zip', zip(SKILL, { name }))
      const inTar = await unpacked('tar.gz', tarGz(SKILL, pax({ path: name }), { name: 'd' }))

      for (const result of [inZip, inTar]) {
        expect(whyOf(result)).toContain(ok ? TAKEN : 'is deeper than 32 segments')
      }
    }
  })

  test.each([
    ['a segment over 200 bytes', 'ü'.repeat(101), 'has a segment over 200 bytes in its name'],
    ['a path over 1,024 bytes', `${'d/'.repeat(8)}${`${'x'.repeat(150)}/`.repeat(7)}f`, 'has a name over 1024 bytes'],
    ['a path of 1,025 bytes', `${`${'x'.repeat(127)}/`.repeat(8)}f`, 'has a name over 1024 bytes'],
    ['a path of 60 KiB', 'x/'.repeat(30_000), 'has a name over 1024 bytes'],
  ])('%s is refused', async (_, name, why) => {
    const inZip = await unpacked('zip', zip(SKILL, { name, mode: 0 }))
    const inTar = await unpacked('tar.gz', tarGz(SKILL, pax({ path: name }), { name: 'f' }))

    for (const result of [inZip, inTar]) expect(whyOf(result)).toContain(why)
  })

  test('files that come to the limit are taken, and one byte more is refused', async () => {
    const limits = { ...UNPACK_LIMITS, bytes: 100_000 }
    for (const [bytes, ok] of [
      [100_000, true],
      [100_001, false],
    ] as const) {
      const half = { name: 'half', content: Buffer.alloc(50_000) }
      const rest = { name: 'rest', content: Buffer.alloc(bytes - 50_000 - SKILL.content.length) }

      for (const result of await inBoth([SKILL, half, rest], limits)) {
        const why = 'the member "rest" makes the files come to more than 100000 bytes'
        expect(result).toMatchObject(ok ? { ok, bytes } : { ok, why })
      }
    }
  })

  test('what is no file counts too: headers without end are refused', async () => {
    const limits = { ...UNPACK_LIMITS, bytes: 1000, entries: 2 }
    const headers = Array.from({ length: 200 }, () => pax({ comment: 'x'.repeat(400) }, 'g'))

    expect(whyOf(await unpacked('tar.gz', tarGz(...headers, SKILL), limits))).toContain('inflates to more than')
  })

  test('a header of 64 KiB is taken, and a longer one is refused', async () => {
    const header = (length: number) => pax({ comment: 'x'.repeat(length) })
    const fits = await unpacked('tar.gz', tarGz(header(2 ** 16 - 20), SKILL))
    const over = await unpacked('tar.gz', tarGz(header(2 ** 16), SKILL))

    expect(fits.ok).toBe(true)
    expect(whyOf(over)).toBe('a header of the tar is over 65536 bytes')
  })
})

describe('a gzip file', () => {
  const whole = tarGz(SKILL)

  test.each([
    ['of two members', Buffer.concat([whole, gzipSync('more')]), 'continues after its first member'],
    ['cut into two members', twoMembers(tar(SKILL)), 'continues after its first member'],
    ['with bytes after it', Buffer.concat([whole, Buffer.from([1])]), 'continues after its first member'],
    ['with zeros after it', Buffer.concat([whole, Buffer.alloc(512)]), 'continues after its first member'],
    ['with a wrong sum', flipped(whole, whole.length - 8), 'the checksum that it declares'],
    ['with a wrong size', flipped(whole, whole.length - 1), 'the size that it declares'],
    ['of another method', flipped(whole, 2), 'not a gzip file'],
    ['with flags that nobody knows', flipped(whole, 3, 0x80), 'unknown flags'],
    ['that is a zip', zip(SKILL), 'not a gzip file'],
    ['of no byte', Buffer.alloc(0), 'not a gzip file'],
  ])('%s is refused', async (_, bytes, why) => {
    expect(whyOf(await unpacked('tar.gz', bytes))).toContain(why)
  })

  test('that is cut anywhere is refused', async () => {
    for (let length = 0; length < whole.length; length += 1) {
      const result = await unpacked('tar.gz', whole.subarray(0, length))

      expect(result, `${length}`).toMatchObject({ ok: false })
    }
  })

  test('may say its name, a comment and more, with a sum over them', async () => {
    const plain = Buffer.concat([le16(3), Buffer.from('abc'), Buffer.from('name.tar\0'), Buffer.from('comment\0')])
    const header = Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 2 + 4 + 8 + 16, 1, 2, 3, 4, 2, 3]), plain])
    const summed = (by: number) => Buffer.concat([header, le16((crc32(header) & 0xffff) ^ by), whole.subarray(10)])

    const [right, wrong] = [await unpacked('tar.gz', summed(0)), await unpacked('tar.gz', summed(1))]

    expect(pathsOf(right)).toEqual(['SKILL.md'])
    expect(whyOf(wrong)).toBe('the gzip file has a damaged header')
  })
})

describe('a tar', () => {
  const twelve = `${'n'.repeat(120)}.md`

  test.each([
    ['the prefix of POSIX', [{ name: 'c.md', prefix: 'a/b' }], 'a/b/c.md'],
    ['a pax header', [pax({ path: `long/${twelve}`, mtime: '1.5', uid: 1 }), { name: 'long' }], `long/${twelve}`],
    ['a long name of GNU', [{ name: '././@LongLink', type: 'L', content: `${twelve}\0` }, { name: 'n' }], twelve],
    ['a pax header before a prefix', [pax({ path: 'a' }), { name: 'c.md', prefix: 'b' }], 'a'],
    ['a pax header with the size that is there too', [pax({ size: 0 }), { name: 'a' }], 'a'],
    ['a header about all that says nothing of note', [pax({ comment: 'abc' }, 'g'), { name: 'a' }], 'a'],
    ['one between a header and its member', [pax({ path: 'a' }), pax({ comment: 'x' }, 'g'), { name: 'b' }], 'a'],
    ['times where POSIX has a prefix', [{ name: 'a', magic: 'ustar  \0', prefix: '14000000000' }], 'a'],
    ['the old mark of a file', [{ name: 'a', type: '\0' }], 'a'],
    ['a name of 100 bytes', [{ name: 'x'.repeat(100) }], 'x'.repeat(100)],
  ])('is read with %s', async (_, members: readonly TarMember[], path) => {
    expect(pathsOf(await unpacked('tar.gz', tarGz(SKILL, ...members)))).toEqual(['SKILL.md', path].toSorted())
  })

  test.each([
    ['a wrong sum', [{ name: 'a', wrongBy: 1 }], 'the checksum that it declares'],
    ['another magic', [{ name: 'a', magic: 'evil!' }], 'neither POSIX nor GNU'],
    ['two sizes', [pax({ size: 512 }), { name: 'a', content: 'x' }], 'the member "a" has two sizes'],
    ['a size that is none', [pax({ size: '1e3' }), { name: 'a' }], 'no such size'],
    ['one name for all', [pax({ path: 'a' }, 'g'), { name: 'b' }], 'gives all of its members one "path"'],
    ['one size for all', [pax({ size: 1 }, 'g'), { name: 'b' }], 'gives all of its members one "size"'],
    ['a sparse file of pax', [pax({ 'GNU.sparse.name': 'a' }), { name: 'b' }], 'a file with holes'],
    ['two names for one', [pax({ path: 'a' }), pax({ path: 'b' }), { name: 'c' }], 'two headers of the tar'],
    ['a header about nothing', [pax({ path: 'a' })], 'about no member'],
    ['an empty name', [pax({ path: '' }), { name: 'a' }], 'has no name'],
    ['a malformed header', [{ name: 'x', type: 'x', content: '8 path=a\n' }, { name: 'b' }], 'malformed'],
    ['a header longer than itself', [{ name: 'x', type: 'x', content: '99 path=a\n' }, { name: 'b' }], 'malformed'],
    ['a header without a line feed', [{ name: 'x', type: 'x', content: '9 path=ab' }, { name: 'b' }], 'malformed'],
    ['a header without a key', [{ name: 'x', type: 'x', content: '5 =a\n' }, { name: 'b' }], 'malformed'],
    ['a key twice', [{ name: 'x', type: 'x', content: '9 path=a\n9 path=b\n' }, { name: 'b' }], 'a key twice'],
  ])('with %s is refused', async (_, members: readonly TarMember[], why) => {
    expect(whyOf(await unpacked('tar.gz', tarGz(SKILL, ...members)))).toContain(why)
  })

  test('with a size that is not an octal number is refused', async () => {
    const member = tarMember({ name: 'a' })
    member.set([0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0], 124)
    member.write('        ', 148)
    const sum = member.reduce((total, byte) => total + byte, 0)
    member.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)

    const result = await unpacked('tar.gz', gzipSync(Buffer.concat([tarMember(SKILL), member, TAR_END])))

    expect(whyOf(result)).toBe('the member "a" has a size that is not an octal number')
  })

  test.each([
    ['without an end', [tarMember(SKILL)], 'ends early'],
    ['with half of an end', [tarMember(SKILL), Buffer.alloc(512)], 'ends early'],
    ['with a member after its end', [tar(SKILL), tarMember({ name: 'a' })], 'continues after its end'],
    [
      'with a member after half of an end',
      [tarMember(SKILL), Buffer.alloc(512), tar({ name: 'a' })],
      'continues after',
    ],
    ['whose last file is cut', [tarMember({ ...SKILL, size: 5000 })], 'ends early'],
    [
      'whose size leaves bytes over',
      [tarMember({ name: 'a', content: 'x'.repeat(600), size: 5 })],
      'the checksum that it declares',
    ],
  ])('%s is refused', async (_, parts, why) => {
    expect(whyOf(await unpacked('tar.gz', gzipSync(Buffer.concat(parts))))).toContain(why)
  })
})

describe('a zip', () => {
  const text = 'text '.repeat(50)
  const packed = deflateRawSync(text).length
  const open = { sum: 0, packed: 0, size: 0 }
  const streamed = (after: Buffer, local = open): ZipMember => ({
    name: 'a',
    content: text,
    flags: 0x0808,
    local,
    after,
  })

  test.each([
    ['stored bytes', { name: 'a', content: text, method: 0 }],
    ['a descriptor', streamed(descriptorOf(text, packed))],
    ['a descriptor without its signature', streamed(descriptorOf(text, packed, false))],
    ['an extra field', { name: 'a', extra: Buffer.concat([le16(0x5455, 1), Buffer.from([0])]) }],
    ['no mode', { name: 'a', mode: 0 }],
    ['a folder that has no mode', { name: 'b/', mode: 0 }],
  ])('is read with %s', async (_, member: ZipMember) => {
    const result = await unpacked('zip', zip(SKILL, member))

    const rest = member.name === 'a' ? [{ path: 'a', bytes: Buffer.from(member.content ?? '') }] : []
    expect(result).toMatchObject({ ok: true, files: [{ path: 'SKILL.md' }, ...rest] })
  })

  test('is read with a comment', async () => {
    expect(pathsOf(await unpacked('zip', zipWith({ comment: Buffer.from('PK\x05\x06 as text') }, SKILL)))).toHaveLength(
      1,
    )
  })

  test.each([
    ['encrypted bytes', { flags: 0x0801 }, 'is encrypted'],
    ['an encrypted directory', { flags: 0x2800 }, 'is encrypted'],
    ['a patch', { flags: 0x0820 }, 'has flags that are not supported'],
    ['another method', { method: 12 }, 'is packed by method 12'],
    ['another name in its header', { local: { name: 'b' } }, 'has another name in its own header'],
    ['another sum in its header', { local: { sum: 1 } }, 'is described differently in its own header'],
    ['another size in its header', { local: { size: 1 } }, 'is described differently in its own header'],
    ['no size in its header', { local: open }, 'is described differently in its own header'],
    ['other flags in its header', { local: { flags: 0 } }, 'is described differently in its own header'],
    ['a wrong sum', { said: { sum: 1 } }, 'does not have the checksum that it declares'],
    ['too small a size', { said: { size: 9 } }, 'inflates to more than 9 bytes'],
    ['too large a size', { said: { size: 251 } }, 'has 250 bytes, but declares 251'],
    ['too small a packed size', { said: { packed: packed - 1 } }, 'has something else after its bytes'],
    ['too large a packed size', { said: { packed: packed + 1 } }, 'overlaps what comes next'],
    ['bytes behind its own', { after: Buffer.from('x') }, 'has something else after its bytes'],
    [
      'bytes behind its deflated ones',
      { data: Buffer.concat([deflateRawSync(text), Buffer.from('x')]) },
      'after their end',
    ],
    ['bytes that are no deflated ones', { data: Buffer.from([7, 7, 7]) }, 'damaged or end early'],
    ['bytes that end early', { data: deflateRawSync(text).subarray(0, -2) }, 'damaged or end early'],
    ['another size when stored', { method: 0, said: { size: 9 } }, 'has 250 bytes, but declares 9'],
    ['another descriptor', streamed(descriptorOf(text, packed + 1)), 'has something else after its bytes'],
    ['no descriptor', streamed(Buffer.alloc(0)), 'has something else after its bytes'],
    ['sizes of 64 bits', { extra: le16(1, 0) }, 'the form for sizes over 4 GiB'],
    ['sizes of 64 bits in its header', { local: { extra: le16(1, 0) } }, 'the form for sizes over 4 GiB'],
    ['a size that asks for 64 bits', { said: { size: 2 ** 32 - 1 } }, 'the form for sizes over 4 GiB'],
    ['a second name', { extra: le16(0x7075, 0) }, 'has a second name'],
    ['malformed extra fields', { extra: le16(0x5455, 9) }, 'has malformed extra fields'],
  ])('with %s is refused', async (_, member: Partial<ZipMember>, why) => {
    const result = await unpacked('zip', zip(SKILL, { name: 'a', content: text, ...member }, { name: 'z' }))

    expect(whyOf(result)).toContain(why)
  })

  test.each([
    ['of several disks', zipWith({ disk: 1 }, SKILL), 'one of several parts'],
    ['that counts too few', zipWith({ count: 1 }, SKILL, { name: 'a' }), 'the number of members that it declares'],
    ['that counts too many', zipWith({ count: 2 }, SKILL), 'the directory of the zip is malformed'],
    ['that counts as one of 64 bits', zipWith({ count: 0xffff }, SKILL), 'the form for sizes over 4 GiB'],
    ['with a gap before its end', zipWith({ between: Buffer.alloc(20) }, SKILL), 'between its directory and its end'],
    ['with bytes after its end', Buffer.concat([zip(SKILL), Buffer.from('x')]), 'not a zip file'],
    ['with bytes before its first member', Buffer.concat([Buffer.from('#!'), zip(SKILL)]), 'between its directory'],
    ['inside the comment of another', zipWith({ comment: zip(SKILL) }, SKILL), 'the zip has two ends'],
    ['without a member', zip(), 'no SKILL.md'],
    ['that is a gzip file', tarGz(SKILL), 'not a zip file'],
    ['of no byte', Buffer.alloc(0), 'not a zip file'],
  ])('%s is refused', async (_, bytes, why) => {
    expect(whyOf(await unpacked('zip', bytes))).toContain(why)
  })

  test.each([
    ['with a member on another disk', 'PK\x01\x02', 34, 'one of several parts'],
    ['that counts otherwise for its disk', 'PK\x05\x06', 8, 'one of several parts'],
    ['with another method in a header', 'PK\x03\x04', 8, 'is described differently in its own header'],
    ['with a name that goes beyond its member', 'PK\x03\x04', 27, 'overlaps what comes next'],
    ['whose directory goes beyond its end', 'PK\x01\x02', 33, 'the directory of the zip is malformed'],
    ['with a member beyond its directory', 'PK\x01\x02', 44, 'the directory of the zip is malformed'],
  ])('%s is refused', async (_, mark, offset, why) => {
    const archive = zip(SKILL)
    const at = archive.indexOf(mark, 0, 'latin1') + offset

    expect(whyOf(await unpacked('zip', flipped(archive, at, 1)))).toContain(why)
  })

  test('is read whatever the order of its directory', async () => {
    const archive = zipWith({ isReversed: true }, SKILL, { name: 'a', content: text }, { name: 'b' })

    expect(pathsOf(await unpacked('zip', archive))).toEqual(['SKILL.md', 'a', 'b'])
  })

  test('whose members share their bytes is refused', async () => {
    const archive = zip(SKILL, { name: 'a', content: 'a' }, { name: 'b', content: 'b' })
    const second = archive.indexOf('PK\x01\x02', archive.indexOf('PK\x01\x02') + 1)
    archive.copyWithin(archive.indexOf('PK\x01\x02', second + 1) + 42, second + 42, second + 46)

    expect(whyOf(await unpacked('zip', archive))).toContain('has no header of its own')
  })

  test('that is moved by bytes before its first member is refused', async () => {
    const [plain, moved] = [zip(SKILL), Buffer.concat([Buffer.from('#!'), zip(SKILL)])]
    const [directory, end] = [plain.indexOf('PK\x01\x02') + 2, plain.length - 22 + 2]
    moved.writeUInt32LE(2, directory + 42)
    moved.writeUInt32LE(directory, end + 16)

    expect(whyOf(await unpacked('zip', moved))).toBe('the zip has something before its first member')
  })

  test('that is cut anywhere is refused', async () => {
    const whole = zip(SKILL, { name: 'a', content: text })
    for (let length = 0; length < whole.length; length += 1) {
      const result = await unpacked('zip', whole.subarray(0, length))

      expect(result, `${length}`).toMatchObject({ ok: false })
    }
  })
})

test('files are copies: nothing holds on to the archive they came from', async () => {
  const archive = zip({ ...SKILL, method: 0 })
  const result = await unpacked('zip', archive)
  archive.fill(0)

  expect(result).toMatchObject({ ok: true, files: [{ bytes: Buffer.from(SKILL.content) }] })
})

test.each(['tar.gz', 'zip'] as const)('unpacking a %s ends with the reason of its signal', async (form) => {
  const reason = new Error('no longer wanted')
  const before = unpack(tarGz(SKILL), form, UNPACK_LIMITS, AbortSignal.abort(reason))
  await expect(before).rejects.toBe(reason)

  const controller = new AbortController()
  const large = { name: 'large', content: Buffer.alloc(2 ** 22) }
  const archive = form === 'zip' ? zip(SKILL, large) : tarGz(SKILL, large)
  const during = unpack(archive, form, UNPACK_LIMITS, controller.signal)
  controller.abort(reason)

  await expect(during).rejects.toBe(reason)
})

/** The same members in both forms. */
async function inBoth(
  members: readonly { readonly name: string | Buffer; readonly content?: string | Buffer }[],
  limits = UNPACK_LIMITS,
): Promise<readonly [Unpacked, Unpacked]> {
  const inZip = members.map((member): ZipMember => ({ ...member, method: member.content === '' ? 0 : 8 }))
  return [await unpacked('tar.gz', tarGz(...members), limits), await unpacked('zip', zip(...inZip), limits)]
}

async function unpacked(form: ArchiveForm, archive: Buffer, limits = UNPACK_LIMITS): Promise<Unpacked> {
  return unpack(archive, form, limits, new AbortController().signal)
}

function whyOf(result: Unpacked): string {
  return result.ok ? TAKEN : result.why
}

function pathsOf(result: Unpacked): readonly string[] | string {
  return result.ok ? result.files.map(({ path }) => path) : result.why
}

function flipped(bytes: Buffer, at: number, by = 0xff): Buffer {
  const copy = Buffer.from(bytes)
  copy.writeUInt8(copy.readUInt8(at) ^ by, at)
  return copy
}

/** What one reader joins to a whole, and another does not. */
function twoMembers(bytes: Buffer): Buffer {
  return Buffer.concat([gzipSync(bytes.subarray(0, 700)), gzipSync(bytes.subarray(700))])
}
