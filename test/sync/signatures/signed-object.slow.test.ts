import { afterAll, describe, expect, test } from 'vitest'
import { sshSignerOf } from '../../../src/sync/signatures/ssh-signature.ts'
import { claimOfCommit, claimOfTag } from '../../../src/sync/signatures/verify-signature.ts'
import { NOON, SigningWorld } from '../../support/git/signing.ts'
import { describeWith } from '../../support/process/has-program.ts'

describeWith(['ssh-keygen'], 'signed objects', async () => {
  const world = await SigningWorld.create()
  const sha256 = await SigningWorld.create('sha256')
  afterAll(async () => {
    await world[Symbol.asyncDispose]()
    await sha256[Symbol.asyncDispose]()
  })

  const ada = await world.sshKey('ada')
  const LIST = `ada@example.com ${ada.line}\n`
  const commit = await world.commit(ada)
  const tag = await world.tag(commit, ada)
  const SIGNATURE = claimOfCommit(commit).signature

  /** Whether we take the signature; git is asked whether it does. */
  function taken(type: 'commit' | 'tag', object: Buffer): boolean {
    try {
      sshSignerOf(type === 'commit' ? claimOfCommit(object) : claimOfTag(object, commit), LIST)
      return true
    } catch {
      return false
    }
  }

  function edited(object: Buffer, from: string | RegExp, to: string): Buffer {
    const text = object.toString('latin1')
    expect(text).toMatch(from)
    return Buffer.from(text.replace(from, to), 'latin1')
  }

  const FOLDED = SIGNATURE.trimEnd().replaceAll('\n', '\n ')

  /** Commits that no git makes: what we and git say of each. */
  const COMMITS: readonly (readonly [string, Buffer, { readonly git: boolean; readonly ours: boolean }])[] = [
    ['as git makes it', commit, { git: true, ours: true }],
    ['with a second signature', edited(commit, /\ngpgsig /, `\ngpgsig ${FOLDED}\ngpgsig `), { git: true, ours: false }],
    [
      'with a signature in the other object format, which covers nothing here',
      edited(commit, /\ngpgsig /, '\ngpgsig-sha256 anything\n at all\ngpgsig '),
      { git: true, ours: true },
    ],
    [
      'with that signature behind its own',
      edited(commit, '\n\n', '\ngpgsig-sha256 anything\n at all\n\n'),
      { git: true, ours: true },
    ],
    [
      'with no signature but in the other format',
      edited(commit, 'gpgsig ', 'gpgsig-sha256 '),
      { git: false, ours: false },
    ],
    [
      'with an unknown header that begins alike',
      edited(commit, '\n\n', '\ngpgsig-x y\n\n'),
      { git: true, ours: false },
    ],
    ['with a header that holds nothing', edited(commit, '\n\n', '\ngpgsig\n\n'), { git: true, ours: false }],
    ['with an added header', edited(commit, '\ngpgsig ', '\nx y\ngpgsig '), { git: false, ours: false }],
    ['with an added header behind the signature', edited(commit, '\n\n', '\nx y\n\n'), { git: false, ours: false }],
    ['with lines behind the signature', edited(commit, '\n\n', '\n more\n\n'), { git: true, ours: false }],
    ['with an empty line behind the signature', edited(commit, '\n\n', '\n \n\n'), { git: true, ours: true }],
    [
      'with the signature in the message',
      edited(commit, /gpgsig [^]*?\n\n/, `\ngpgsig ${FOLDED}\n\n`),
      { git: false, ours: false },
    ],
    ['with the signature before the tree', edited(commit, /^/, `gpgsig ${FOLDED}\n`), { git: false, ours: false }],
    ['with a signature inside a mergetag alone', inMergetag(), { git: false, ours: false }],
    ['with a zero byte in the header', edited(commit, 'author', 'author\0'), { git: false, ours: false }],
    ['without the end of its header', commit.subarray(0, commit.indexOf('\n\n') + 1), { git: false, ours: false }],
    ['that is empty', Buffer.alloc(0), { git: false, ours: false }],
  ]

  function inMergetag(): Buffer {
    const folded = `mergetag object ${'0'.repeat(40)}\n type commit\n gpgsig ${SIGNATURE.trimEnd().replaceAll('\n', '\n  ')}`
    return edited(commit, /gpgsig [^]*?(?=\n\n)/, folded)
  }

  test.each(COMMITS)('a commit %s is never taken unless git takes it', async (_, object, { git, ours }) => {
    const byGit = await world.gitTakes('commit', object, await world.trusting(LIST))

    expect({ git: byGit, ours: taken('commit', object) }).toEqual({ git, ours })
  })

  test('a signature over a header that holds a mergetag covers the mergetag', async () => {
    const merged = await world.commitWith(ada, `mergetag object ${'0'.repeat(40)}\n type commit\n tag x\n  \n y\n`)
    const other = edited(merged, 'tag x', 'tag z')

    expect(taken('commit', merged)).toBe(true)
    expect(await world.gitTakes('commit', merged, await world.trusting(LIST))).toBe(true)
    expect(taken('commit', other)).toBe(false)
  })

  test('a commit with a zero byte in its header is refused although it was signed so', async () => {
    const odd = await world.commitWith(ada, 'x a\0b\n')

    expect(() => claimOfCommit(odd)).toThrow('has a zero byte in its header')
  })

  const TAGS: readonly (readonly [string, Buffer, { readonly git: boolean; readonly ours: boolean }])[] = [
    ['as git makes it', tag, { git: true, ours: true }],
    ['with text behind the signature', Buffer.concat([tag, Buffer.from('more\n')]), { git: true, ours: false }],
    ['with an empty line behind the signature', Buffer.concat([tag, Buffer.from('\n')]), { git: true, ours: true }],
    ['with the signature twice', Buffer.concat([tag, Buffer.from(SIGNATURE)]), { git: false, ours: false }],
    ['with text before the signature', edited(tag, /(?=-----BEGIN)/, 'more\n'), { git: false, ours: false }],
    ['with the signature of the commit', edited(tag, /-----BEGIN[^]*/, SIGNATURE), { git: false, ours: false }],
    [
      'with a signature in the other object format',
      edited(tag, '\n\n', '\ngpgsig-sha256 x\n y\n\n'),
      { git: true, ours: true },
    ],
    ['with two of those', edited(tag, '\n\n', '\ngpgsig-sha256 x\ngpgsig-sha256 y\n\n'), { git: false, ours: false }],
    ['with an unknown header that begins alike', edited(tag, '\n\n', '\ngpgsig-x y\n\n'), { git: false, ours: false }],
    ['without a tagger', edited(tag, /tagger [^\n]*\n/, ''), { git: false, ours: false }],
  ]

  test.each(TAGS)('a tag %s is never taken unless git takes it', async (_, object, { git, ours }) => {
    const byGit = await world.gitTakes('tag', object, await world.trusting(LIST))

    expect({ git: byGit, ours: taken('tag', object) }).toEqual({ git, ours })
  })

  test('a tag that talks about signatures is taken by its last one', async () => {
    const message = `notes\n-----BEGIN SSH SIGNATURE-----\nabc\n-----END SSH SIGNATURE-----\nend`
    const talking = await world.tag(commit, ada, { message, name: 'talking' })

    expect(taken('tag', talking)).toBe(true)
    expect(await world.gitTakes('tag', talking, await world.trusting(LIST))).toBe(true)
  })

  describe('in a repository whose ids are SHA-256', () => {
    test('commits and tags are taken as git takes them', async () => {
      const commit = await sha256.commit(ada)
      const tag = await sha256.tag(commit, ada)

      expect(commit.toString('latin1')).toContain('\ngpgsig-sha256 ')
      expect(sshSignerOf(claimOfCommit(commit), LIST).principal).toBe('ada@example.com')
      expect(sshSignerOf(claimOfTag(tag, commit), LIST).principal).toBe('ada@example.com')
      expect(await sha256.gitTakes('commit', commit, await sha256.trusting(LIST))).toBe(true)
    })

    test('a signature for the other object format counts for nothing', async () => {
      const commit = await sha256.commit(ada)
      const other = edited(commit, 'gpgsig-sha256 ', 'gpgsig ')

      expect(() => claimOfCommit(other)).toThrow('is not signed')
      expect(await sha256.gitTakes('commit', other, await sha256.trusting(LIST))).toBe(false)
    })
  })

  test.each([
    ['0', 'has no readable date of its committer'],
    ['999999999999', 'has no readable date of its committer'],
    ['-1', 'has no readable date of its committer'],
    ['x', 'has no readable date of its committer'],
  ])('a commit of the date %s is refused', (seconds, why) => {
    const odd = edited(commit, `${NOON} +0000\ngpgsig`, `${seconds} +0000\ngpgsig`)

    expect(() => claimOfCommit(odd)).toThrow(why)
  })

  test('a signature of 64 KiB is looked at, and one byte more is refused', () => {
    const filled = (length: number) => edited(commit, /gpgsig [^]*?(?=\n\n)/, `gpgsig ${'x'.repeat(length - 1)}`)

    expect(claimOfCommit(filled(65_536)).signature).toHaveLength(65_536)
    expect(() => claimOfCommit(filled(65_537))).toThrow('has a signature of over 65536 bytes')
  })
})
