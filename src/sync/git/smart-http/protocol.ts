import { DELIMITER, FLUSH, packet } from '../../../base/pkt-line.ts'
import { isIdOf, type ObjectId } from '../../model/revision.ts'
import { SyncError } from '../../model/sync-error.ts'
import type { Server, Ref } from '../objects/ref-rules.ts'
import type { GitHttp } from './git-http.ts'
import { packets } from './pkt-line.ts'

/** Returns the refs with one of the prefixes. Takes one request, or none if the server has listed the refs already. */
export async function listRefs(http: GitHttp, server: Server, prefixes: readonly string[]): Promise<readonly Ref[]> {
  if (server.version === 1) return server.refs
  const refs: Ref[] = []
  const lines = ['peel\n', 'symrefs\n', ...prefixes.map((prefix) => `ref-prefix ${prefix}\n`)]
  for await (const line of ask(http, server, 'command=ls-refs\n', lines)) {
    if (typeof line !== 'string') refs.push(refOf(Buffer.from(line).toString('utf8').trimEnd(), server))
  }
  return refs
}

/** The requested objects. With `depth`, a commit comes with its content; without it, each object comes alone. */
export interface PackRequest {
  readonly ids: readonly ObjectId[]
  /** The depth of the history, in commits. */
  readonly depth?: number
  /** The objects that a server with filters leaves out: file contents, or trees too. */
  readonly filter?: 'blob:none' | 'tree:0'
  /**
   * An object that the client has. The server leaves it out if it knows it: a commit with its content and history, or a
   * tree with everything below it.
   */
  readonly have?: ObjectId
}

/** Returns the bytes of a pack with the wanted objects. */
export async function* requestPack(http: GitHttp, server: Server, wanted: PackRequest): AsyncGenerator<Uint8Array> {
  let isPack = server.version === 1
  for await (const line of server.version === 1 ? askVersion1(http, server, wanted) : askPack(http, server, wanted)) {
    if (typeof line === 'string') continue
    // Band 2 is progress; band 3 throws in the guard before.
    if (isPack && line[0] === 1) yield line.subarray(1)
    else if (!isPack) isPack = Buffer.from(line).toString('latin1').trimEnd() === 'packfile'
  }
}

function askPack(http: GitHttp, server: Server, { ids, depth, filter, have }: PackRequest) {
  const wants = ids.map((id) => `want ${id}\n`)
  const bounds = [
    ...(depth === undefined ? [] : [`deepen ${depth}\n`]),
    ...(filter === undefined || !server.filters ? [] : [`filter ${filter}\n`]),
    ...(have === undefined ? [] : [`have ${have}\n`]),
  ]
  return ask(http, server, 'command=fetch\n', ['ofs-delta\n', 'no-progress\n', ...wants, ...bounds, 'done\n'])
}

function ask(http: GitHttp, server: Server, command: string, lines: readonly string[]) {
  // Without this line the format is SHA-1.
  const format = server.format === 'sha1' ? [] : [packet(`object-format=${server.format}\n`)]
  return post(http, server, [packet(command), ...format, DELIMITER, ...lines.map(packet), FLUSH])
}

function askVersion1(http: GitHttp, server: Server, { ids, depth, have }: PackRequest) {
  const asked = [...server.words, ...(server.format === 'sha1' ? [] : [`object-format=${server.format}`])]
  const wants = ids.map((id, index) => `want ${id}${index === 0 ? ` ${asked.join(' ')}` : ''}\n`)
  const bounds = depth === undefined || !server.isShallow ? [] : [`deepen ${depth}\n`]
  const haves = have === undefined ? [] : [packet(`have ${have}\n`)]
  return post(http, server, [...[...wants, ...bounds].map(packet), FLUSH, ...haves, packet('done\n')])
}

/**
 * Returns the capabilities that a request of version 1 names: those of them that the server offers. Some servers refuse
 * a request without one of the first two, which change nothing in an answer to a client that is done.
 */
export function askedWords(offered: ReadonlyMap<string, string>): readonly string[] {
  const first = ['multi_ack_detailed', 'multi_ack'].filter((word) => offered.has(word)).slice(0, 1)
  return [...first, ...['side-band-64k', 'ofs-delta', 'no-progress'].filter((word) => offered.has(word))]
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

/** Parses `<id> <name>` and attributes, separated by spaces. */
function refOf(line: string, server: Server): Ref {
  const [id = '', name = '', ...attributes] = line.split(' ')
  const target = attributeOf(attributes, 'symref-target:')
  return checkedRef({ name, id, target, peeled: attributeOf(attributes, 'peeled:') }, server)
}

/** A ref as received, not validated. */
interface ClaimedRef {
  readonly name: string
  readonly id: string
  readonly target: string | undefined
  readonly peeled: string | undefined
}

/** Validates a ref. If an id is not in the server's format, the whole answer is not a list of refs. */
export function checkedRef(
  { name, id, target, peeled }: ClaimedRef,
  { base, format }: Pick<Server, 'base' | 'format'>,
): Ref {
  if (name === '' || !isIdOf(format, id) || (peeled !== undefined && !isIdOf(format, peeled))) {
    throw new SyncError('source-unreachable', `Cannot list the refs of "${base}": the answer is not a list of refs`)
  }
  return { name, id, ...(target === undefined ? {} : { target }), ...(peeled === undefined ? {} : { peeled }) }
}

function attributeOf(attributes: readonly string[], key: string): string | undefined {
  return attributes.find((attribute) => attribute.startsWith(key))?.slice(key.length)
}
