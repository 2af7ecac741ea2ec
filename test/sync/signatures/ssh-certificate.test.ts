import { generateKeyPairSync, sign } from 'node:crypto'
import { expect, test } from 'vitest'
import { expectCertified, readCertificate } from '../../../src/sync/signatures/ssh-certificate.ts'
import { sshStrings } from '../../../src/sync/signatures/ssh-wire.ts'

const [AFTER, BEFORE] = [1_750_000_000, 1_750_086_400]
const OUTSIDE = 'is dated outside of the time of its certificate'

test('a certificate is valid from its first second, and until the second before its end', () => {
  const certificate = readCertificate(certificateOf(AFTER, BEFORE))
  const at = (seconds: number) => (): void => expectCertified(certificate, seconds)

  expect(at(AFTER)).not.toThrow()
  expect(at(BEFORE - 1)).not.toThrow()
  expect(at(AFTER - 1)).toThrow(OUTSIDE)
  expect(at(BEFORE)).toThrow(OUTSIDE)
})

/** A user certificate for one principal, signed by its authority. */
function certificateOf(after: number, before: number): Buffer {
  const [user, authority] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')]
  const pointOf = ({ publicKey }: typeof user): Buffer =>
    Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  const signed = Buffer.concat([
    sshStrings('ssh-ed25519-cert-v01@openssh.com', 'nonce', pointOf(user)),
    number(1, 8),
    number(1, 4),
    sshStrings('ada', sshStrings('ada@example.com')),
    number(after, 8),
    number(before, 8),
    sshStrings('', '', '', sshStrings('ssh-ed25519', pointOf(authority))),
  ])
  const signature = sshStrings('ssh-ed25519', sign(null, signed, authority.privateKey))
  return Buffer.concat([signed, sshStrings(signature)])
}

function number(value: number, bytes: number): Buffer {
  return Buffer.from(value.toString(16).padStart(2 * bytes, '0'), 'hex')
}
