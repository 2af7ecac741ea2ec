import { INVALID_PARAMS, METHOD_NOT_FOUND, RpcFault } from './hostile-answer.ts'
import { listedManifests, madeContents } from './hostile-forms.ts'
import type { Offer } from './hostile-offer.ts'
import { LEGACY_VERSIONS } from './hostile-request.ts'
import type { Recorded } from './hostile-request.ts'
import { mimeTypeOf } from './hostile-skills.ts'
import type { OfferedFile, OfferedSkill } from './hostile-skills.ts'

/** What a request is answered with where nothing is overridden. Throws an `RpcFault` for what is not there. */
export function ordinaryResult(offer: Offer, request: Recorded): object {
  const result = METHODS[request.method]?.(offer, request.params, request)
  if (result === undefined) throw new RpcFault(METHOD_NOT_FOUND, `Method not found: ${request.method}`)
  return result
}

/** A result with what the modern era wants in each. A field of its own goes before, and one that is undefined is left out. */
export function dressed({ ttlMs, cacheScope, serverInfo }: Offer, { method, era }: Recorded, result: object): object {
  if (era === 'legacy') return result
  const _meta = { 'io.modelcontextprotocol/serverInfo': serverInfo }
  return { resultType: 'complete', ...(CACHED.has(method) && { ttlMs, cacheScope }), _meta, ...result }
}

const CACHED: ReadonlySet<string> = new Set([
  'server/discover',
  'skills/list',
  'skills/get',
  'resources/directory/read',
  'resources/list',
  'resources/templates/list',
  'resources/read',
])

/** Undefined where there is no such method after all. */
type Method = (offer: Offer, params: any, request: Recorded) => object | undefined

const METHODS: Readonly<Record<string, Method>> = {
  'server/discover': ({ versions, capabilities, instructions }, _, { era }) =>
    era === 'modern' ? { supportedVersions: versions, capabilities, instructions } : undefined,
  initialize: ({ capabilities, serverInfo, instructions }, { protocolVersion }, { era }) =>
    era === 'legacy'
      ? { protocolVersion: agreedOn(protocolVersion), capabilities, serverInfo, instructions }
      : undefined,
  ping: () => ({}),
  'skills/list': (offer, { cursor }) => {
    const { listed, added } = offer.skills
    return whereListed(offer, () => pageOf(offer, 'skills', [...listed.map(({ entry }) => entry), ...added], cursor))
  },
  'skills/get': (offer, { uri }) =>
    whereListed(offer, () => ({ skill: offer.skills.find(uri) ?? absent('skill', uri) })),
  'resources/list': (offer, { cursor }) => pageOf(offer, 'resources', listedResources(offer), cursor),
  'resources/read': (offer, { uri }, { era }) => ({
    contents:
      offer.skills.contentsOf(uri) ??
      madeContents(offer, uri) ??
      absent('resource', uri, era === 'legacy' ? -32002 : undefined),
  }),
  'resources/directory/read': (offer, { uri, cursor }) => pageOf(offer, 'resources', childrenOf(offer, uri), cursor),
  'resources/templates/list': ({ templates }) => ({ resourceTemplates: templates }),
  'completion/complete': ({ completions }, { argument }) => {
    const { name, value } = Object(argument)
    const values = (completions[name] ?? []).filter((one) => one.startsWith(value))
    return { completion: { values: values.slice(0, 100), total: values.length, hasMore: values.length > 100 } }
  },
}

function agreedOn(asked: string): string {
  return LEGACY_VERSIONS.includes(asked) ? asked : '2025-11-25'
}

function whereListed<Result>({ offers }: Offer, result: () => Result): Result | undefined {
  return offers === 'skills-list' ? result() : undefined
}

function absent(what: string, uri: unknown, code = INVALID_PARAMS): never {
  throw new RpcFault(code, `No ${what} at ${JSON.stringify(uri)}`, { uri })
}

function pageOf({ pageSize }: Offer, field: string, items: readonly unknown[], cursor: unknown): object {
  const from = typeof cursor === 'string' ? Number(/^from-(\d+)$/.exec(cursor)?.[1]) : cursor === undefined ? 0 : NaN
  if (!(from <= items.length)) throw new RpcFault(INVALID_PARAMS, 'The cursor is not one of this listing')
  const to = from + (pageSize ?? items.length)
  return { [field]: items.slice(from, to), ...(to < items.length && { nextCursor: `from-${to}` }) }
}

function listedResources({ offers, skills }: Offer): readonly object[] {
  if (offers === 'nothing') return []
  const { listed } = skills
  if (offers !== 'fastmcp') return listed.flatMap((skill) => skill.files.map((file) => describe(skill, file)))
  const documents = listed.flatMap((skill) =>
    skill.files.filter(({ path }) => path === 'SKILL.md').map((file) => describe(skill, file)),
  )
  return [...documents, ...listedManifests(skills)]
}

/** A SKILL.md has the name and the description of its skill. */
function describe({ entry }: OfferedSkill, { uri, path, bytes }: OfferedFile): object {
  const { name = path.slice(path.lastIndexOf('/') + 1), description } =
    path === 'SKILL.md' ? Object(entry.frontmatter) : {}
  return { uri, name, description, mimeType: mimeTypeOf(uri, bytes), size: bytes.length }
}

/** The files and folders right below a URI; a slash at its end is no matter. */
function childrenOf({ skills }: Offer, asked: unknown): readonly object[] {
  const above = `${String(asked).replace(/\/$/, '')}/`
  const children = new Map<string, object>()
  for (const skill of skills.all)
    for (const file of skill.files.filter(({ uri }) => uri.startsWith(above))) {
      const [name = '', ...below] = file.uri.slice(above.length).split('/')
      const uri = above + name
      children.set(uri, below.length === 0 ? describe(skill, file) : { uri, name, mimeType: 'inode/directory' })
    }
  return children.size > 0 ? [...children.values()] : absent('directory', asked)
}
