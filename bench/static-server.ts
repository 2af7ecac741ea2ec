import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../test/support/free-port.ts'

/** A web server of files. */
export interface StaticServer extends AsyncDisposable {
  /** Ends with a slash. */
  readonly url: string
  readonly pid: number
}

/** nginx with a channel, as docs/channel.md configures it, in the foreground. `folder` is empty. */
export async function startNginx(folder: string, channel: string): Promise<StaticServer> {
  const port = await freePort()
  await mkdir(folder)
  const file = join(folder, 'nginx.conf')
  await writeFile(file, settings(folder, port, channel))
  const nginx = spawn('nginx', ['-e', 'stderr', '-p', folder, '-c', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  const url = `http://127.0.0.1:${port}/channel/`
  if (nginx.pid === undefined) throw new Error('nginx does not start')
  while (!(await isServed(url))) if (nginx.exitCode !== null) throw new Error(`nginx ended with ${nginx.exitCode}`)
  return {
    url,
    pid: nginx.pid,
    async [Symbol.asyncDispose]() {
      const exit = once(nginx, 'exit')
      nginx.kill('SIGTERM')
      await exit
    },
  }
}

function settings(folder: string, port: number, channel: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`)
  return `daemon off; pid ${folder}/pid; error_log stderr; worker_processes auto;
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 8192; }
http {
  access_log off; log_not_found off; sendfile on; tcp_nopush on; ${temporary.join(' ')}
  server {
    listen 127.0.0.1:${port};
    location /channel/ {
      alias ${channel}/; default_type application/octet-stream;
      add_header Cache-Control "public, max-age=31536000, immutable";
    }
    location = /channel/checkpoint {
      alias ${channel}/checkpoint; default_type text/plain; add_header Cache-Control "no-cache";
    }
  }
}
`
}

async function isServed(url: string): Promise<boolean> {
  return fetch(`${url}checkpoint`).then(
    ({ ok }) => ok,
    () => false,
  )
}
