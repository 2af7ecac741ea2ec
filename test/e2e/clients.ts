import { createHash } from 'node:crypto'
import { EventEmitter, on } from 'node:events'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { VersionNegotiationMode } from '@modelcontextprotocol/client'
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'

/** Where a client finds skillsyncd: at an address, or by running it. */
export type Place =
  | { readonly url: string }
  | { readonly command: string; readonly args: string[]; readonly stderr: 'ignore' }

/** A published client, as a host would use it. */
export interface RealClient extends AsyncDisposable {
  /** The revision that was agreed on. */
  readonly revision: string | undefined
  /** The code under which it reports a resource that is not there. */
  readonly notFound: number
  list(): Promise<readonly Entry[]>
  /** Hears from now on of exactly these resources, and of lists. */
  subscribe(uris: readonly string[]): Promise<void>
  get(uri: string): Promise<Entry>
  /** Reads a file of a skill. Throws what the server says, and where the bytes are not those of the entry. */
  read(entry: Entry, uri: string): Promise<Uint8Array>
  /** Asks for a resource that need not be a file of a skill. */
  readAny(uri: string): Promise<unknown>
  /** What it is told, one after another: a URI that was updated, or `list_changed`. */
  told(): Promise<string>
}

const RESOURCE = z.object({ uri: z.string(), digest: z.string(), size: z.number() })
const ENTRY = z.object({
  uri: z.string(),
  frontmatter: z.looseObject({ name: z.string(), description: z.string() }),
  resources: z.array(RESOURCE),
})
export type Entry = z.infer<typeof ENTRY>

/** Each published client: the SDK of the 2025 era, and that of 2026-07-28 in each of its postures. */
export const CLIENTS = {
  'sdk 1.32.2': (place: Place) => openLegacy(place),
  'client 2.4.0': (place: Place) => openModern(place, 'legacy'),
  'client 2.4.0, auto': (place: Place) => openModern(place, 'auto'),
  'client 2.4.0, pinned': (place: Place) => openModern(place, { pin: '2026-07-28' }),
} as const satisfies Record<string, (place: Place) => Promise<RealClient>>

export type ClientName = keyof typeof CLIENTS
export const CLIENT_NAMES: readonly ClientName[] = [
  'sdk 1.32.2',
  'client 2.4.0',
  'client 2.4.0, auto',
  'client 2.4.0, pinned',
]

const INFO = { name: 'test', version: '1' }

async function openLegacy(place: Place): Promise<RealClient> {
  const client = new LegacyClient(INFO)
  const news = new News()
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => news.tell(params.uri))
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => news.tell(LIST_CHANGED))
  await client.connect('url' in place ? new LegacyHttp(new URL(place.url)) : new LegacyStdio(place))
  return {
    revision: '2025-11-25',
    notFound: -32002,
    async list() {
      return (await client.request({ method: 'skills/list' }, z.object({ skills: z.array(ENTRY) }))).skills
    },
    async subscribe(uris) {
      for (const uri of uris) await client.subscribeResource({ uri })
    },
    async get(uri) {
      return (await client.request({ method: 'skills/get', params: { uri } }, z.object({ skill: ENTRY }))).skill
    },
    async read(entry, uri) {
      const { contents } = await client.readResource({ uri })
      return checked(entry, uri, contents.map(bytesOf))
    },
    readAny: (uri) => client.readResource({ uri }),
    told: () => news.next(),
    [Symbol.asyncDispose]: () => client.close(),
  }
}

async function openModern(place: Place, mode: VersionNegotiationMode): Promise<RealClient> {
  const client = new Client(INFO, { versionNegotiation: { mode } })
  const skills = new SkillsClient(client)
  const news = new News()
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => news.tell(params.uri))
  client.setNotificationHandler('notifications/resources/list_changed', () => news.tell(LIST_CHANGED))
  await client.connect(
    'url' in place ? new StreamableHTTPClientTransport(new URL(place.url)) : new StdioClientTransport(place),
  )
  return {
    revision: client.getNegotiatedProtocolVersion(),
    // In both eras: it says -32602 for the -32002 that a server of 2025-11-25 sends.
    notFound: -32602,
    async list() {
      return (await skills.list()).skills.map((skill) => ENTRY.parse(skill))
    },
    async subscribe(uris) {
      if (mode === 'legacy') for (const uri of uris) await client.subscribeResource({ uri })
      else await client.listen({ resourceSubscriptions: [...uris], resourcesListChanged: true })
    },
    async get(uri) {
      return ENTRY.parse((await skills.get(uri)).skill)
    },
    async read(entry, uri) {
      const { bytes, verified } = await skills.read(entry, uri)
      return checked(entry, uri, verified ? [bytes] : [])
    },
    readAny: (uri) => client.readResource({ uri }),
    told: () => news.next(),
    [Symbol.asyncDispose]: () => client.close(),
  }
}

export const LIST_CHANGED = 'list_changed'

/** Keeps what came until somebody asks for it. */
class News {
  readonly #emitter = new EventEmitter()
  readonly #told = on(this.#emitter, 'told')

  tell(what: string): void {
    this.#emitter.emit('told', what)
  }

  async next(): Promise<string> {
    return (await this.#told.next()).value![0]
  }
}

function bytesOf(content: { readonly text: string } | { readonly blob: string }): Uint8Array {
  return 'text' in content ? Buffer.from(content.text) : Buffer.from(content.blob, 'base64')
}

/** The one content of a read, if it is the one that the entry promises. */
function checked(entry: Entry, uri: string, contents: readonly Uint8Array[]): Uint8Array {
  const promised = entry.resources.find((resource) => resource.uri === uri)
  const [bytes] = contents
  const digest = bytes === undefined ? undefined : `sha256:${createHash('sha256').update(bytes).digest('hex')}`
  if (contents.length === 1 && bytes?.length === promised?.size && bytes !== undefined && digest === promised?.digest)
    return bytes
  throw new Error(`What was read of ${uri} is not what its entry promises: ${digest}, not ${promised?.digest}`)
}
