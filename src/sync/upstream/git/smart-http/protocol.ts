import type { Server, Ref } from '../objects/ref-rules.ts'
import { isIdOf, type ObjectId } from '../../../model/revision.ts'
import { SyncError } from '../../../model/sync-error.ts'
import type { GitHttp } from './git-http.ts'
import { DELIMITER, FLUSH, packet, packets } from './pkt-line.ts'

/** The refs whose names start with one of the prefixes: one request, or none where the server told them already. */
export async function listRefs(http: GitHttp, server: Server, prefixes: readonly string[]): Promise<readonly Ref[]> {
  if (server.version === 1) return server.refs
  const refs: Ref[] = []
  const lines = ['peel\n', 'symrefs\n', ...prefixes.map((prefix) => `ref-prefix ${prefix}\n`)]
  for await (const line of ask(http, server, 'command=ls-refs\n', lines)) {
    if (typeof line !== 'string') refs.push(refOf(Buffer.from(line).toString('utf8').trimEnd(), server))
  }
  return refs
}

/** What is wanted of a server. With `depth` a commit comes with what it holds; without, each id comes alone. */
export interface Wanted {
  readonly ids: readonly ObjectId[]
  /** How many commits, one behind the other. */
  readonly depth?: number
  /** What a server that filters leaves out: contents of files, or trees too. */
  readonly filter?: 'blob:none' | 'tree:0'
  /** A commit with all that it holds and all that is behind it, or a tree with all below it: left out, if the server knows it. */
  readonly have?: ObjectId
}

/** The bytes of a pack that has the wanted objects. */
export async function* requestPack(http: GitHttp, server: Server, wanted: Wanted): AsyncGenerator<Uint8Array> {
  let isPack = server.version === 1
  for await (const line of server.version === 1 ? askVersion1(http, server, wanted) : askPack(http, server, wanted)) {
    if (typeof line === 'string') continue
    // Band 2 is progress; band 3 never gets past the guard.
    if (isPack && line[0] === 1) yield line.subarray(1)
    else if (!isPack) isPack = Buffer.from(line).toString('latin1').trimEnd() === 'packfile'
  }
}

function askPack(http: GitHttp, server: Server, { ids, depth, filter, have }: Wanted) {
  const wants = ids.map((id) => `want ${id}\n`)
  const bounds = [
    ...(depth === undefined ? [] : [`deepen ${depth}\n`]),
    ...(filter === undefined || !server.filters ? [] : [`filter ${filter}\n`]),
    ...(have === undefined ? [] : [`have ${have}\n`]),
  ]
  return ask(http, server, 'command=fetch\n', ['ofs-delta\n', 'no-progress\n', ...wants, ...bounds, 'done\n'])
}

function ask(http: GitHttp, server: Server, command: string, lines: readonly string[]) {
  // Not said, it is SHA-1.
  const format = server.format === 'sha1' ? [] : [packet(`object-format=${server.format}\n`)]
  return post(http, server, [packet(command), ...format, DELIMITER, ...lines.map(packet), FLUSH])
}

function askVersion1(http: GitHttp, server: Server, { ids, depth }: Wanted) {
  const format = server.format === 'sha1' ? '' : ` object-format=${server.format}`
  const asked = ` side-band-64k ofs-delta no-progress${format}`
  const wants = ids.map((id, index) => `want ${id}${index === 0 ? asked : ''}\n`)
  const bounds = depth === undefined ? [] : [`deepen ${depth}\n`]
  return post(http, server, [...[...wants, ...bounds].map(packet), FLUSH, packet('done\n')])
}

async function* post(http: GitHttp, server: Server, body: readonly Uint8Array[]) {
  const headers = {
    'content-type': 'application/x-git-upload-pack-request',
    accept: 'application/x-git-upload-pack-result',
    ...(server.version === 2 ? { 'git-protocol': 'version=2' } : {}),
  }
  const answer = await http.request({ url: `${server.base}/git-upload-pack`, headers, body })
  yield* packets(answer.body)
}

/** `<id> <name>` and then attributes, separated by spaces. */
function refOf(line: string, server: Server): Ref {
  const [id = '', name = '', ...attributes] = line.split(' ')
  const target = attributeOf(attributes, 'symref-target:')
  return checkedRef({ name, id, target, peeled: attributeOf(attributes, 'peeled:') }, server)
}

/** A ref as a server claims it. */
interface ClaimedRef {
  readonly name: string
  readonly id: string
  readonly target: string | undefined
  readonly peeled: string | undefined
}

/** A ref whose ids are of the server's own format. One that is not makes the whole answer no list of refs. */
export function checkedRef({ name, id, target, peeled }: ClaimedRef, { base, format }: Omit<Server, 'refs'>): Ref {
  if (name === '' || !isIdOf(format, id) || (peeled !== undefined && !isIdOf(format, peeled))) {
    throw new SyncError('source-unreachable', `Cannot list the refs of "${base}": the answer is no list of refs`)
  }
  return { name, id, ...(target === undefined ? {} : { target }), ...(peeled === undefined ? {} : { peeled }) }
}

function attributeOf(attributes: readonly string[], key: string): string | undefined {
  return attributes.find((attribute) => attribute.startsWith(key))?.slice(key.length)
}
