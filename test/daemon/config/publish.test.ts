import { expect, test } from 'vitest'
import { environmentOf } from '../../../src/daemon/config/environment.ts'
import { parseConfig } from '../../../src/daemon/configuration.ts'
import type { Publication } from '../../../src/features/marketplace/publication-config.ts'

const ENVIRONMENT = environmentOf({}, '/home/ada')
const MARKETPLACE = 'serve: { marketplace: { name: acme } }'
const OUT = 'https://git.example.com/team/out.git'

function parse(...lines: readonly string[]) {
  const source = "sources: [{ id: a, url: 'https://git.example.com/team/a.git' }]"
  return parseConfig([source, ...lines, ''].join('\n'), '/etc/skillsyncd/skillsyncd.yaml', ENVIRONMENT)
}

function publications(...lines: readonly string[]): readonly Publication[] {
  const config = parse(...lines)
  if (Array.isArray(config)) throw new Error(config.map(({ key, message }) => `${key}: ${message}`).join('\n'))
  return config.publications
}

/** The problems, as `key: message`. */
function problems(...lines: readonly string[]): readonly string[] {
  const config = parse(...lines)
  if (!Array.isArray(config)) throw new Error('The configuration was taken')
  return config.map(({ key, message }) => `${key}: ${message}`)
}

test('an address alone is the branch main of all that is served, without a credential', () => {
  expect(publications(MARKETPLACE, `publish: [{ git: '${OUT}' }]`)).toEqual([
    {
      kind: 'git',
      url: OUT,
      branch: 'main',
      pack: undefined,
      access: { kind: 'none' },
      ca: undefined,
      proxy: { kind: 'variables' },
    },
  ])
})

test('the credential is settled as that of a source, of the entry or of `defaults`', () => {
  const defaults = "defaults: [{ match: 'https://git.example.com', ca: ca.pem, auth: { token: { env: A } } }]"

  const [own, shared] = publications(
    MARKETPLACE,
    defaults,
    `publish: [{ git: '${OUT}', auth: { token: { env: B } } }, { git: '${OUT}', branch: other, proxy: none }]`,
  )

  const token = (name: string) => ({
    kind: 'basic',
    username: 'x-access-token',
    password: { kind: 'env', name },
  })
  expect(own).toMatchObject({ access: token('B'), ca: '/etc/skillsyncd/ca.pem' })
  expect(shared).toMatchObject({ access: token('A'), branch: 'other', proxy: { kind: 'none' } })
})

test.each([
  ['publish: [{}]', 'publish[0]: needs exactly one of `git`, `to`'],
  ["publish: [{ git: 'ssh://git@git.example.com/o.git' }]", 'publish[0].git: must be an http(s) address'],
  ["publish: [{ git: 'git@git.example.com:o.git' }]", 'publish[0].git: must be an http(s) address'],
  ["publish: [{ git: 'file:///srv/o.git' }]", 'publish[0].git: must be an http(s) address'],
  [`publish: [{ git: '${OUT}', branch: refs/heads/main }]`, 'publish[0].branch: must be the name of a branch'],
  [`publish: [{ git: '${OUT}', branch: HEAD }]`, 'publish[0].branch: must be the name of a branch'],
  [`publish: [{ git: '${OUT}', branch: a/.b }]`, 'publish[0].branch: must be the name of a branch'],
  [`publish: [{ git: '${OUT}', pack: none }]`, 'publish[0].pack: must be the id of a pack'],
  [`publish: [{ git: '${OUT}' }, { git: '${OUT}', branch: main }]`, 'publish[1]: has the address and the branch'],
  [`publish: [{ git: '${OUT}', auth: { ssh: { key: { file: key } } } }]`, 'publish[0].auth: `ssh` has no use'],
  [
    "publish: [{ git: 'http://git.example.com/o.git', auth: { token: { env: A } } }]",
    'would cross the network in clear',
  ],
])('%s is refused: %s', (line, message) => {
  expect(problems(MARKETPLACE, line).join('\n')).toContain(message)
})

test('without a marketplace there is nothing to publish', () => {
  expect(problems(`publish: [{ git: '${OUT}' }]`)).toEqual([
    'publish[0]: needs `serve.marketplace`, which is what is published',
  ])
})

test('a fault quotes no secret of the address', () => {
  const found = problems(MARKETPLACE, "publish: [{ git: 'https://me:pass-word-pass@git.example.com/o.git' }]")

  expect(found.join('\n')).toContain('publish[0].git')
  expect(found.join('\n')).not.toContain('pass-word-pass')
})
