import type { HttpClient } from 'isomorphic-git'
import type { GitHttp } from '../smart-http/git-http.ts'

/**
 * Wraps the HTTP client of a pull for isomorphic-git: same credential, proxy, redirects, certificates, limits and
 * deadlines. The capabilities of a server are requested once, however many calls read them.
 */
export function httpPlugin(http: GitHttp): HttpClient {
  const advertised = new Map<string, readonly Uint8Array[]>()
  const advertisement = async (url: string, headers: Record<string, string>): Promise<readonly Uint8Array[]> => {
    const known = advertised.get(url) ?? (await parts((await http.request({ url, headers })).body))
    advertised.set(url, known)
    return known
  }
  return {
    async request({ url, method = 'GET', headers = {}, body }) {
      const isGet = method === 'GET'
      const post = async () => ({ url: `${http.base}/git-upload-pack`, headers, body: await parts(body) })
      // Buffered to its end: isomorphic-git hangs forever if the stream of an answer fails.
      const chunks = isGet
        ? [...(await advertisement(url, headers))]
        : await parts((await http.request(await post())).body)
      const type = `application/x-git-upload-pack-${isGet ? 'advertisement' : 'result'}`
      const answer = { url, method, statusCode: 200, statusMessage: 'OK', headers: { 'content-type': type } }
      return { ...answer, body: streamOf(chunks) }
    },
  }
}

async function parts(body: AsyncIterable<Uint8Array> | undefined): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body ?? []) chunks.push(chunk)
  return chunks
}

/** Frees each piece as soon as it is read. */
async function* streamOf(chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) yield chunk
}
