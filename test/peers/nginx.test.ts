import { spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { connected, failuresOf, serving, statesOf, WELL } from '../daemon/commands/doctor/connected.ts'
import { World } from '../e2e/world.ts'
import { freePort } from '../support/free-port.ts'
import { hasProgram } from '../support/process/has-program.ts'

test.skipIf(!hasProgram('nginx'))(
  'behind nginx as it comes it is well, and with its buffering on the stream is what fails',
  async () => {
    const { world, origin } = await serving()
    const plain = await nginxBefore(origin, '')
    const buffering = await nginxBefore(origin, 'proxy_ignore_headers X-Accel-Buffering;')

    const well = await connected(world, plain)
    const held = await connected(world, buffering)

    expect(statesOf(well)).toEqual(WELL)
    expect(failuresOf(held).map(({ step }) => step)).toEqual(['stream', 'subscribe'])
    for (const { fix } of failuresOf(held)) expect(fix).toContain('proxy_buffering off')
  },
)

/** The origin of an nginx before another. */
async function nginxBefore(origin: string, settings: string): Promise<string> {
  const { home } = await World.create()
  const port = await freePort()
  const folder = join(home.path, 'nginx')
  await mkdir(folder)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`)
  const location = `proxy_pass ${origin}; ${settings}`
  await writeFile(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${folder}/pid; error_log stderr; events {} http { access_log off; ${temporary.join(' ')}
      server { listen 127.0.0.1:${port}; location / { ${location} } } }`,
  )
  const nginx = spawn('nginx', ['-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' })
  onTestFinished(() => {
    nginx.kill('SIGTERM')
  })
  await expect
    .poll(async () =>
      fetch(`http://127.0.0.1:${port}/healthz`).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200)
  return `http://127.0.0.1:${port}`
}
