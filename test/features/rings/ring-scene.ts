import type { WholeConfig } from '../../../src/daemon/configuration.ts'
import { createLog } from '../../../src/daemon/runtime/log/log.ts'
import { Redactor } from '../../../src/daemon/runtime/log/redactor.ts'
import { usageRecorderOf } from '../../../src/features/usage/usage-recorder.ts'
import type { UsageRecorder } from '../../../src/features/usage/usage-recorder.ts'
import type { AccessRules } from '../../../src/serve/http/http-access.ts'
import type { CountUse } from '../../../src/serve/mcp/core/methods.ts'
import { SCOPES } from '../../../src/serve/principal.ts'
import { modernHttp } from '../../support/clients/peer.ts'
import type { Peer } from '../../support/clients/peer.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { Repository } from '../../support/git/repository.ts'
import { exportOf } from '../../support/otlp.ts'
import { serve } from '../../support/served.ts'
import type { Served } from '../../support/served.ts'

export const ALPHA = 'skill://fx/alpha/SKILL.md'
export const HOUR = 3_600_000
export const RINGS = ['rings:', '  - { id: canary, principals: [early] }', '  - { id: stable, min_age: 3d }']

/** A hub with rings, whose clock stands still. */
export class RingScene implements AsyncDisposable {
  readonly clock: FakeClock
  readonly repository: Repository
  readonly served: Served
  #usage: UsageRecorder

  private constructor(clock: FakeClock, repository: Repository, served: Served) {
    this.#usage = recorderOf(served.config, clock)
    this.clock = clock
    this.repository = repository
    this.served = served
  }

  static async start(rings: readonly string[], kept = 'retention: { generations: 100 }'): Promise<RingScene> {
    const clock = new FakeClock()
    const repository = await Repository.create()
    await repository.commit({ 'alpha/SKILL.md': skill('alpha', 'first') })
    const counting: { scene?: RingScene } = {}
    const served = await serve(repository, {
      clock,
      config: [...rings, kept],
      access: ACCESS,
      source: ['every: 365d'],
      use: (answered) => counting.scene?.count(answered),
    })
    const scene = new RingScene(clock, repository, served)
    counting.scene = scene
    await served.daemon.parts.rings.promote({ sources: [], ring: undefined, isForced: true })
    served.daemon.poll()
    return scene
  }

  async peer(name: string): Promise<Peer> {
    return modernHttp(this.served.url, { authorization: `Bearer ${name}` })
  }

  async commit(body: string): Promise<void> {
    await this.repository.commit({ 'alpha/SKILL.md': skill('alpha', body) })
    await this.served.sync()
  }

  /** Lets time pass, and what is due then happen. */
  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms)
    await this.served.daemon.parts.rings.settled()
  }

  count(...[answered]: Parameters<CountUse>): void {
    this.#usage.count(answered)
  }

  /** Ends the recorder of uses, which writes them, and begins another. */
  async countedUses(): Promise<void> {
    await this.#usage[Symbol.asyncDispose]()
    this.#usage = recorderOf(this.served.config, this.clock)
  }

  /** Sends records of Claude Code as the principal of this name. */
  async tell(name: string, ...records: readonly object[]): Promise<void> {
    const { status } = await fetch(new URL('/v1/logs', this.served.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${name}` },
      body: JSON.stringify(exportOf(...records)),
    })
    if (status !== 200) throw new Error(`The export was answered with ${status}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#usage[Symbol.asyncDispose]()
    await this.served[Symbol.asyncDispose]()
    await this.repository[Symbol.asyncDispose]()
  }
}

function recorderOf(config: WholeConfig, clock: FakeClock): UsageRecorder {
  const stream = { write: () => {} }
  const log = createLog({ level: 'info', stream, format: 'json', journal: false, clock, redactor: new Redactor() })
  const usage = usageRecorderOf(config, log, clock)
  if (usage === undefined) throw new Error('The scene counts no uses')
  return usage
}

/** Each token is that of a principal of its own name. */
const ACCESS: AccessRules = {
  isTokenRequired: true,
  authenticate: async (token) => ({ id: `token:${token}#000000000000`, scopes: new Set(SCOPES) }),
}

export function skill(name: string, body: string): string {
  return `---\nname: ${name}\ndescription: ${name} of the tests\n---\n${body}\n`
}

export async function bodyOf(peer: Peer): Promise<string> {
  const { result } = await peer.call('resources/read', { uri: ALPHA })
  return result.contents[0].text.split('---\n').at(-1).trim()
}

export async function listed(peer: Peer): Promise<readonly string[]> {
  const { result } = await peer.call('skills/list')
  return result.skills.map(({ uri }: { readonly uri: string }) => uri)
}

export function isUpdate({ method }: { readonly method?: string }): boolean {
  return method === 'notifications/resources/updated'
}
