import { afterAll, describe, expect, test } from 'vitest'
import type { Proven, Requirement, Signer, TrustedSigners } from '../../../src/sync/model/signers.ts'
import { DOES_NOT_HOLD } from '../../../src/sync/signatures/ssh-key.ts'
import { prove } from '../../../src/sync/signatures/verify-signature.ts'
import { DAY, NOON, SigningWorld } from '../../support/git/signing.ts'
import { describeWith } from '../../support/process/has-program.ts'

describeWith(['ssh-keygen', 'gpg'], 'verified signatures', async () => {
  interface Row {
    readonly what: string
    readonly commit: Buffer
    readonly tag?: Buffer
    readonly list: string
    /** "proved", or a part of why not. */
    readonly expected: Readonly<Record<Requirement, string>>
  }

  const MODES = ['commit', 'tag', 'both'] as const

  const world = await SigningWorld.create()
  afterAll(() => world[Symbol.asyncDispose]())

  const ada = await world.sshKey('ada')
  const eve = await world.sshKey('eve')

  const LIST = `ada@example.com ${ada.line}\n`
  const EXPIRED = `ada@example.com valid-before="20250614Z" ${ada.line}\n`
  const LATER = `ada@example.com valid-after="20250616Z" ${ada.line}\n`

  const unsigned = await world.commit()
  const signed = await world.commit(ada)
  const foreign = await world.commit(eve)
  const backDated = await world.commit(ada, { seconds: NOON - 30 * DAY })

  const ALL_PROVED = { commit: 'proved', tag: 'proved', both: 'proved' }
  const UNKNOWN = 'not among the allowed signers'

  const ROWS: readonly Row[] = [
    {
      what: 'nothing is signed and there is no tag',
      commit: unsigned,
      list: LIST,
      expected: { commit: 'the commit is not signed', tag: 'no annotated tag', both: 'the commit is not signed' },
    },
    {
      what: 'nothing is signed',
      commit: unsigned,
      tag: await world.tag(unsigned),
      list: LIST,
      expected: { commit: 'the commit is not signed', tag: 'the tag is not signed', both: 'the commit is not signed' },
    },
    {
      what: 'the commit is signed and there is no tag',
      commit: signed,
      list: LIST,
      expected: { commit: 'proved', tag: 'no annotated tag', both: 'no annotated tag' },
    },
    {
      what: 'the commit is signed and its tag is not',
      commit: signed,
      tag: await world.tag(signed),
      list: LIST,
      expected: { commit: 'proved', tag: 'the tag is not signed', both: 'the tag is not signed' },
    },
    {
      what: 'the tag is signed and its commit is not',
      commit: unsigned,
      tag: await world.tag(unsigned, ada),
      list: LIST,
      expected: { commit: 'the commit is not signed', tag: 'proved', both: 'the commit is not signed' },
    },
    { what: 'both are signed', commit: signed, tag: await world.tag(signed, ada), list: LIST, expected: ALL_PROVED },
    {
      what: 'the key is unknown',
      commit: foreign,
      tag: await world.tag(foreign, eve),
      list: LIST,
      expected: { commit: UNKNOWN, tag: UNKNOWN, both: UNKNOWN },
    },
    {
      what: 'the commit is signed by one who may and its tag by one who may not',
      commit: signed,
      tag: await world.tag(signed, eve),
      list: LIST,
      expected: { commit: 'proved', tag: 'the tag is signed by the key', both: 'the tag is signed by the key' },
    },
    {
      what: 'the key had expired at the date of the object',
      commit: signed,
      tag: await world.tag(signed, ada),
      list: EXPIRED,
      expected: { commit: 'after it had expired', tag: 'after it had expired', both: 'after it had expired' },
    },
    {
      what: 'the key was not yet valid at the date of the object',
      commit: signed,
      tag: await world.tag(signed, ada),
      list: LATER,
      expected: { commit: 'before it was valid', tag: 'before it was valid', both: 'before it was valid' },
    },
    {
      what: 'the object is back-dated to before its key expired, which is why expiry revokes nothing',
      commit: backDated,
      tag: await world.tag(backDated, ada, { seconds: NOON - 30 * DAY }),
      list: EXPIRED,
      expected: ALL_PROVED,
    },
    {
      what: 'the object is back-dated and its key was taken from the list, which revokes it',
      commit: backDated,
      tag: await world.tag(backDated, ada, { seconds: NOON - 30 * DAY }),
      list: `eve@example.com ${eve.line}\n`,
      expected: { commit: UNKNOWN, tag: UNKNOWN, both: UNKNOWN },
    },
    {
      what: 'the tag is dated after its key expired, and the commit before',
      commit: backDated,
      tag: await world.tag(backDated, ada),
      list: EXPIRED,
      expected: { commit: 'proved', tag: 'after it had expired', both: 'the tag is signed by the key' },
    },
    {
      what: 'the key is for other things than git',
      commit: signed,
      tag: await world.tag(signed, ada),
      list: `ada@example.com namespaces="file,mail" ${ada.line}\n`,
      expected: { commit: 'is not for "git"', tag: 'is not for "git"', both: 'is not for "git"' },
    },
    {
      what: 'the content was altered',
      commit: altered(signed),
      tag: altered(await world.tag(altered(signed), ada)),
      list: LIST,
      expected: { commit: DOES_NOT_HOLD, tag: DOES_NOT_HOLD, both: DOES_NOT_HOLD },
    },
    {
      what: 'the signature is cut short',
      commit: cut(signed),
      tag: cut(await world.tag(cut(signed), ada)),
      list: LIST,
      expected: { commit: 'cannot be read', tag: 'cannot be read', both: 'cannot be read' },
    },
    {
      what: 'the list cannot be read',
      commit: signed,
      tag: await world.tag(signed, ada),
      list: `${LIST}# a comment\nbob@example.com\n`,
      expected: { commit: 'line 3', tag: 'line 3', both: 'line 3' },
    },
  ]

  describe.each(MODES)('with require: %s', (require) => {
    test.each(ROWS)('the defined answer is given when $what', async ({ commit, tag, list, expected }) => {
      const proven = await prove(claimed(commit, tag), trusting(list, require))

      const answer = proven.kind === 'proved' ? 'proved' : proven.why
      expect(answer).toContain(expected[require])
    })
  })

  test.each(MODES)('what is proved names who signed what was required, and nobody else: %s', async (require) => {
    const proven = await prove({ commit: signed, tag: await world.tag(signed, ada) }, trusting(LIST, require))

    const signer: Signer = { scheme: 'ssh', principal: 'ada@example.com', fingerprint: ada.fingerprint }
    const expected: Readonly<Record<Requirement, Proven>> = {
      commit: { kind: 'proved', commit: signer },
      tag: { kind: 'proved', tag: signer },
      both: { kind: 'proved', commit: signer, tag: signer },
    }
    expect(proven).toEqual(expected[require])
  })

  test('a key counts until it is taken from the list, and again when it is back', async () => {
    const answers: string[] = []
    for (const list of [LIST, '', LIST]) answers.push((await prove({ commit: signed }, trusting(list, 'commit'))).kind)

    expect(answers).toEqual(['proved', 'refused', 'proved'])
  })

  test('a signature counts only if the files for its kind are configured', async () => {
    const nothing: TrustedSigners = { require: 'commit', allowedSigners: undefined, keyring: undefined }

    expect(await prove({ commit: signed }, nothing)).toEqual({
      kind: 'refused',
      why: 'the commit is signed with SSH, and no allowed signers are configured',
    })
  })

  test('a signed tag counts under its own name alone', async () => {
    const commit = signed
    const tag = await world.tag(commit, ada, { name: 'v1' })
    const trust = trusting(LIST, 'tag')

    expect(await prove({ commit, tag, ref: 'refs/tags/v1' }, trust)).toMatchObject({ kind: 'proved' })
    expect(await prove({ commit, tag, ref: 'refs/tags/v2' }, trust)).toEqual({
      kind: 'refused',
      why: 'the tag is "refs/tags/v1", and was found as "refs/tags/v2"',
    })
  })

  test('a signed tag of another commit proves nothing', async () => {
    const tag = await world.tag(signed, ada)

    expect(await prove({ commit: backDated, tag }, trusting(LIST, 'both'))).toEqual({
      kind: 'refused',
      why: 'the tag is a tag of another commit',
    })
  })

  test('a signed tag of a tag proves nothing', async () => {
    const inner = await world.repository.object('tag', await world.tag(signed, ada))
    const { options } = ada
    await world.repository.git(...options, 'tag', '-s', '-m', 'outer', 'outer', inner)
    const tag = Buffer.from(`${await world.repository.git('cat-file', 'tag', 'outer')}\n`)

    expect(await prove({ commit: signed, tag }, trusting(LIST, 'tag'))).toEqual({
      kind: 'refused',
      why: 'the tag is a tag of something else than a commit',
    })
  })

  describe('with a grace of a week, a key that is still listed', async () => {
    const authority = await world.sshKey('authority')
    const certified = async (name: string, times: string) => {
      const key = await world.sshKey(name)
      return world.commit(await world.certified(key, authority, '-n', 'ada@example.com', '-V', times))
    }
    const ofAuthority = `*@example.com cert-authority ${authority.line}\n`
    const shortOfAuthority = `*@example.com cert-authority,valid-before="20250616Z" ${authority.line}\n`
    const short = await certified('short', '20250614Z:20250616Z')
    const long = await certified('long', '20250614Z:forever')
    const ended = `ada@example.com valid-before="20250616Z" ${ada.line}\n`
    const rows = [
      ['and has no end', signed, LIST, 'proved'],
      ['and ended', signed, ended, 'late'],
      ['and ended, and has no end in another line', signed, ended + LIST, 'proved'],
      ['and ended, and ends later in another line', signed, ended + ended.replace('20250616', '20250901'), 'proved'],
      ['and ended, and has no end in a line for other things', signed, ended + forFiles(LIST), 'late'],
      ['and ended, and has no end as another signer', signed, ended + LIST.replace('ada@', 'eve@'), 'late'],
      ['with a certificate that has no end', long, ofAuthority, 'proved'],
      ['with a certificate that ended', short, ofAuthority, 'late'],
      ['with a certificate whose authority ended', long, shortOfAuthority, 'late'],
    ] as const

    test.each(rows)('%s, gets the answer that is due when its week is over', async (_, object, list, expected) => {
      const inTime = await prove({ commit: object }, withGrace(list), at('2025-06-23T00:00:00Z'))
      const over = await prove({ commit: object }, withGrace(list), at('2025-06-23T00:00:01Z'))
      const unlimited = await prove({ commit: object }, trusting(list, 'commit'), at('2035-01-01T00:00:00Z'))

      expect([inTime.kind, over.kind, unlimited.kind]).toEqual(['proved', expected, 'proved'])
    })

    test('is named with its end, and so is the object that it signed', async () => {
      const tag = await world.tag(signed, ada)
      const trust = { ...withGrace(ended), require: 'tag' } as const

      expect(await prove({ commit: signed, tag }, trust, at('2025-07-01T00:00:00Z'))).toEqual({
        kind: 'late',
        why: `the tag is signed by the key ${ada.fingerprint}, which expired on 2025-06-16T00:00:00Z`,
      })
    })

    test('and did not sign what it is said to have signed is refused for that', async () => {
      const proven = await prove({ commit: altered(signed) }, withGrace(ended), at('2025-07-01T00:00:00Z'))

      expect(proven).toMatchObject({ kind: 'refused', why: expect.stringContaining(DOES_NOT_HOLD) })
    })
  })

  function withGrace(allowedSigners: string): TrustedSigners {
    return { ...trusting(allowedSigners, 'commit'), graceMs: 7 * DAY * 1000 }
  }

  function forFiles(line: string): string {
    return line.replace(' ', ' namespaces="file" ')
  }

  function at(time: string): Date {
    return new Date(time)
  }

  function trusting(allowedSigners: string, require: Requirement): TrustedSigners {
    return { require, allowedSigners, keyring: undefined }
  }

  function claimed(commit: Buffer, tag: Buffer | undefined) {
    return tag === undefined ? { commit } : { commit, tag }
  }

  function altered(object: Buffer): Buffer {
    const text = object.toString('latin1')
    return Buffer.from(text.replace(/a change|a release/, 'A change'), 'latin1')
  }

  /** Without the last line of the signature, its armor whole. */
  function cut(object: Buffer): Buffer {
    return Buffer.from(object.toString('latin1').replace(/\n ?[^\n]+(?=\n ?-----END)/, ''), 'latin1')
  }
})
