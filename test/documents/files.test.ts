import { spawnSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse as parseToml } from 'smol-toml'
import { expect, test } from 'vitest'
import { Authority } from '../support/http/certificates.ts'
import { neededProgram } from '../support/process/has-program.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { faultsOf } from './command-faults.ts'
import { blocks } from './snippets.ts'

test('each block of JSON can be read, and starts a command that there is', async () => {
  const starts = blocks('json').flatMap(({ place, text }) =>
    startsIn(JSON.parse(text)).map((args) => ({ place, args })),
  )

  const wrong = starts.map(async ({ place, args }) => (await faultsOf(args)).map((fault) => `${place}: ${fault}`))

  expect(blocks('json').length).toBeGreaterThan(5)
  expect(starts.length).toBeGreaterThan(0)
  expect((await Promise.all(wrong)).flat()).toEqual([])
})

test.each(blocks('toml'))('$place is TOML', ({ text }) => {
  expect(parseToml(text)).toMatchObject({ mcp_servers: { skills: { url: expect.any(String) } } })
})

test.each(blocks('nginx'))('nginx takes $place', async ({ text }) => {
  neededProgram('nginx')
  expect(await nginxFaultOf(text)).toBe('')
})

test('nginx does not take a directive that it does not know', async () => {
  neededProgram('nginx')
  const [block] = blocks('nginx')

  const fault = await nginxFaultOf(block?.text.replace('proxy_buffering', 'proxy_bufering') ?? '')

  expect(fault).toContain('unknown directive "proxy_bufering"')
})

test.each(blocks('haproxy'))('HAProxy takes $place', async ({ text }) => {
  neededProgram('haproxy')
  expect(await haproxyFaultOf(text)).toBe('')
  expect(await haproxyFaultOf(text.replace('balance leastconn', 'balance leastcon'))).toContain('leastcon')
})

/** The arguments of each program of ours that a configuration of a client starts. */
function startsIn(value: unknown): string[][] {
  if (Array.isArray(value)) return value.flatMap(startsIn)
  if (typeof value !== 'object' || value === null) return []
  const { command, args } = value as { readonly command?: unknown; readonly args?: unknown }
  const own = command === 'skillsyncd' && Array.isArray(args) ? [args.map(String)] : []
  return [...own, ...Object.values(value).flatMap(startsIn)]
}

/** The error of nginx for a file in its `conf.d`, with a certificate of the test and without a port; empty without one. */
async function nginxFaultOf(text: string): Promise<string> {
  await using folder = await temporaryFolder()
  const { cert, key } = new Authority().vouchFor(['skills.example.com'])
  const at = (name: string): string => join(folder.path, name)
  await mkdir(at('tmp'))
  await writeFile(at('fullchain.pem'), cert)
  await writeFile(at('privkey.pem'), key)
  const here = text
    .replaceAll(/\/etc\/letsencrypt\/live\/[^/]+/g, folder.path)
    .replaceAll(/listen (\d+)/g, `listen unix:${folder.path}/$1.sock`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${at('tmp')};`)
  await writeFile(at('nginx.conf'), `pid ${at('pid')};\nevents {}\nhttp {\n${temporary.join('\n')}\n${here}}\n`)
  const { status, stderr } = spawnSync(
    'nginx',
    ['-t', '-q', '-e', 'stderr', '-p', folder.path, '-c', at('nginx.conf')],
    {
      encoding: 'utf8',
    },
  )
  return status === 0 ? '' : stderr
}

/** The error of HAProxy for a configuration, with a certificate of the test; empty without one. */
async function haproxyFaultOf(text: string): Promise<string> {
  await using folder = await temporaryFolder()
  const { cert, key } = new Authority().vouchFor(['skills.example.com'])
  const [certificate, file] = [join(folder.path, 'skills.pem'), join(folder.path, 'haproxy.cfg')]
  await writeFile(certificate, `${cert}${key}`)
  await writeFile(file, text.replace('/etc/haproxy/skills.pem', certificate))
  const { status, stderr } = spawnSync('haproxy', ['-c', '-f', file], { encoding: 'utf8' })
  return status === 0 ? '' : stderr
}
