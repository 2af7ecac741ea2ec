// Signed by git with ssh-keygen and gpg on 2025-06-15; of the keys only the public halves are kept. Fixed, so that one seed
// always gives the same inputs.

export const SSH_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJZrdvUaRq4L10HzdhMu9ZgfGEVS+jx0RVa1pnp977pW'

export const SSH_COMMIT = Buffer.from(`tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904
author Ada Author <ada@example.com> 1749988800 +0000
committer Ada Author <ada@example.com> 1749988800 +0000
gpgsig -----BEGIN SSH SIGNATURE-----
 U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAglmt29RpGrgvXQfN2Ey71mB8YRV
 L6PHRFVrWmen3vulYAAAADZ2l0AAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5
 AAAAQD8W40j+K33sjRThChhboeXRENL38Gr6LvAJACI5P76/RtnxhXmSRaYBm7nZlnQD6k
 Khv15szmUBWooB4c13Hw0=
 -----END SSH SIGNATURE-----

a change
`)

export const SSH_TAG = Buffer.from(`object c442660208a3be5f6499db1d4d8c5b7950407856
type commit
tag v1
tagger Ada Author <ada@example.com> 1749988800 +0000

a release
-----BEGIN SSH SIGNATURE-----
U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAglmt29RpGrgvXQfN2Ey71mB8YRV
L6PHRFVrWmen3vulYAAAADZ2l0AAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5
AAAAQHsCUNj9/Tu0vDFUT/lCHNePQzdDKQjcT4EbgKlQaycenKQcdv85MIyN8n6YMI6wsx
34XnI88d80nFYtu3VC6AU=
-----END SSH SIGNATURE-----
`)

export const OPENPGP_FINGERPRINT = '34272C005E5A8D1BA5AF86BFAEA6E0F5C6D869F0'

/** The commit of `SSH_COMMIT`, signed with the other key. */
export const OPENPGP_COMMIT = Buffer.from(`tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904
author Ada Author <ada@example.com> 1749988800 +0000
committer Ada Author <ada@example.com> 1749988800 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
${' '}
 iHUEABYIAB0WIQQ0JywAXlqNG6Wvhr+upuD1xthp8AUCaE61wAAKCRCupuD1xthp
 8PreAQCW5+t4ZFYwLUEy+VPuOeDcaIWDq1pJDJC/SsVSOkbt8gEA6dprks4vdDR0
 0/OAWRrjIiwsF8GL0xkUyduX4RJRRQo=
 =MWOu
 -----END PGP SIGNATURE-----

a change
`)

export const OPENPGP_KEY = `-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEaE1kQBYJKwYBBAHaRw8BAQdAkT9D3q/o11D7J3oeM3q9jkjRL2t0+hs9Zk+a
OGxi0GW0FUFkYSA8YWRhQGV4YW1wbGUuY29tPoiQBBMWCAA4FiEENCcsAF5ajRul
r4a/rqbg9cbYafAFAmhNZEACGwMFCwkIBwIGFQoJCAsCBBYCAwECHgECF4AACgkQ
rqbg9cbYafBvMAD+KHTE2e/6F5rodByruw0QGV79wJK/qfyRguKGrigP3J8BAIhk
SK2a4JgabKf2IefsL1+mWb0xXpJhW2YE7D/HtS0J
=gwcP
-----END PGP PUBLIC KEY BLOCK-----
`
