import { afterAll, describe, expect, test } from 'vitest'
import { matchesList, principalOf, readAllowedSigners } from '../../../src/sync/signatures/allowed-signers.ts'
import { sshSignerOf } from '../../../src/sync/signatures/ssh-signature.ts'
import { claimOfCommit } from '../../../src/sync/signatures/verify-signature.ts'
import { SigningWorld } from '../../support/git/signing.ts'
import { describeWith } from '../../support/process/has-program.ts'

describeWith(['ssh-keygen'], 'lists of allowed signers', async () => {
  const world = await SigningWorld.create()
  afterAll(() => world[Symbol.asyncDispose]())

  const ada = await world.sshKey('ada')
  const eve = await world.sshKey('eve')
  const commit = await world.commit(ada)
  const [TYPE, KEY] = ada.line.split(' ') as [string, string]

  /** Each list, and who has signed the commit by it; undefined for nobody. */
  const LISTS: readonly (readonly [string, string | undefined])[] = [
    [`ada@example.com ${ada.line}`, 'ada@example.com'],
    [`ada@example.com ${ada.line} a comment "with quotes`, 'ada@example.com'],
    [`  \tada@example.com\t \t${TYPE}\t${KEY}\t`, 'ada@example.com'],
    [`ada@example.com ${ada.line}\r\n`, 'ada@example.com'],
    [`\n# a comment\n  # another\n\nada@example.com ${ada.line}`, 'ada@example.com'],
    [`"ada lovelace" ${ada.line}`, 'ada lovelace'],
    [`ada@example.com,eve@example.com ${ada.line}`, 'ada@example.com'],
    [`*@example.com ${ada.line}`, '*@example.com'],
    [`!eve@example.com,*@example.com ${ada.line}`, '*@example.com'],
    [`ada@example.com,!ada@example.com ${ada.line}`, undefined],
    [`!ada@example.com ${ada.line}`, undefined],
    [`!eve@example.com ${ada.line}\nada@example.com ${ada.line}`, undefined],
    [`eve@example.com ${eve.line}`, undefined],
    [`eve@example.com ${eve.line}\nada@example.com ${ada.line}`, 'ada@example.com'],
    [`first ${ada.line}\nsecond ${ada.line}`, 'first'],
    ['', undefined],
    [`ada@example.com namespaces="git" ${ada.line}`, 'ada@example.com'],
    [`ada@example.com NameSpaces="file,git" ${ada.line}`, 'ada@example.com'],
    [`ada@example.com namespaces="g*" ${ada.line}`, 'ada@example.com'],
    [`ada@example.com namespaces="*,!git" ${ada.line}`, undefined],
    [`ada@example.com namespaces="file" ${ada.line}`, undefined],
    [`ada@example.com namespaces="a b,git" ${ada.line}`, 'ada@example.com'],
    // git asks the first line with the key who signed, and then looks for a line that lets that one sign.
    [`file namespaces="file" ${ada.line}\ngit ${ada.line}`, undefined],
    [`file namespaces="file" ${ada.line}\nf* ${ada.line}`, 'file'],
    [`ada@example.com valid-after="20250615Z" ${ada.line}`, 'ada@example.com'],
    [`ada@example.com valid-after="20250615120000Z" ${ada.line}`, 'ada@example.com'],
    [`ada@example.com valid-after="20250615120001Z" ${ada.line}`, undefined],
    [`ada@example.com valid-before="20250615120000z" ${ada.line}`, 'ada@example.com'],
    [`ada@example.com valid-before="202506151159Z" ${ada.line}`, undefined],
    [`ada@example.com valid-before="20250615" ${ada.line}`, undefined],
    [
      `ada@example.com valid-after="20250101Z",valid-before="20260101Z",namespaces="git" ${ada.line}`,
      'ada@example.com',
    ],
    [`ada@example.com cert-authority ${ada.line}`, undefined],
    [`ada@example.com cert-authority,namespaces="git" ${ada.line}`, undefined],
  ]

  test.each(LISTS)('by the list %j, %j has signed, and git says the same', async (list, expected) => {
    const claim = claimOfCommit(commit)
    const options = await world.trusting(list)

    const decided = decide(() => sshSignerOf(claim, list).principal)

    expect(decided).toBe(expected)
    expect(await world.gitTakes('commit', commit, options)).toBe(expected !== undefined)
  })

  function decide(principal: () => string): string | undefined {
    try {
      return principal()
    } catch {
      return undefined
    }
  }

  /** Lines that cannot be read, and why. */
  const UNREADABLE: readonly (readonly [string, string])[] = [
    ['ada@example.com', 'no principals with a key after them'],
    [`ada@example.com ${TYPE}`, 'it is cut short'],
    [ada.line, 'its options cannot be read'],
    [`"ada@example.com ${ada.line}`, 'no principals'],
    [`ada"b"@example.com ${ada.line}`, 'no principals'],
    [`,ada@example.com ${ada.line}`, 'it has an empty pattern'],
    [`${'a'.repeat(1023)} ${ada.line}`, 'it has a pattern of over 1022 characters'],
    [`ada@example.com ${TYPE} ${KEY.slice(0, -4)}`, 'it is cut short'],
    [`ada@example.com ${TYPE} ${KEY}AAAA`, 'bytes follow its end'],
    [`ada@example.com ${TYPE} ${KEY.slice(0, -1)}`, 'it is not valid base64'],
    [`ada@example.com ${TYPE} !${KEY}`, 'it is not valid base64'],
    [`ada@example.com ecdsa-sha2-nistp256 ${KEY}`, 'its key is of the type ssh-ed25519'],
    [`ada@example.com ssh-dss ${KEY}`, '"ssh-dss" is not a supported type of key'],
    [`ada@example.com ssh-ed25519-cert-v01@openssh.com ${KEY}`, 'it has a certificate; name the key itself'],
    [`ada@example.com no-touch-required ${ada.line}`, 'it has the unknown option "no-touch-required"'],
    [`ada@example.com constructor ${ada.line}`, 'it has the unknown option "constructor"'],
    [`ada@example.com cert-authority="x" ${ada.line}`, 'its option cert-authority needs no value'],
    [`ada@example.com namespaces ${ada.line}`, 'its option namespaces needs a value in quotes'],
    [`ada@example.com namespaces=git ${ada.line}`, 'its options cannot be read'],
    [`ada@example.com namespaces="git ${ada.line}`, 'its options cannot be read'],
    [String.raw`ada@example.com namespaces="git\" ${ada.line}`, 'its options cannot be read'],
    [`ada@example.com namespaces="git", ${ada.line}`, 'its options cannot be read'],
    [`ada@example.com namespaces="git"x ${ada.line}`, 'its options cannot be read'],
    [`ada@example.com namespaces="git",namespaces="git" ${ada.line}`, 'it has the option namespaces twice'],
    [`ada@example.com valid-after="2025" ${ada.line}`, 'its time is not in the form'],
    [`ada@example.com valid-after="20250231Z" ${ada.line}`, 'its time is not a time of a calendar'],
    [`ada@example.com valid-after="202506152400Z" ${ada.line}`, 'its time is not a time of a calendar'],
    [`ada@example.com valid-after="19700101Z" ${ada.line}`, 'its time is not a time of a calendar'],
    [`ada@example.com valid-before="20250615+0200" ${ada.line}`, 'its time is not in the form'],
    [`ada@example.com valid-after="20250615Z",valid-before="20250615Z" ${ada.line}`, 'is not after its valid-after'],
    [`ada@example.com\u0000 ${ada.line}`, 'it contains a control character'],
    [`ada@example.com ${ada.line}\u000B`, 'it contains a control character'],
  ]

  test.each(UNREADABLE)('a list with the line %j is refused whole, naming the line', (line, why) => {
    const list = `ada@example.com ${ada.line}\n# a comment\n${line}\n`

    expect(() => readAllowedSigners(list)).toThrow('because the allowed signers cannot be read: line 3: ')
    expect(() => readAllowedSigners(list)).toThrow(why)
  })

  test('a list of 1 MiB is read, and one byte more is refused', () => {
    const line = `ada@example.com ${ada.line}\n`
    const full = line + '#'.repeat(2 ** 20 - line.length)

    expect(readAllowedSigners(full)).toHaveLength(1)
    expect(() => readAllowedSigners(`${full}#`)).toThrow('they are over 1048576 bytes')
  })

  test('times without a Z are those of this machine', () => {
    const [signer] = readAllowedSigners(`ada valid-after="20250615120000" ${ada.line}`)

    expect(signer?.validAfter).toBe(new Date(2025, 5, 15, 12).getTime() / 1000)
  })

  test('the refusal names the key, the dates and what the list says', () => {
    const [signer] = readAllowedSigners(`ada valid-before="20250101Z" ${ada.line}`)

    const decide = () =>
      principalOf({ key: signer!.key, certificate: undefined }, [signer!], { namespace: 'git', seconds: 1_750_000_000 })

    expect(decide).toThrow(
      `is signed by the key ${ada.fingerprint}, and dated 2025-06-15T15:06:40Z, after it had expired (2025-01-01T00:00:00Z)`,
    )
  })

  describe('patterns of names', () => {
    test.each([
      ['git', 'git', true],
      ['git', 'GIT', false],
      ['git', 'gi', false],
      ['git', 'gitt', false],
      ['git', 'g?t', true],
      ['git', '?git', false],
      ['git', '*', true],
      ['git', '**', true],
      ['', '*', true],
      ['git', '*t', true],
      ['git', '*g', false],
      ['a@b@c', '*@*', true],
      ['aXbXc', '*Xc', true],
      ['aab', 'a*ab', true],
      ['git', 'file,git', true],
      ['git', 'git,!git', false],
      ['git', '!git', false],
      ['git', '!file', false],
      ['a.b', 'a.b', true],
      ['axb', 'a.b', false],
    ])('%j and the list %j: %j', (name, list, expected) => {
      expect(matchesList(name, list)).toBe(expected)
    })

    test('with many stars take no more than name times pattern', () => {
      expect(matchesList('a'.repeat(1000), `${'*a'.repeat(500)}*b`)).toBe(false)
    })
  })
})
