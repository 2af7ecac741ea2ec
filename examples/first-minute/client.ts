import { createHash } from 'node:crypto'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { McpSubscription } from '@modelcontextprotocol/client'
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import type { Skill } from '@modelcontextprotocol/client/ext/skills'
import type { Timeline } from './timeline.ts'

const REVISION = '2026-07-28'

/** A file as it was read, with the digest that `skills/get` lists. */
export interface VerifiedFile {
  readonly bytes: Uint8Array
  readonly sha256: string
  readonly listed: string
}

/** An MCP client over HTTP, of the newest protocol revision. Its notifications go onto the timeline. */
export class SkillClient implements AsyncDisposable {
  readonly #client: Client
  readonly #skills: SkillsClient
  #subscription: McpSubscription | undefined

  private constructor(client: Client) {
    this.#client = client
    this.#skills = new SkillsClient(client)
  }

  static async connect(url: string, timeline: Timeline, signal: AbortSignal): Promise<SkillClient> {
    const info = { name: 'first-minute', version: '1.0.0' }
    const client = new Client(info, { versionNegotiation: { mode: { pin: REVISION } } })
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      timeline.push({ kind: 'updated', uri: params.uri })
    })
    client.setNotificationHandler('notifications/resources/list_changed', () => {
      timeline.push({ kind: 'list-changed' })
    })
    await client.connect(new StreamableHTTPClientTransport(new URL(url)), { signal })
    return new SkillClient(client)
  }

  /** Subscribes to every file of every skill. Returns their number as text. */
  async subscribe(signal: AbortSignal): Promise<string> {
    const { skills } = await this.#skills.list({}, { signal })
    const uris = skills.flatMap(filesOf).map(({ uri }) => uri)
    const earlier = this.#subscription
    // The new one is open before the old one goes, so that nothing falls between.
    this.#subscription = await this.#client.listen({ resourceSubscriptions: uris, resourcesListChanged: true })
    await earlier?.close()
    return `${uris.length} files of ${skills.length} skills`
  }

  /** Reads one file of a skill, and hashes it here. */
  async read(skillUri: string, uri: string, signal: AbortSignal): Promise<VerifiedFile> {
    const { skill } = await this.#skills.get(skillUri, { signal })
    const { bytes } = await this.#skills.read(skill, uri, { signal, cacheMode: 'refresh' })
    const listed = filesOf(skill).find((file) => file.uri === uri)?.digest ?? 'nothing'
    return { bytes, sha256: createHash('sha256').update(bytes).digest('hex'), listed }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#subscription?.close()
    await this.#client.close()
  }
}

function filesOf({ resources }: Skill) {
  return resources === 'dynamic' ? [] : resources
}
