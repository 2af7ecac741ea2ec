import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { VersionNegotiationMode } from '@modelcontextprotocol/client'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { z } from 'zod'

/** What a client takes of every list that is none of the extension: each is parsed by the client, or thrown by it. */
export interface Lists {
  readonly resources: readonly string[]
  readonly templates: readonly string[]
  readonly prompts: readonly string[]
  readonly tools: readonly string[]
  /** The names that the tool `list_skills` gives. */
  readonly skills: readonly string[]
}

/** Opens each published client of a protocol era, and reads every list with it. */
export const LISTENERS: Readonly<Record<string, (url: string) => Promise<Lists>>> = {
  'sdk 1.32.2': async (url) => {
    const client = new LegacyClient(INFO)
    await client.connect(new LegacyHttp(new URL(url)))
    // What it does more than the other one is nothing that is asked of it here.
    return listsOf(client as unknown as Listing)
  },
  'client 2.4.0, legacy': (url) => modern(url, 'legacy'),
  'client 2.4.0, auto': (url) => modern(url, 'auto'),
}

export async function listedBy(name: string, url: string): Promise<Lists> {
  const listen = LISTENERS[name]
  if (listen === undefined) throw new Error(`There is no client called ${name}`)
  return listen(url)
}

const INFO = { name: 'test', version: '1' }

async function modern(url: string, mode: VersionNegotiationMode): Promise<Lists> {
  const client = new Client(INFO, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  return listsOf(client)
}

/** What the clients of both SDKs have in common. */
type Listing = Pick<
  Client,
  'listResources' | 'listResourceTemplates' | 'listPrompts' | 'listTools' | 'callTool' | 'close'
>

async function listsOf(client: Listing): Promise<Lists> {
  try {
    const resources = await walk((page) => client.listResources(page))
    const templates = await walk((page) => client.listResourceTemplates(page))
    const prompts = await walk((page) => client.listPrompts(page))
    const { tools } = await client.listTools()
    return {
      resources: resources.flatMap((page) => page.resources.map(({ uri }) => uri)),
      templates: templates.flatMap((page) => page.resourceTemplates.map(({ uriTemplate }) => uriTemplate)),
      prompts: prompts.flatMap((page) => page.prompts.map(({ name }) => name)),
      tools: tools.map(({ name }) => name),
      skills: (await walk((page) => listSkills(client, page))).flatMap((page) => page.skills.map(({ name }) => name)),
    }
  } finally {
    await client.close()
  }
}

const SKILLS = z.array(z.object({ id: z.string(), name: z.string(), source: z.string(), description: z.string() }))
const LISTED = z.object({ skills: SKILLS, nextCursor: z.string().optional() })

/** One page of the tool: of one that is the whole list there is nothing but its text. */
async function listSkills(client: Listing, page: Paging): Promise<z.infer<typeof LISTED>> {
  const { content, structuredContent } = await client.callTool({ name: 'list_skills', arguments: { ...page } })
  if (structuredContent !== undefined) return LISTED.parse(structuredContent)
  const [first] = z.array(z.object({ text: z.string() })).parse(content)
  return { skills: SKILLS.parse(JSON.parse(first?.text ?? '')) }
}

interface Paging {
  readonly cursor?: string
}

/** Every page of a list. */
async function walk<Page extends { readonly nextCursor?: string | undefined }>(
  list: (page: Paging) => Promise<Page>,
): Promise<readonly Page[]> {
  const pages: Page[] = []
  for (let cursor: string | undefined; ;) {
    const page = await list(cursor === undefined ? {} : { cursor })
    pages.push(page)
    cursor = page.nextCursor
    if (cursor === undefined) return pages
  }
}
