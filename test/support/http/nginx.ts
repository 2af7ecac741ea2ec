import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { freePort } from '../free-port.ts'
import { temporaryFolder } from '../temporary.ts'

/** An nginx on a port of the loopback address, before several processes of one hub. */
export interface Nginx extends AsyncDisposable {
  readonly origin: string
}

/**
 * Starts it. No process of the hub is preferred: each request goes to any of them, and to another if that one does not
 * answer. A request of MCP for content is a POST that may be repeated.
 */
export async function nginxBeforeAll(ports: readonly number[]): Promise<Nginx> {
  const folder = await temporaryFolder()
  const port = await freePort()
  await mkdir(join(folder.path, 'tmp'))
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const temporary = kinds.map((kind) => `${kind}_temp_path ${folder.path}/tmp/${kind};`)
  // Without max_fails=0, nginx avoids a process for ten seconds after one failure, and refuses all if it avoids all.
  const servers = ports.map((each) => `server 127.0.0.1:${each} max_fails=0;`)
  const file = join(folder.path, 'nginx.conf')
  await writeFile(
    file,
    `daemon off; master_process off; pid ${folder.path}/pid; error_log stderr crit; events { worker_connections 2048; }
    http {
      access_log off; ${temporary.join(' ')}
      upstream hub { random; ${servers.join(' ')} }
      map "$request_method $http_mcp_method" $place { default requests; "~^GET " streams; "~ subscriptions/listen$" streams; }
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_buffering off;
      proxy_connect_timeout 1s;
      proxy_next_upstream error timeout http_503 non_idempotent;
      server {
        listen 127.0.0.1:${port};
        location / { rewrite ^ /$place$uri last; }
        location /requests/ { internal; rewrite ^/requests(/.*)$ $1 break; proxy_pass http://hub; proxy_read_timeout 3s; }
        location /streams/ { internal; rewrite ^/streams(/.*)$ $1 break; proxy_pass http://hub; proxy_read_timeout 1h; }
      }
    }`,
  )
  const nginx = spawn('nginx', ['-e', 'stderr', '-p', folder.path, '-c', file], { stdio: 'ignore' })
  const origin = `http://127.0.0.1:${port}`
  const answers = async (): Promise<boolean> =>
    fetch(origin).then(
      () => true,
      () => false,
    )
  await expect.poll(answers).toBe(true)
  return {
    origin,
    async [Symbol.asyncDispose]() {
      const ended = once(nginx, 'exit')
      nginx.kill('SIGTERM')
      await ended
      await folder[Symbol.asyncDispose]()
    },
  }
}
